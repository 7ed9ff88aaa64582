package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/dashboard"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// Every error response is JSON with an error and a fix.
func TestProblems(t *testing.T) {
	_, server, _ := generated(t, 3, 10)
	for request, want := range map[string]int{
		"GET /api/v1/nothing": 404, "GET /api/v1/nodes/nope": 404, "GET /nothing.js": 404, "POST /": 405, "DELETE /api/v1/fleet": 404,
		"GET /api/v1/decisions?since=yesterday": 400, "GET /api/v1/decisions?limit=0": 400, "GET /api/v1/decisions?limit=x": 400,
		"GET /api/v1/history?at=x": 400, "GET /api/v1/cost?by=x": 400, "GET /api/v1/cost?since=-1h": 400,
		"GET /api/v1/manifests?kind=Pod": 400, "GET /api/v1/manifests?kind=NodePool&name=x": 404, "POST /api/v1/whatif {": 415,
	} {
		response, body := ask(t, server.Handler(), request)
		if p := decode[view.Error](t, body); response.StatusCode != want || p.Error == "" || p.Fix == "" {
			t.Errorf("%s: %s %s, want %d with a fix", request, response.Status, body, want)
		}
	}
}

// Until all objects are listed, requests for data are refused, because incomplete data would be wrong. The page itself is
// served.
func TestNotSynced(t *testing.T) {
	fleet, _, _ := generated(t, 3, 10)
	o := fleet.Options()
	o.Cluster = still{s: &model.Snapshot{}, unsynced: true}
	server := serve(t, o)
	if response, body := ask(t, server.Handler(), "GET /api/v1/fleet"); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s: %s", response.Status, body)
	}
	if response, _ := ask(t, server.Handler(), "GET /"); response.StatusCode != http.StatusOK {
		t.Errorf("the page: %s", response.Status)
	}
}

// A replica that is not the leader shows the fleet and reports that it is not the leader. Values that only the leader knows
// are null.
func TestStandby(t *testing.T) {
	fleet, _, _ := generated(t, 3, 10)
	o := fleet.Options()
	o.Decisions, o.Latest, o.Costs, o.Leader = nil, nil, nil, func() bool { return false }
	o.LeaderName = func(context.Context) (string, error) { return "karpenter-abc", nil }
	server := serve(t, o)
	_, body := ask(t, server.Handler(), "GET /api/v1/history")
	h := decode[view.History](t, body)
	if h.Strip.Leader || h.Strip.LeaderName != "karpenter-abc" || h.Strip.FloorPerHour != nil || h.Strip.LastDecision != nil || h.Strip.DollarsPerHour == nil || len(h.Fleet.Nodes) != 3 {
		t.Errorf("%s", body)
	}
	if response, body := ask(t, server.Handler(), "GET /api/v1/cost"); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("costs: %s: %s", response.Status, body)
	}
}

