package guard

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-go/karpenter/internal/operator/guard/guardtest"
)

// mayGetMetrics allows one user to get /metrics.
func mayGetMetrics(spec authorizationv1.SubjectAccessReviewSpec) bool {
	n := spec.NonResourceAttributes
	return spec.User == "prometheus" && slices.Equal(spec.Groups, []string{guardtest.Group}) && n.Path == "/metrics" && n.Verb == "get"
}

// A user gets metrics only if the API server accepts the user's token and allows the user to get the path. An accepted token is
// reviewed again after a minute. While the API server does not answer, only tokens that were accepted before are accepted.
func TestWhoMayGetMetrics(t *testing.T) {
	api := guardtest.Start(t, []string{"prometheus", "tenant"}, mayGetMetrics)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	g, err := New(api.Config(), api.Client(), clock)
	if err != nil {
		t.Fatal(err)
	}
	handler := g.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	get := func(method, path, authorization string) int {
		t.Helper()
		r := httptest.NewRequest(method, path, nil)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	for _, tt := range []struct {
		name, method, path, authorization string
		want                              int
	}{
		{"no token", "GET", "/metrics", "", http.StatusUnauthorized},
		{"an empty token", "GET", "/metrics", "Bearer ", http.StatusUnauthorized},
		{"a password", "GET", "/metrics", "Basic cHJvbWV0aGV1czpwcm9tZXRoZXVz", http.StatusUnauthorized},
		{"an unknown token", "GET", "/metrics", "Bearer guess", http.StatusUnauthorized},
		{"a user without the permission", "GET", "/metrics", "Bearer tenant", http.StatusForbidden},
		{"a user with the permission", "GET", "/metrics", "Bearer prometheus", http.StatusOK},
		{"the same user, profiles", "GET", "/debug/pprof/heap", "Bearer prometheus", http.StatusForbidden},
		{"the same user, another method", "POST", "/metrics", "Bearer prometheus", http.StatusForbidden},
	} {
		if got := get(tt.method, tt.path, tt.authorization); got != tt.want {
			t.Errorf("%s: status is %d, want %d", tt.name, got, tt.want)
		}
	}
	before := api.Reviews()
	if got := get("GET", "/metrics", "Bearer prometheus"); got != http.StatusOK || api.Reviews() != before {
		t.Errorf("a known token has status %d after %d reviews, want 200 and none", got, api.Reviews()-before)
	}
	api.Fail()
	if got := get("GET", "/metrics", "Bearer prometheus"); got != http.StatusOK {
		t.Errorf("a known token has status %d while the API server fails", got)
	}
	clock.SetTime(time.Unix(61, 0))
	if got := get("GET", "/metrics", "Bearer prometheus"); got != http.StatusServiceUnavailable {
		t.Errorf("a minute later, while the API server fails, the status is %d, want 503", got)
	}
}

// The memory for accepted requests is bounded.
func TestAcceptedRequestsAreBounded(t *testing.T) {
	g := &Guard{clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)), accepted: map[request]time.Time{}, Refuse: refuse}
	for i := range 3 * most {
		g.remember(request{token: [32]byte{byte(i), byte(i >> 8)}})
	}
	if n := len(g.accepted); n > most {
		t.Errorf("%d requests are remembered, want %d at most", n, most)
	}
}
