package guard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// An authority is an API server that accepts two tokens. Only one of their users may get /metrics.
type authority struct {
	mu      sync.Mutex
	reviews int
	fails   bool
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reviews++
	if a.fails {
		http.Error(w, "etcd is away", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		var in authenticationv1.TokenReview
		if json.NewDecoder(r.Body).Decode(&in) != nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		in.Status.Authenticated = in.Spec.Token == "prometheus" || in.Spec.Token == "tenant"
		in.Status.User = authenticationv1.UserInfo{Username: in.Spec.Token, Groups: []string{"team"}}
		_ = json.NewEncoder(w).Encode(in)
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		var in authorizationv1.SubjectAccessReview
		if json.NewDecoder(r.Body).Decode(&in) != nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		n := in.Spec.NonResourceAttributes
		in.Status.Allowed = in.Spec.User == "prometheus" && in.Spec.Groups[0] == "team" && n.Path == "/metrics" && n.Verb == "get"
		_ = json.NewEncoder(w).Encode(in)
	default:
		http.NotFound(w, r)
	}
}

// A user gets metrics only if the API server accepts the user's token and allows the user to get the path. An accepted token is
// reviewed again after a minute. While the API server does not answer, only tokens that were accepted before are accepted.
func TestWhoMayGetMetrics(t *testing.T) {
	api := &authority{}
	server := httptest.NewServer(api)
	defer server.Close()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	g, err := New(config, server.Client(), clock)
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
	before := api.reviews
	if got := get("GET", "/metrics", "Bearer prometheus"); got != http.StatusOK || api.reviews != before {
		t.Errorf("a known token has status %d after %d reviews, want 200 and none", got, api.reviews-before)
	}
	api.fails = true
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