// Requests for data need authentication. The files of the page do not, because a browser cannot send a token for them.
func TestAuthentication(t *testing.T) {
	fleet, _, _ := generated(t, 3, 10)
	protect := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer good" {
				dashboard.Refuse(w, http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	server, err := dashboard.New(fleet.Options(), protect)
	if err != nil {
		t.Fatal(err)
	}
	server.Refresh(t.Context())
	h := server.Handler()
	for request, want := range map[string]int{
		"GET /api/v1/fleet": 401, "GET /api/v1/stream": 401, "POST /api/v1/whatif {}": 401, "GET /api/nothing": 401, "GET /": 200, "GET /app.js": 200,
	} {
		if response, body := ask(t, h, request); response.StatusCode != want || want == 401 && decode[view.Error](t, body).Fix == "" {
			t.Errorf("%s: %s, want %d", request, response.Status, want)
		}
	}
	if response, body := ask(t, h, "GET /api/v1/fleet", "Authorization", "Bearer good"); response.StatusCode != http.StatusOK {
		t.Errorf("with a token: %s %s", response.Status, body)
	}
}

// Without authentication, other web sites cannot read data: neither by a request that a browser sends for them, nor by a
// host name that they resolve to a local address.
func TestOtherSites(t *testing.T) {
	_, server, _ := generated(t, 3, 10)
	for host, want := range map[string]int{
		"localhost:8082": 200, "127.0.0.1:8082": 200, "[::1]:8082": 200, "karpenter": 200, "karpenter.kube-system.svc:8082": 200, "10.0.0.7": 200,
		"evil.example.com": 403, "evil.example.com:8082": 403, "127.0.0.1.example.com": 403,
	} {
		if response := askHost(t, server.Handler(), host); response.StatusCode != want {
			t.Errorf("host %s: %s, want %d", host, response.Status, want)
		}
	}
	if response, _ := ask(t, server.Handler(), "GET /api/v1/fleet", "Sec-Fetch-Site", "cross-site"); response.StatusCode != http.StatusForbidden {
		t.Errorf("a request of another site: %s", response.Status)
	}
}

// The files of the page have the right content types and a policy that forbids other sources. They are small, refer to no other
// site, and are not sent again to a browser that has them.
func TestAssets(t *testing.T) {
	_, server, _ := generated(t, 3, 10)
	h := server.Handler()
	total := 0
	err := fs.WalkDir(os.DirFS("assets"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path.Join("assets", name))
		if err != nil {
			return err
		}
		for _, url := range regexp.MustCompile(`(?:https?:)?//[a-zA-Z0-9-]+\.[a-zA-Z][^\s"'`+"`"+`]*`).FindAllString(string(data), -1) {
			if !strings.HasPrefix(url, "http://www.w3.org/") {
				t.Errorf("%s names %s", name, url)
			}
		}
		if path.Ext(name) == ".sha256" {
			return nil // a file that records how the page was built; it is not served
		}
		response, body := ask(t, h, "GET /"+name, "Accept-Encoding", "gzip")
		total += len(body)
		unpacked, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			return err
		}
		var got bytes.Buffer
		if _, err := got.ReadFrom(unpacked); err != nil {
			return err
		}
		head := response.Header
		if !bytes.Equal(got.Bytes(), data) || head.Get("Content-Type") == "" || !strings.Contains(head.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d bytes, want %d; %v", name, got.Len(), len(data), head)
		}
		if again, _ := ask(t, h, "GET /"+name, "Accept-Encoding", "gzip", "If-None-Match", head.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %s", name, again.Status)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if most := 150 << 10; total == 0 || total > most {
		t.Errorf("the page has %d bytes compressed, at most %d are allowed", total, most)
	}
	if _, body := ask(t, h, "GET /"); !strings.Contains(body, "<html") {
		t.Errorf("the page begins %.100s", body)
	}
}

// Moments are added to the history while the fleet changes, and only then.
func TestHistory(t *testing.T) {
	fleet, server, clock := generated(t, 10, 100)
	for range 5 {
		fleet.Step(20)
		clock.Step(20 * time.Second)
		server.Refresh(t.Context())
	}
	for range 5 {
		clock.Step(20 * time.Second)
		server.Refresh(t.Context())
	}
	_, body := ask(t, server.Handler(), "GET /api/v1/history")
	newest := decode[view.History](t, body)
	if len(newest.Moments) != 6 || !newest.At.Equal(newest.Moments[5]) {
		t.Fatalf("%d moments, the newest at %s", len(newest.Moments), newest.At)
	}
	_, body = ask(t, server.Handler(), "GET /api/v1/history?at="+newest.Moments[0].Add(time.Second).Format(time.RFC3339))
	if first := decode[view.History](t, body); !first.At.Equal(newest.Moments[0]) || len(first.Fleet.Nodes) != 10 {
		t.Errorf("the first moment is at %s with %d nodes", first.At, len(first.Fleet.Nodes))
	}
	_, body = ask(t, server.Handler(), "GET /api/v1/trends")
	if v := decode[view.Trends](t, body); len(v.Time) != 4 || v.Nodes[3] == nil || v.DollarsPerHour[0] == nil {
		t.Errorf("trends: %s", body)
	}
}

// Only one what-if is computed at a time. Another request gets an error that says to try again.
func TestOneWhatIf(t *testing.T) {
	fleet, _, _ := generated(t, 3, 10)
	o := fleet.Options()
	begun, end := make(chan bool), make(chan bool)
	inner := o.TypesOf
	o.TypesOf = waiting(inner, begun, end)
	server := serve(t, o)
	pool := `POST /api/v1/whatif {"manifests":"{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: x}, spec: {template: {spec: {nodeClassRef: {group: example.com, kind: Class, name: x}, requirements: []}}}}"}`
	done := make(chan int)
	go func() {
		response, _ := ask(t, server.Handler(), pool, "Content-Type", "application/json")
		done <- response.StatusCode
	}()
	<-begun
	response, body := ask(t, server.Handler(), pool, "Content-Type", "application/json")
	if response.StatusCode != http.StatusTooManyRequests || decode[view.Error](t, body).Fix == "" {
		t.Errorf("the second one: %s %s", response.Status, body)
	}
	end <- true
	if status := <-done; status != http.StatusOK {
		t.Errorf("the first one: %d", status)
	}
}

// A what-if with too large a body or too many pods is refused, and takes no memory.
func TestLargeWhatIf(t *testing.T) {
	_, server, _ := generated(t, 3, 10)
	many := `POST /api/v1/whatif {"manifests":"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: b}, spec: {replicas: 900000, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}}"}`
	for request, want := range map[string]int{
		`POST /api/v1/whatif {"manifests":"` + strings.Repeat("x", 600<<10) + `"}`: 413, many: 422,
	} {
		response, body := ask(t, server.Handler(), request, "Content-Type", "application/json")
		if response.StatusCode != want || decode[view.Error](t, body).Fix == "" {
			t.Errorf("%.60s: %s %s, want %d", request, response.Status, body, want)
		}
	}
}

// A list of the answer that is cut has a warning with its full length.
func TestWhatIfCut(t *testing.T) {
	_, server, _ := generated(t, 210, 400)
	_, body := ask(t, server.Handler(), "GET /api/v1/history?at=0s")
	nodes := decode[view.History](t, body).Fleet.Nodes
	for n, cut := range map[int]bool{10: false, 201: true} {
		var ids []string
		for i := range n {
			ids = append(ids, nodes[i].ID)
		}
		request, err := json.Marshal(view.WhatIfRequest{WithoutNodes: ids})
		if err != nil {
			t.Fatal(err)
		}
		response, body := ask(t, server.Handler(), "POST /api/v1/whatif "+string(request), "Content-Type", "application/json")
		if response.StatusCode != http.StatusOK {
			t.Fatal(body)
		}
		w := decode[view.WhatIf](t, body)
		warned := strings.Contains(strings.Join(w.Warnings, "\n"), "removals has the first 200 of 2")
		if (len(w.Removals) == 200) != cut || warned != cut {
			t.Errorf("%d nodes are removed: %d removals, warnings %q", n, len(w.Removals), w.Warnings)
		}
	}
}

// The lower bound before a change is that of the strip, and no lower bound is above the price.
func TestLowerBoundsAgree(t *testing.T) {
	fleet, server, clock := generated(t, 40, 600)
	for range 3 {
		fleet.Step(50)
		clock.Step(time.Minute)
		fleet.Decide()
		server.Refresh(t.Context())
		_, body := ask(t, server.Handler(), "GET /api/v1/history?at=0s")
		strip := decode[view.History](t, body).Strip
		response, body := ask(t, server.Handler(), `POST /api/v1/whatif {"prices":{"std2.64":9}}`, "Content-Type", "application/json")
		if response.StatusCode != http.StatusOK {
			t.Fatal(body)
		}
		w := decode[view.WhatIf](t, body)
		if strip.FloorPerHour == nil || w.Before.FloorPerHour == nil || w.After.FloorPerHour == nil {
			t.Fatalf("unknown: %+v, %+v", strip, w.Before)
		}
		if math.Abs(*strip.FloorPerHour-*w.Before.FloorPerHour) > 1e-5 {
			t.Errorf("the strip has %v, what-if %v", *strip.FloorPerHour, *w.Before.FloorPerHour)
		}
		if *w.Before.FloorPerHour > w.Before.DollarsPerHour+1e-6 || *w.After.FloorPerHour > w.After.DollarsPerHour+1e-6 {
			t.Errorf("a lower bound is above the price: %+v, %+v", w.Before, w.After)
		}
	}
}
