// Package guardtest simulates the API server for tests of package guard. It answers only TokenReviews and
// SubjectAccessReviews.
package guardtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// Group is the group of all users of a Server.
const Group = "team"

// A Server reviews tokens and accesses. The token of a user is the name of the user.
type Server struct {
	server  *httptest.Server
	users   []string
	allowed func(authorizationv1.SubjectAccessReviewSpec) bool

	mu      sync.Mutex // guards all below
	reviews int
	fails   bool
}

// Start starts a server until the test ends. It accepts the tokens of users, and the accesses for which allowed returns
// true.
func Start(t *testing.T, users []string, allowed func(authorizationv1.SubjectAccessReviewSpec) bool) *Server {
	t.Helper()
	s := &Server{users: users, allowed: allowed}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// Config returns the configuration of a client of the server.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: s.server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// Client returns an HTTP client for the server.
func (s *Server) Client() *http.Client { return s.server.Client() }

// Reviews returns the number of requests so far.
func (s *Server) Reviews() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reviews
}

// Fail makes all later requests fail with status 500.
func (s *Server) Fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = true
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.reviews++
	fails := s.fails
	s.mu.Unlock()
	if fails {
		http.Error(w, "etcd does not answer", http.StatusInternalServerError)
		return
	}
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		answer(w, r, func(in *authenticationv1.TokenReview) {
			in.Status.Authenticated = slices.Contains(s.users, in.Spec.Token)
			in.Status.User = authenticationv1.UserInfo{Username: in.Spec.Token, Groups: []string{Group}}
		})
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		answer(w, r, func(in *authorizationv1.SubjectAccessReview) { in.Status.Allowed = s.allowed(in.Spec) })
	default:
		http.NotFound(w, r)
	}
}

// answer decodes the TokenReview or SubjectAccessReview in the request. It calls the parameter review, which sets the status,
// and responds with the changed object.
func answer[T any](w http.ResponseWriter, r *http.Request, review func(*T)) {
	var in T
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		http.Error(w, "the body is no review", http.StatusBadRequest)
		return
	}
	review(&in)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(in)
}
