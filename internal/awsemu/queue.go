package awsemu

import (
	"crypto/md5" //nolint:gosec // SQS sums up bodies with it
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// retention is the time for which a queue stores a message, as for the queue of a real cluster.
const retention = 5 * time.Minute

// A message is a message in a queue.
type message struct {
	id, body string
	sent     time.Time
	visible  time.Time // time from which on it may be received
	receipt  string    // receipt handle of the last receive
	received int
}

// A queue has its messages in the order of sending.
type queue struct{ messages []*message }

// queues are all queues of the account, by name.
type queues struct {
	clock clock.Clock

	mu      sync.Mutex // guards the rest
	byName  map[string]*queue
	last    int64
	arrived chan struct{} // closed and replaced when a message arrives
}

func newQueues(c clock.Clock) *queues {
	return &queues{clock: c, byName: map[string]*queue{}, arrived: make(chan struct{})}
}

// create creates a queue, unless it exists.
func (q *queues) create(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byName[name] == nil {
		q.byName[name] = &queue{}
	}
}

// remove deletes a queue and reports whether it existed.
func (q *queues) remove(name string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.byName[name]
	delete(q.byName, name)
	return ok
}

// exists reports whether there is a queue with the name.
func (q *queues) exists(name string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byName[name] != nil
}

// reset removes all queues.
func (q *queues) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.byName, q.last = map[string]*queue{}, 0
}

// send adds a message to a queue and returns its id. ok is false if the queue does not exist.
func (q *queues) send(name, body string) (id string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	to := q.byName[name]
	if to == nil {
		return "", false
	}
	q.last++
	now := q.clock.Now()
	m := &message{id: fmt.Sprintf("00000000-0000-4000-8000-%012x", q.last), body: body, sent: now, visible: now}
	to.messages = append(to.messages, m)
	close(q.arrived)
	q.arrived = make(chan struct{})
	return m.id, true
}

// receive returns up to n visible messages and hides them for the duration hide. arrived is closed when another message is sent.
// ok is false if the queue does not exist.
func (q *queues) receive(name string, n int, hide time.Duration) (out []message, arrived <-chan struct{}, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := q.byName[name]
	if from == nil {
		return nil, nil, false
	}
	now := q.clock.Now()
	from.messages = slices.DeleteFunc(from.messages, func(m *message) bool { return now.Sub(m.sent) >= retention })
	for _, m := range from.messages {
		if len(out) == n {
			break
		}
		if m.visible.After(now) {
			continue
		}
		q.last++
		m.visible, m.received = now.Add(hide), m.received+1
		m.receipt = fmt.Sprintf("receipt-%x-%s", q.last, m.id)
		out = append(out, *m)
	}
	return out, q.arrived, true
}

// remaining returns the numbers of visible and hidden messages.
func (q *queues) remaining(name string) (visible, hidden int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	in := q.byName[name]
	if in == nil {
		return 0, 0
	}
	for _, m := range in.messages {
		if m.visible.After(now) {
			hidden++
		} else {
			visible++
		}
	}
	return visible, hidden
}

// change calls keep with the message that has the receipt handle, and removes the message if keep returns false. It reports
// whether there is such a message.
func (q *queues) change(name, receipt string, keep func(*message) bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	in := q.byName[name]
	if in == nil {
		return false
	}
	i := slices.IndexFunc(in.messages, func(m *message) bool { return m.receipt == receipt })
	if i < 0 {
		return false
	}
	if !keep(in.messages[i]) {
		in.messages = slices.Delete(in.messages, i, i+1)
	}
	return true
}

// purge removes all messages of a queue.
func (q *queues) purge(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if in := q.byName[name]; in != nil {
		in.messages = nil
	}
}

// sumOf returns the checksum that SQS sends with a body.
func sumOf(body string) string {
	sum := md5.Sum([]byte(body)) //nolint:gosec // SQS sums up bodies with it
	return hex.EncodeToString(sum[:])
}

// secondsOf returns n seconds as a duration.
func secondsOf(n int) time.Duration { return time.Duration(n) * time.Second }
