package dashboard_test

import (
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
