package dashboard_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// For any path and query, the response is JSON and its status is no server error.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"decisions?since=24h&limit=3", "history?at=2026-01-05T12:00:00Z", "cost?by=pool,zone&since=1h", "nodes/x%00y", "manifests?kind=NodePool&name=default", "decisions?since=9999999h", "cost?since=2562047h47m16s"} {
		f.Add(seed)
	}
	_, server, _ := generated(f, 3, 30)
	h := server.Handler()
	f.Fuzz(func(t *testing.T, path string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/fleet", nil)
		u, err := r.URL.Parse("/api/v1/" + path)
		if err != nil || strings.HasPrefix(u.Path, "/api/v1/stream") {
			return
		}
		r.URL = u
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch {
		case w.Code >= 500:
			t.Errorf("%q: %d %s", path, w.Code, w.Body)
		case w.Code >= 400:
			if p := decode[view.Error](t, w.Body.String()); p.Error == "" || p.Fix == "" {
				t.Errorf("%q: %d %s without a fix", path, w.Code, w.Body)
			}
		}
	})
}

// For any body of a what-if, the response is a result, or an error with a fix.
func FuzzWhatIf(f *testing.F) {
	for _, seed := range []string{
		`{"withoutNodes":["x"]}`, `{"prices":{"std2.8":0.1,"a/b/c":2}}`, `{"prices":{"std2.8":1e400}}`, `{"manifests":"a: b"}`, `{"manifests":"- 1"}`, `[]`, `null`, `{"manifests":"\u0000"}`,
		`{"manifests":"{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: n}, spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 99999999999}}}]}}"}`,
		`{"manifests":"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: p, namespace: n}, spec: {replicas: -3, selector: {}, template: {spec: {}}}}"}`,
		`{"manifests":"{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {template: {spec: {}}}}"}`,
		`{"manifests":"{apiVersion: v1, kind: List, items: [{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: p, namespace: n}, spec: {}}]}"}`,
	} {
		f.Add(seed)
	}
	for _, manifests := range hostile {
		body, err := json.Marshal(view.WhatIfRequest{Manifests: manifests})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	_, server, _ := generated(f, 3, 30)
	h := server.Handler()
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/whatif", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch {
		case w.Code == 200:
			decode[view.WhatIf](t, w.Body.String())
		case w.Code >= 500:
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		default:
			if p := decode[view.Error](t, w.Body.String()); p.Error == "" || p.Fix == "" {
				t.Errorf("%q: %d %s without a fix", body, w.Code, w.Body)
			}
		}
	})
}

// hostile are manifests of extreme sizes, numbers and structures.
var hostile = []string{
	"a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]",
	strings.Repeat("[", 5000), strings.Repeat("---\n", 5000), "apiVersion: v1\nkind: Pod\nmetadata: {name: \"" + strings.Repeat("x", 70_000) + "\"}",
	"!!binary aGVsbG8=", "? {a: b}\n: c", "\xff\xfe", "{apiVersion: v1, kind: List, items: [null, 1, {kind: Pod}]}",
	"{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: n}, spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 9223372036854775807, memory: 9Ei, nvidia.com/gpu: 1e18}}}]}}",
	"{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: n}, spec: {containers: [{name: c, image: x, resources: {requests: {cpu: -1, memory: 0.0000001}}}]}}",
	"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: n}, spec: {replicas: 2147483647, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}}",
	"{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: n}, spec: {parallelism: 2147483647, completions: -5, template: {spec: {containers: [{name: c, image: x}], restartPolicy: Never}}}}",
	"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, namespace: n}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 1M}}}]}}}}",
	"{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {weight: 101, limits: {cpu: -1}, disruption: {budgets: [{nodes: '200%', schedule: '* * * * *', duration: 1h}]}, template: {spec: {nodeClassRef: {group: a, kind: b, name: c}, requirements: [{key: karpenter.sh/capacity-type, operator: Gt, values: ['x']}]}}}}",
	"{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {replicas: 9999999999, template: {spec: {nodeClassRef: {group: a, kind: b, name: c}, requirements: []}}}}",
	"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: v, namespace: n}, spec: {volumeName: v, resources: {requests: {storage: 1Ei}}}}",
	"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: p, namespace: n}, spec: {minAvailable: '9999999%', maxUnavailable: -1, selector: {matchExpressions: [{key: '', operator: Foo}]}}}",
}
