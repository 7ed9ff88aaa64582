package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// An answer ends a call.
type answer struct {
	response *http.Response
	err      error
}

// errDown is the error of a call if the process of the client is killed or the server is not reachable.
var errDown = errors.New("connect: connection refused")

// A link is the network of one process. All of its calls to the API server and to the cloud go over it.
type link struct {
	world *World
	name  string
	// cut is true when the process is dead. Its calls fail and have no effect. dead is closed then.
	cut  bool
	dead chan struct{}
	// crashAfter counts down the writes and calls of the process. It is killed when crashAfter falls below 0. A negative
	// value from the start means that it is not killed. Only writes to paths that begin with crashOn, and operations of the cloud
	// that do, are counted.
	crashAfter int
	crashOn    string
	// leads is true after the process wrote the lease, until another did.
	leads bool
	// open are the streams of its watches.
	open []*stream
}

// send passes a call to the driver, and waits until the call is answered or ctx is done.
func (l *link) send(ctx context.Context, key string, admit func(reply func(answer))) (*http.Response, error) {
	done := make(chan answer, 1)
	var once sync.Once
	l.world.driver.Arrive(l.name+" "+key, func() {
		admit(func(a answer) { once.Do(func() { done <- a }) })
	})
	select {
	case a := <-done:
		return a.response, a.err
	case <-l.dead:
		return nil, errDown
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// kubeLink is the way to the API server.
type kubeLink struct{ *link }

// RoundTrip implements http.RoundTripper.
func (k kubeLink) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := kubeapi.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	w := k.world
	if w.platform.server.Describes(q) {
		// Clients hold mutexes during discovery. A goroutine that waits for a mutex is not blocked in the sense of synctest, so
		// a delay would stop the simulation.
		return kubeapi.HTTP(r, w.platform.server.Serve(q), nil, time.Now().Add(w.platform.ahead)), nil
	}
	if strings.HasSuffix(q.Path, "/events") || strings.Contains(q.Path, "/events/") {
		// Events are written without delay and faults. Goroutines publish them at the same time, in an order that may
		// differ between two runs.
		return k.send(r.Context(), q.Method+" "+q.Path+" "+string(q.Body), func(reply func(answer)) {
			if k.cut {
				reply(answer{err: errDown})
				return
			}
			reply(answer{response: kubeapi.HTTP(r, w.platform.server.Serve(q), nil, time.Now().Add(w.platform.ahead))})
		})
	}
	return k.send(r.Context(), q.Method+" "+q.Path+"?"+queryOf(q)+" "+string(q.Body), func(reply func(answer)) {
		delay, fate := w.faults.kube(k.name, q)
		w.driver.After(delay, func() {
			if k.cut {
				reply(answer{err: errDown})
				return
			}
			switch fate.kind {
			case refuse:
				reply(answer{err: errDown})
				return
			case fail:
				reply(answer{response: kubeapi.HTTP(r, fate.response, nil, time.Now().Add(w.platform.ahead))})
				return
			}
			resp := k.serve(q)
			if k.cut {
				return
			}
			if fate.kind == lose {
				if resp.Watch != nil {
					resp.Watch.Close()
				}
				w.driver.After(fate.after, func() { reply(answer{err: fmt.Errorf("read: %w", io.ErrUnexpectedEOF)}) })
				return
			}
			if resp.Watch == nil {
				reply(answer{response: kubeapi.HTTP(r, resp, nil, time.Now().Add(w.platform.ahead))})
				return
			}
			s := k.stream(resp.Watch)
			reply(answer{response: kubeapi.HTTP(r, resp, s, time.Now().Add(w.platform.ahead))})
		})
	})
}

// queryOf returns the parameters of a call but the length of a watch, which clients choose at random.
func queryOf(q *kubeapi.Request) string {
	query := maps.Clone(q.Query)
	query.Del("timeoutSeconds")
	return query.Encode()
}

// cloudLink is the way to the cloud. It implements the SDK's HTTP client.
type cloudLink struct{ *link }

// Do carries out a call of the SDK.
func (a cloudLink) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read the request's body: %w", err)
		}
		r.Body.Close()
	}
	w := a.world
	op := operation(r, body)
	return a.send(r.Context(), "cloud "+op+" "+withoutToken(body), func(reply func(answer)) {
		delay, fate := w.faults.cloud(a.name, op)
		w.driver.After(delay, func() {
			switch {
			case a.cut || fate.kind == refuse:
				reply(answer{err: errDown})
				return
			case fate.kind == hang:
				w.driver.After(aws.RequestTimeout, func() { reply(answer{err: context.DeadlineExceeded}) })
				return
			}
			w.trace.cloud(a.name, op)
			if fate.kind == fail {
				reply(answer{response: unavailable(r)})
				return
			}
			w.judge.called(a.name, op, body)
			reads := strings.HasPrefix(op, "Describe") || strings.HasPrefix(op, "Get")
			last := !reads && a.link.countdown(op)
			// A handler may wait, as a long poll does. So it has a goroutine of its own.
			in := r.Clone(context.WithoutCancel(r.Context()))
			in.Body = io.NopCloser(bytes.NewReader(body))
			go func() {
				rec := httptest.NewRecorder()
				w.account.emulator.ServeHTTP(rec, in)
				if !reads {
					w.driver.Arrive(a.name+" called", w.platform.called)
				}
				if last {
					w.driver.Arrive(a.name+" crash", func() { w.processes.crashNow(a.link) })
					return
				}
				if fate.kind == lose {
					reply(answer{err: fmt.Errorf("read: %w", io.ErrUnexpectedEOF)})
					return
				}
				resp := rec.Result()
				resp.Request = r
				reply(answer{response: resp})
			}()
		})
	})
}

