package dashboard

import (
	"net"
	"net/http"
	"strings"
)

// policy is the Content-Security-Policy of the page. The page can load resources only from its own server, and other pages
// cannot embed it in a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// secure sets headers that protect the page. It also refuses requests that a browser sends on behalf of another web site.
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

// localName reports whether the host of a request is an IP address, or a name that exists only within a machine or a
// cluster. The host name of a web site that resolves its name to a local address (DNS rebinding) is neither.
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
