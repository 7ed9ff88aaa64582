package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/karpenter-go/karpenter/internal/dashboard/stream"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// answers returns the function that computes the response, by method and path.
func (s *Server) answers() map[string]func(*http.Request) (any, error) {
	return map[string]func(*http.Request) (any, error){
		"GET /api/v1/info":       s.info,
		"GET /api/v1/fleet":      s.fleet,
		"GET /api/v1/pending":    s.pending,
		"GET /api/v1/decisions":  s.decisions,
		"GET /api/v1/trends":     s.trends,
		"GET /api/v1/history":    s.history,
		"GET /api/v1/nodes/{id}": s.node,
		"GET /api/v1/pools":      s.pools,
		"GET /api/v1/capacity":   s.capacity,
		"GET /api/v1/cost":       s.cost,
		"GET /api/v1/manifests":  s.manifest,
		"POST /api/v1/whatif":    s.whatIf,
	}
}

// stream serves the stream of changes.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	reader, err := s.state.subscribe()
	if err != nil {
		w.Header().Set("Retry-After", "10")
		refuse(w, problem{http.StatusServiceUnavailable, fmt.Sprintf("%d pages are open, which is the most that are served", maxReaders), "close a page"})
		return
	}
	stream.Serve(w, r, s.state.Clock, reader)
}

func (s *Server) info(*http.Request) (any, error) {
	info := s.state.Info
	if info.Region == "" {
		info.Region = view.RegionOf(s.state.now().snapshot)
	}
	return info, nil
}

func (s *Server) fleet(*http.Request) (any, error) {
	s.state.now()
	return raw(view.AppendFleet(nil, s.state.tiles())), nil
}

func (s *Server) pending(*http.Request) (any, error) {
	return map[string]any{"groups": s.state.now().groups}, nil
}

// The default and the maximum number of episodes in a response.
const (
	someEpisodes = 200
	mostEpisodes = decisions.MaxEpisodes
)

// decisions returns the newest episodes first.
func (s *Server) decisions(r *http.Request) (any, error) {
	since, err := timeOf(r, "since", s.state.Clock.Now())
	if err != nil {
		return nil, err
	}
	limit, err := numberOf(r, "limit", someEpisodes, mostEpisodes)
	if err != nil {
		return nil, err
	}
	out := []decisions.Episode{}
	for _, e := range slices.Backward(s.state.Decisions.Snapshot()) {
		if len(out) == limit || e.Time.Before(since) {
			break
		}
		out = append(out, e)
	}
	return map[string]any{"episodes": out}, nil
}

func (s *Server) trends(*http.Request) (any, error) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return s.state.trends.View(), nil
}

func (s *Server) history(r *http.Request) (any, error) {
	now := s.state.Clock.Now()
	at, err := timeOf(r, "at", now)
	if err != nil {
		return nil, err
	}
	if at.IsZero() {
		at = now
	}
	s.state.mu.Lock()
	moment, ok := s.state.moments.At(at)
	times := s.state.moments.Times()
	s.state.mu.Unlock()
	if !ok {
		return nil, problem{http.StatusNotFound, "the history is empty: the fleet has not changed since the controller started", "try again later"}
	}
	for i := range times {
		times[i] = times[i].UTC()
	}
	b := append([]byte(`{"at":`), encode(moment.At.UTC())...)
	b = append(append(b, `,"moments":`...), encode(times)...)
	b = append(append(b, `,"strip":`...), encode(moment.Strip)...)
	b = view.AppendFleet(append(b, `,"fleet":`...), moment.Tiles)
	return raw(append(b, '}')), nil
}

// timeOf returns a time in the query: in RFC 3339, or as a duration before now, such as 24h. It returns the zero time if
// the query lacks the parameter.
func timeOf(r *http.Request, name string, now time.Time) (time.Time, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, problem{http.StatusBadRequest, fmt.Sprintf("%s: %q is neither a time nor a duration", name, text),
		"use a time such as 2026-01-05T12:00:00Z, or a duration such as 24h"}
}

// numberOf returns a number from 1 to most in the query. It returns without if the query lacks the parameter.
func numberOf(r *http.Request, name string, without, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, problem{http.StatusBadRequest, fmt.Sprintf("%s: %q is no number from 1 to %d", name, text, most), fmt.Sprintf("use for example %s=%d", name, without)}
	}
	return n, nil
}
