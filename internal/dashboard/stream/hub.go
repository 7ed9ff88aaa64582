// Package stream distributes messages to the clients of the dashboard, and writes them as server-sent events.
//
// A message is encoded and compressed once for all clients. Each client has a Reader with a bounded buffer. If a client is
// too slow, its Reader is dropped: the stream ends, and the client connects again and gets a snapshot. So a slow client
// delays no other one and uses no more memory than its buffer.
package stream

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Bounds of the unread messages of one reader: their number and their bytes. A single message may be larger than the
// bytes, so that the snapshot of a large fleet can be sent.
const (
	maxUnread = 64
	maxBytes  = 8 << 20
)

// ErrFull is the error of Subscribe if the maximum number of readers is reached.
var ErrFull = errors.New("too many readers of the stream")

// A Hub distributes messages to readers. It is safe for concurrent use.
type Hub struct {
	limit int

	mu      sync.Mutex // guards the rest
	readers map[*Reader]bool
	dropped uint64

	sent atomic.Uint64 // bytes that were written
}

// Use is how much the Hub is used.
type Use struct {
	// Readers is the number of readers now.
	Readers int
	// Dropped is how many readers were dropped because they were too slow, Sent how many bytes were written, since the
	// start.
	Dropped, Sent uint64
}

// New returns a Hub with at most limit readers at the same time.
func New(limit int) *Hub { return &Hub{limit: limit, readers: map[*Reader]bool{}} }

// A Reader has the unread messages of one client.
type Reader struct {
	hub *Hub
	// wake has a value if there may be unread messages, and is closed when the reader is dropped.
	wake chan struct{}

	// The fields below are guarded by hub.mu.
	unread []*Message
	bytes  int
	closed bool
}

// Len returns the number of readers.
func (h *Hub) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.readers)
}

// Use returns how much the Hub is used.
func (h *Hub) Use() Use {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Use{len(h.readers), h.dropped, h.sent.Load()}
}

// Subscribe adds a reader. Its first messages are the given ones.
func (h *Hub) Subscribe(first ...*Message) (*Reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.readers) >= h.limit {
		return nil, ErrFull
	}
	r := &Reader{hub: h, wake: make(chan struct{}, 1)}
	h.readers[r] = true
	for _, m := range first {
		r.add(m)
	}
	return r, nil
}

// Publish adds a message to the unread messages of all readers. It drops the readers whose buffer has no room for it.
func (h *Hub) Publish(m *Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.readers {
		if len(r.unread) >= maxUnread || len(r.unread) > 0 && r.bytes+len(m.event) > maxBytes {
			h.dropped++
			r.end()
			continue
		}
		r.add(m)
	}
}

// Close ends all readers.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.readers {
		r.end()
	}
}

// add adds an unread message. The caller holds mu.
func (r *Reader) add(m *Message) {
	r.unread = append(r.unread, m)
	r.bytes += len(m.event)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// end removes the reader. The caller holds mu.
func (r *Reader) end() {
	if r.closed {
		return
	}
	delete(r.hub.readers, r)
	r.closed, r.unread, r.bytes = true, nil, 0
	close(r.wake)
}

// Close ends the reader.
func (r *Reader) Close() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	r.end()
}

// Wake returns the channel that has a value if Take may return messages. It is closed when the reader has ended.
func (r *Reader) Wake() <-chan struct{} { return r.wake }

// Take returns the unread messages, which count as read.
func (r *Reader) Take() []*Message {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	all := r.unread
	r.unread, r.bytes = nil, 0
	return all
}
