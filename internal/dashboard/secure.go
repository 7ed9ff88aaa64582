package dashboard

import (
	"net"
	"net/http"
	"strings"
)

// policy is the Content-Security-Policy: the page loads nothing from anywhere else, and no other page shows it in a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// secure sets the headers that protect the page, and refuses requests that other web pages make a browser send.
func (s *Server) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && strings.HasPrefix(r.URL.Path, "/api/") {
			refuse(w, problem{http.StatusForbidden, "the request comes from another web site", "open the dashboard itself"})
			return
		}
		if s.protect == nil && !localName(r.Host) {
			refuse(w, problem{http.StatusForbidden, "the dashboard is not served under the name " + r.Host + " without authentication",
				"use kubectl port-forward and localhost, or set --dashboard-authentication"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// localName reports whether the host of a request is an address, or a name that only exists within a machine or a cluster. A
// web site whose name is made to resolve to a local address (DNS rebinding) has another one.
func localName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if net.ParseIP(host) != nil || !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".localhost", ".svc", ".svc.cluster.local"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
