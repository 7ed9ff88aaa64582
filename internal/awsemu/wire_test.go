package awsemu

import (
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestWire sends the raw requests of testdata/wire, which follow the public API documentation. It searches the responses for the
// expected parts in order. So the test covers the protocol, not only what one client reads.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			l := newLab(t)
			lt := l.template("demo-lt", "hello")
			replacer := strings.NewReplacer(
				"{template}", *lt.LaunchTemplateId, "{subnet}", l.privateSubnet("us-east-1a"), "{group}", l.nodeGroup(), "{image}", l.image("x86_64"),
				"{instance}", l.launch(l.fleet("demo-lt", spot, 1, choice{typ: "m7i.large", zone: "us-east-1a"}))[0],
			)
			sections := map[string]string{}
			for _, f := range archive.Files {
				sections[f.Name] = replacer.Replace(string(f.Data))
			}
			resp, body := send(t, l.url, sections["request"])
			if want := strings.TrimSpace(sections["status"]); strconv.Itoa(resp.StatusCode) != want {
				t.Errorf("status is %d, want %s", resp.StatusCode, want)
			}
			if want, ok := sections["header"]; ok {
				k, v, _ := strings.Cut(strings.TrimSpace(want), ": ")
				if got := resp.Header.Get(k); got != v {
					t.Errorf("header %s is %q, want %q", k, got, v)
				}
			}
			rest := body
			for line := range strings.Lines(sections["response"]) {
				line = strings.TrimSpace(line)
				i := strings.Index(rest, line)
				if i < 0 {
					t.Fatalf("%q is not in (the rest of) the answer:\n%s", line, body)
				}
				rest = rest[i+len(line):]
			}
		})
	}
}

// send sends a raw request. The lines of its body are joined.
func send(t *testing.T, url, text string) (*http.Response, string) {
	t.Helper()
	head, payload, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(strings.ReplaceAll(strings.TrimSpace(payload), "\n", "")))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		k, v, _ := strings.Cut(line, ": ")
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}
