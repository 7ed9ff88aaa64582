package operator

import (
	"net/http"
	"net/http/pprof"
)

// profiling returns the handlers of /debug/pprof for the metrics port, none if they are off.
func profiling(on bool) map[string]http.Handler {
	if !on {
		return nil
	}
	handlers := map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
	for _, name := range []string{"allocs", "heap", "block", "goroutine", "threadcreate"} {
		handlers["/debug/pprof/"+name] = pprof.Handler(name)
	}
	return handlers
}
