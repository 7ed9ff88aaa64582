package ttl

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// A Cache stores values by key until their time to live has passed. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	clock clock.PassiveClock
	life  time.Duration

	mu      sync.Mutex // guards entries
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// New returns an empty cache. life is the time to live of its values.
func New[K comparable, V any](c clock.PassiveClock, life time.Duration) *Cache[K, V] {
	return &Cache[K, V]{clock: c, life: life, entries: map[K]entry[V]{}}
}

// Get returns the value of key if it has not expired.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok || !c.clock.Now().Before(e.until) {
		var zero V
		return zero, false
	}
	return e.value, true
}

// Set stores the value under the key. Its time to live begins now.
func (c *Cache[K, V]) Set(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	maps.DeleteFunc(c.entries, func(_ K, e entry[V]) bool { return !now.Before(e.until) })
	c.entries[key] = entry[V]{value: value, until: now.Add(c.life)}
}

// Delete removes the value of the key.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}

// Clear removes all values.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}