// withoutToken returns the parameters of a call without the token that makes it idempotent, which is random.
func withoutToken(body []byte) string {
	before, rest, ok := strings.Cut(string(body), "ClientToken=")
	if !ok {
		return before
	}
	_, rest, _ = strings.Cut(rest, "&")
	return before + rest
}

// unavailable is the answer of a load balancer in front of AWS.
func unavailable(r *http.Request) *http.Response {
	rec := httptest.NewRecorder()
	http.Error(rec, "<html><body><h1>503 Service Unavailable</h1></body></html>", http.StatusServiceUnavailable)
	resp := rec.Result()
	resp.Request = r
	return resp
}

// serve carries out a call to the API server.
func (k kubeLink) serve(q *kubeapi.Request) kubeapi.Response {
	w, l := k.world, k.link
	w.processes.writer = l.name
	defer func() { w.processes.writer = "" }()
	if q.Method != http.MethodGet {
		w.judge.call(l, q)
	}
	resp := w.platform.server.Serve(q)
	w.trace.kube(l.name, q, resp)
	if q.Method != http.MethodGet && resp.Code == http.StatusNotFound {
		w.judge.quiet.count(l.name, q.Method+" "+q.Path+" of an object that does not exist", mostMissing)
	}
	if q.Method == http.MethodGet || resp.Code >= 300 {
		return resp
	}
	if strings.Contains(q.Path, "/leases/") {
		for _, r := range w.processes.replicas {
			r.link.leads = r.link == l
		}
	} else if !quietKind(q.Path) && l.countdown(q.Path) {
		w.processes.crashNow(l)
	}
	return resp
}

// countdown counts a write to a path, or an operation of the cloud, and reports whether the process is to be killed after it.
func (l *link) countdown(what string) bool {
	if l.crashAfter < 0 || !strings.HasPrefix(what, l.crashOn) {
		return false
	}
	l.crashAfter--
	return l.crashAfter < 0
}

// operation returns the name of the operation of a call of the AWS API, or its method and path if the call names none.
func operation(r *http.Request, body []byte) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return target[strings.LastIndex(target, ".")+1:]
	}
	if _, rest, ok := strings.Cut(string(body), "Action="); ok {
		name, _, _ := strings.Cut(rest, "&")
		return name
	}
	return r.Method + " " + r.URL.Path
}

// A stream carries the events of a watch to a client.
type stream struct {
	link  *link
	watch *kubeapi.Watch
	// due is when the last scheduled event arrives: events of one watch keep their order.
	due time.Time

	mu   sync.Mutex // guards what follows
	cond *sync.Cond
	// sent are the times at which the events occurred that have not arrived yet.
	sent   []time.Time
	data   bytes.Buffer
	closed bool
}

// stream makes the stream of a watch.
func (l *link) stream(w *kubeapi.Watch) *stream {
	s := &stream{link: l, watch: w, due: time.Now()}
	s.cond = sync.NewCond(&s.mu)
	l.open = append(l.open, s)
	for range w.Pending() {
		s.schedule(w.Listed)
	}
	w.Ready = func() { s.schedule(false) }
	world := l.world
	world.driver.After(world.driver.Dice(l.name+" watch "+w.Plural()).Between(5*time.Minute, 10*time.Minute), s.end)
	return s
}

// behind returns since when the process may have missed changes of objects of a kind, if it may have missed any: since the oldest event
// that is on its way to it. If none of its watches of the kind is open, it is when their last event arrived: after an outage of the API
// server, the process waits longer and longer until it begins a watch again.
func (l *link) behind(plural string) (since time.Time, ok bool) {
	open := false
	var last time.Time
	for _, s := range l.open {
		if s.watch.Plural() != plural {
			continue
		}
		s.mu.Lock()
		last, open = later(last, s.due), open || !s.closed
		if !s.closed && len(s.sent) > 0 && (!ok || s.sent[0].Before(since)) {
			since, ok = s.sent[0], true
		}
		s.mu.Unlock()
	}
	if !open {
		return last, true
	}
	return since, ok
}

// schedule lets the next event arrive after a delay. initial is true for an object with which the watch begins.
func (s *stream) schedule(initial bool) {
	world := s.link.world
	at := time.Now().Add(world.faults.watch(s.link.name, s.watch.Plural(), initial))
	if at.Before(s.due) {
		at = s.due
	}
	s.due = at
	s.mu.Lock()
	s.sent = append(s.sent, time.Now())
	s.mu.Unlock()
	world.driver.At(at, func() {
		line := s.watch.Next()
		s.mu.Lock()
		s.sent = s.sent[1:]
		if line == nil {
			s.mu.Unlock()
			return
		}
		s.data.Write(line)
		s.mu.Unlock()
		s.cond.Broadcast()
	})
}

// Read implements io.Reader. It waits for the next event.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.data.Len() == 0 && !s.closed {
		s.cond.Wait()
	}
	if s.data.Len() == 0 {
		return 0, io.EOF
	}
	return s.data.Read(p)
}

// Close implements io.Closer; the client calls it.
func (s *stream) Close() error {
	s.link.world.driver.Arrive(s.link.name+" close "+s.watch.Plural(), s.end)
	return nil
}

// end ends the stream. It is called on the driver's goroutine.
func (s *stream) end() {
	s.watch.Close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cond.Broadcast()
}
