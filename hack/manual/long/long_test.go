package long

import (
	"bytes"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/hack/manual"
	"github.com/karpenter-go/karpenter/internal/awsemu"
)

const (
	root = "../../.."
	// within is a variable in the environment of the commands that the test runs. It prevents that these commands run this
	// test.
	within = "KARPENTER_WITHIN_MANUAL"
)

var clone = flag.String("clone", "", "make the copy of the repository here and leave it, so that less is compiled the next time")

// The long commands of the manual succeed, page after page. Each command runs once, with less work if its block allows that.
func TestLong(t *testing.T) {
	if os.Getenv("KARPENTER_LONG") == "" || os.Getenv(within) != "" {
		t.Skip("set KARPENTER_LONG=1 to run what takes minutes")
	}
	pages, err := manual.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := *clone
	if dir == "" {
		dir = t.TempDir()
	}
	if err := Copy(t.Context(), root, dir); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page.File), func(t *testing.T) {
			for i := range page.Steps {
				if s := &page.Steps[i]; s.Long {
					t.Run(filepath.Base(s.Where()), func(t *testing.T) { run(t, dir, s) })
				}
			}
		})
	}
}

// run runs a step in the copy.
func run(t *testing.T, dir string, s *manual.Step) {
	serve(t, s.Command)
	shell := &manual.Shell{Dir: dir, State: t.TempDir(), Env: append(environment(), s.Small...)}
	t.Logf("%s: %s %s", s.Where(), strings.Join(s.Small, " "), strings.TrimSpace(s.Command))
	out, err := shell.Run(t.Context(), s)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := manual.Mismatch(s.Output, out, true); s.Output != nil && diff != "" {
		t.Errorf("%s prints something else:\n%s\nit printed\n%s", s.Where(), diff, out)
	}
	if none := nothing(s.Command, out); none != "" {
		t.Errorf("%s runs no test and no benchmark in\n%s", s.Where(), none)
	}
	t.Log(out)
	down := manual.Step{Block: &manual.Block{Page: "(the test)", Language: "sh"}, Command: "make down\n"}
	shell.State = t.TempDir() // the step may have changed the directory
	if out, err := shell.Run(t.Context(), &down); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var (
	benchmarked = regexp.MustCompile(`(?m)^Benchmark\S+\s+\d+\t`)
	// called matches a go test command that make prints. without matches the output of go test for a package in which no test
	// ran, and tested that for a package in which tests ran.
	called  = regexp.MustCompile(`(?m)^\s*(cd \S+ && )?(\w+=\S+ )*go test `)
	without = regexp.MustCompile(`(?m)^ok\s.*\[no tests to run\]$`)
	tested  = regexp.MustCompile(`(?m)^ok[ \t]+\S+[ \t]+\S+$`)
)

// nothing returns the output of a go test or benchmark command, run by the step or by make, that ran no test or benchmark. It
// returns "" if there is none. go test counts such a command as success.
func nothing(command, out string) string {
	if strings.Contains(command, "-bench ") {
		if benchmarked.MatchString(out) {
			return ""
		}
		return out
	}
	begin := 0
	for _, next := range append(called.FindAllStringIndex(out, -1), []int{len(out)}) {
		part := out[begin:next[0]]
		if without.MatchString(part) && !tested.MatchString(part) {
			return part
		}
		begin = next[0]
	}
	return ""
}

// A step in which no test runs is detected.
func TestNothing(t *testing.T) {
	const (
		some = "ok  \ta\t0.1s\n"
		none = "ok  \tb\t(cached) [no tests to run]\n"
	)
	for _, tt := range []struct{ command, out, want string }{
		{"go test ./b -run X\n", none, none},
		{"go test ./a -run X -v\n", "--- PASS: X\n" + some, ""},
		{"cd b && go test -run '^$' -bench X ./a\n", "PASS\n" + some, "PASS\n" + some},
		{"cd b && go test -run '^$' -bench X ./a\n", "BenchmarkX/500   \t       1\t 798 ns/op\nPASS\n" + some, ""},
		{"make test\n", "building\ngo test -run=X ./...\n" + none + some, ""},
		{"make test\n", "go test ./...\n" + some + "cd a && A=1 go test ./...\n" + none + "go test ./...\n" + some, "cd a && A=1 go test ./...\n" + none},
		{"make down\n", "stopped\n", ""},
	} {
		if diff := cmp.Diff(tt.want, nothing(tt.command, tt.out)); diff != "" {
			t.Errorf("%q with %q (-want +got):\n%s", tt.command, tt.out, diff)
		}
	}
}

// environment returns the environment of a reader: without the machine's own cluster and AWS account, and without the variables
// of make and of this test.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "AWS_") || slices.Contains([]string{"KARPENTER_LONG", "KUBECONFIG", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}, name)
	})
	return append(env, within+"=1", "NO_COLOR=1")
}

var (
	address = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)
	lacking = regexp.MustCompile(`\bAction=(DescribeCapacityReservations|DescribePlacementGroups)\b`)
)

// serve starts an emulated account at the address at which a command expects an AWS that is not this project's emulator. Such
// emulators lack reservations and placement groups, and terminate instances at once.
func serve(t *testing.T, command string) {
	t.Helper()
	m := address.FindStringSubmatch(command)
	if m == nil {
		return
	}
	account, err := awsemu.New(awsemu.Config{
		Cluster: awsemu.Cluster{Name: "test", Endpoint: "https://api.test:6443", CA: "Q0E="}, Timing: awsemu.Timing{Pending: -1, Shutdown: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", m[1])
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || lacking.Match(body) {
			http.Error(w, "not implemented", http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		account.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }() // it ends when the test closes it
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
}
