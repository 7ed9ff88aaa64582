package dashboard

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"compress/gzip"

	"github.com/karpenter-go/karpenter/internal/dashboard/stream"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// A problem is an error response. It has the text of the error and a fix.
type problem struct {
	status    int
	text, fix string
}

func (p problem) Error() string { return p.text }

// refuse writes a problem as the response.
func refuse(w http.ResponseWriter, p problem) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.status)
	_, _ = w.Write(encode(view.Error{Error: p.text, Fix: p.fix})) // an error means that the client has disconnected
}

// RBACPrefix precedes the paths of the dashboard in nonResourceURLs of RBAC rules. Without a prefix, rules for the API
// server's own paths below /api/v1 would apply to the dashboard, too.
const RBACPrefix = "/dashboard"

// Refuse writes the response to a request that authentication rejects with the status.
func Refuse(w http.ResponseWriter, status int) {
	p := problem{status, strings.ToLower(http.StatusText(status)), ""}
	switch status {
	case http.StatusUnauthorized:
		p.text, p.fix = "a bearer token is needed", "send the token of a service account, from kubectl create token"
	case http.StatusForbidden:
		p.text, p.fix = "the user of the token may not read the dashboard", "grant get and post on nonResourceURLs "+RBACPrefix+"/api/v1/*"
	case http.StatusServiceUnavailable:
		p.text, p.fix = "the API server did not check the token", "try again in a few seconds"
	}
	refuse(w, p)
}

// raw is JSON text that needs no encoding.
type raw []byte

// gzipFrom is the minimum size in bytes of a response that is compressed.
const gzipFrom = 1400

// answering returns the handler that writes what f returns as JSON.
func (s *Server) answering(f func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		var p problem
		switch {
		case errors.As(err, &p):
			refuse(w, p)
			return
		case err != nil:
			refuse(w, problem{http.StatusInternalServerError, err.Error(), "see the log of the controller"})
			return
		}
		data, encoded := v.(raw)
		if !encoded {
			data = encode(v)
		}
		write(w, r, data)
	})
}

// write writes a JSON response. It is compressed if it is large and the client accepts that.
func write(w http.ResponseWriter, r *http.Request, data []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Encoding")
	if len(data) >= gzipFrom && stream.AcceptsGzip(r) {
		if packed, err := compress(data, gzip.BestSpeed); err == nil {
			h.Set("Content-Encoding", "gzip")
			data = packed
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // an error means that the client has disconnected
}
