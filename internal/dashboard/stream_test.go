package dashboard_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// A page has the data that a browser builds from the stream.
type page struct {
	t       *testing.T
	body    io.Closer
	events  *bufio.Reader
	version uint64
	strip   view.Strip
	nodes   map[string]string // by ID: the node with the names of owners
	groups  []view.PendingGroup
	seen    map[string]int // number of messages by type
}

// open connects to the stream. It reads the messages with which each stream begins.
func open(t *testing.T, url string, packed bool) *page {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	if packed {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("status %s, %s", response.Status, response.Header)
	}
	body := io.Reader(response.Body)
	if packed {
		if body, err = gzip.NewReader(response.Body); err != nil {
			t.Fatal(err)
		}
	}
	p := &page{t: t, body: response.Body, events: bufio.NewReader(body), seen: map[string]int{}}
	if first := p.read(); first != "snapshot" {
		t.Fatalf("the first message is %q", first)
	}
	if second := p.read(); second != "pending" {
		t.Fatalf("the second message is %q", second)
	}
	return p
}

// read reads and applies the next message, and returns its type.
func (p *page) read() string {
	p.t.Helper()
	for {
		line, err := p.events.ReadString('\n')
		if err != nil {
			p.t.Fatalf("read stream: %v", err)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		return p.apply(data)
	}
}

func (p *page) apply(data string) string {
	m := decode[struct {
		Type    string
		Version uint64
		Strip   view.Strip
		Fleet   view.Fleet
		Owners  []string
		Nodes   []view.FleetNode
		Gone    []string
		Groups  []view.PendingGroup
	}](p.t, data)
	if m.Version < p.version {
		p.t.Errorf("version %d after %d", m.Version, p.version)
	}
	p.version = m.Version
	p.seen[m.Type]++
	switch m.Type {
	case "snapshot":
		p.strip, p.nodes = m.Strip, named(m.Fleet)
	case "strip":
		p.strip = m.Strip
	case "fleet":
		for id, text := range named(view.Fleet{Nodes: m.Nodes, Owners: m.Owners}) {
			p.nodes[id] = text
		}
		for _, id := range m.Gone {
			delete(p.nodes, id)
		}
	case "pending":
		p.groups = m.Groups
	}
	return m.Type
}

// named returns the nodes as text, by ID. Indexes of owners are replaced by their names.
func named(f view.Fleet) map[string]string {
	out := map[string]string{}
	for _, n := range f.Nodes {
		var pods []string
		for _, b := range n.Pods {
			pods = append(pods, fmt.Sprint(b[0], b[1], f.Owners[int(b[2])]))
		}
		n.Pods = nil
		text, _ := json.Marshal(n)
		out[n.ID] = string(text) + strings.Join(pods, ",")
	}
	return out
}

// The data of a page that applies all messages equal the fleet, the strip and the groups that are served. This
// holds for compressed and other streams, and after the page has connected again.
func TestStreamIsComplete(t *testing.T) {
	fleet, server, clock := generated(t, 30, 400)
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	pages := []*page{open(t, web.URL, false), open(t, web.URL, true)}
	for round := range 30 {
		fleet.Step(60)
		if round%10 == 9 {
			fleet.Decide()
		}
		clock.Step(2 * time.Second)
		server.Refresh(t.Context())
		_, body := ask(t, server.Handler(), "GET /api/v1/fleet")
		want := named(decode[view.Fleet](t, body))
		_, body = ask(t, server.Handler(), "GET /api/v1/pending")
		groups := decode[view.PendingMessage](t, body).Groups
		for _, p := range pages {
			for !cmp.Equal(p.nodes, want) || p.strip.Nodes != len(want) || !cmp.Equal(p.groups, groups) {
				p.read()
			}
		}
		if round == 15 {
			_ = pages[0].body.Close()
			pages[0] = open(t, web.URL, false)
			if diff := cmp.Diff(want, pages[0].nodes); diff != "" {
				t.Fatalf("after connecting again (-want +got):\n%s", diff)
			}
		}
	}
	for _, kind := range []string{"snapshot", "fleet", "strip", "pending", "episode"} {
		if pages[1].seen[kind] == 0 {
			t.Errorf("no message of type %s", kind)
		}
	}
}

// If nothing changes, only comments are sent. They show the page that it is connected.
func TestHeartbeat(t *testing.T) {
	_, server, clock := generated(t, 3, 10)
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	p := open(t, web.URL, false)
	clock.Step(5 * time.Second)
	server.Refresh(t.Context())
	for p.read() != "pending" { // the devices that pods claim are read once a page is open
	}
	clock.Step(time.Second)
	server.Refresh(t.Context())
	for !clock.HasWaiters() {
	}
	clock.Step(10 * time.Second)
	for {
		line, err := p.events.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "data:") {
			t.Fatalf("sent %s although nothing has changed", line)
		}
		if strings.HasPrefix(line, ":") {
			return
		}
	}
}

// More pages than the limit are refused with a reason. When one is closed, another can be opened.
func TestLimitOfStreams(t *testing.T) {
	_, server, _ := generated(t, 3, 10)
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	var pages []*page
	for range 50 {
		pages = append(pages, open(t, web.URL, false))
	}
	response, body := ask(t, server.Handler(), "GET /api/v1/stream")
	if problem := decode[view.Error](t, body); response.StatusCode != http.StatusServiceUnavailable || problem.Fix == "" {
		t.Errorf("%s: %s", response.Status, body)
	}
	_ = pages[0].body.Close()
	for try := 0; ; try++ { // until the server has noticed that the client has disconnected
		r, err := http.Get(web.URL + "/api/v1/stream") //nolint:noctx // it ends with the server
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return
		}
		if try > 100_000 {
			t.Fatal("no page can be opened after one was closed")
		}
	}
}
