package stream

import (
	"net/http"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

const (
	// heartbeat is the time without a message after which a comment is sent.
	heartbeat = 10 * time.Second
	// writeTime is the maximum duration of one write. After that, the client is disconnected.
	writeTime = 20 * time.Second
)

// A Clock is the clock of streams.
type Clock interface {
	clock.WithTicker
	clock.WithDelayedExecution
}

// Serve writes the messages of the reader as server-sent events, until the client disconnects or the reader ends. The
// stream is compressed if the client accepts that.
func Serve(w http.ResponseWriter, r *http.Request, c Clock, reader *Reader) {
	defer reader.Close()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies must not collect events
	out := sink{hub: reader.hub, w: w, control: http.NewResponseController(w), clock: c, packs: AcceptsGzip(r)}
	h.Add("Vary", "Accept-Encoding")
	if out.packs {
		h.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	if out.packs && !out.write(gzipHeader) {
		return
	}
	beat := c.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-beat.C():
			if !out.send(Comment()) {
				return
			}
		case _, open := <-reader.Wake():
			if !out.send(reader.Take()...) || !open {
				return
			}
		}
	}
}

// AcceptsGzip reports whether the client accepts gzip.
func AcceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == "gzip" && strings.ReplaceAll(parameters, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// A sink writes to one client.
type sink struct {
	hub     *Hub
	w       http.ResponseWriter
	control *http.ResponseController
	clock   Clock
	packs   bool
}

// send writes messages and flushes them. It returns false if the client does not accept them within writeTime.
func (s *sink) send(messages ...*Message) bool {
	late := s.clock.AfterFunc(writeTime, func() {
		// A deadline in the past aborts the write. Deadlines are compared with the machine's clock, so the deadline cannot
		// be a time of the Clock.
		_ = s.control.SetWriteDeadline(time.Unix(1, 0))
	})
	defer late.Stop()
	for _, m := range messages {
		data := m.event
		if s.packs {
			data = m.packed()
		}
		if !s.write(data) {
			return false
		}
	}
	return s.control.Flush() == nil
}

func (s *sink) write(data []byte) bool {
	n, err := s.w.Write(data)
	s.hub.sent.Add(uint64(n))
	return err == nil
}
