package dashboard

import (
	"context"
	"net/http"
)

// A Server serves the dashboard.
type Server struct {
	state *state
	// trying has room for one value. A what-if puts a value into it while it is computed.
	trying chan struct{}
	assets map[string]asset
	// protect wraps the handler of data with the authentication; nil allows every client that reaches the port.
	protect func(http.Handler) http.Handler
}

// New returns a Server. If protect is not nil, it decides which requests for data are allowed. The files of the page need
// no authentication.
func New(o Options, protect func(http.Handler) http.Handler) (*Server, error) {
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	return &Server{state: newState(o), trying: make(chan struct{}, 1), assets: files, protect: protect}, nil
}

// Run updates the fleet until the context is done. It must run while the Handler is served.
func (s *Server) Run(ctx context.Context) error { return s.state.run(ctx) }

// Refresh updates the fleet once, as Run does at each tick.
func (s *Server) Refresh(ctx context.Context) { s.state.step(ctx) }

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	api := http.NewServeMux()
	for pattern, answer := range s.answers() {
		api.Handle(pattern, s.answering(answer))
	}
	api.HandleFunc("GET /api/v1/stream", s.stream)
	api.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, problem{http.StatusNotFound, "no such path: " + r.Method + " " + r.URL.Path, "docs/api.md lists the paths"})
	})
	var data http.Handler = api
	if s.protect != nil {
		data = s.protect(data)
	}
	all := http.NewServeMux()
	all.Handle("/api/", s.ready(data))
	all.HandleFunc("/", s.asset)
	return s.secure(all)
}

// ready refuses requests until the caches of the process are complete.
func (s *Server) ready(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.state.Cluster.Synced() {
			refuse(w, problem{http.StatusServiceUnavailable, "the objects of the cluster are not listed yet", "try again in a few seconds"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
