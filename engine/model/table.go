package model

import (
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// shardBits is the binary logarithm of the number of shards of a table. A change of one key copies one shard. With 256
// shards, a change in a table of 60,000 pods copies a few hundred entries.
const (
	shardBits = 8
	shards    = 1 << shardBits
)

// A Table is an immutable map from a key to V. Snapshots copy it by value and share its shards. An edit copies a shard
// before its first write to it, so a batch of changes copies each shard at most once. The zero Table is empty.
type Table[V any] struct {
	// owner is the token of the only edit that may write the array shards. Likewise, the owner of a shard is the token of
	// the only edit that may write its entries.
	shards *[shards]shard[V]
	owner  *token
	size   int
	more   int // estimate of how many more keys each shard gets in this edit
}

type shard[V any] struct {
	entries map[string]V
	owner   *token
}

// A token identifies one edit.
type token struct{ _ byte }

// shardOf returns the shard of a key, by FNV-1a. It is the same in all processes, so that results do not depend on a
// hash seed.
func shardOf(key string) uint8 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return uint8(h ^ h>>shardBits ^ h>>(2*shardBits))
}

// Get returns the value of the key. ok is false if there is none.
func (t Table[V]) Get(key string) (v V, ok bool) {
	if t.shards != nil {
		v, ok = t.shards[shardOf(key)].entries[key]
	}
	return v, ok
}

// Values returns all values in the order of their keys.
func (t Table[V]) Values() []V {
	type entry struct {
		key   string
		value V
	}
	all := make([]entry, 0, t.size)
	for k, v := range t.Each() {
		all = append(all, entry{k, v})
	}
	order := func(a, b entry) int { return strings.Compare(a.key, b.key) }
	vs := make([]V, len(all))
	if len(all) < manyKeys || runtime.GOMAXPROCS(0) < 2 {
		slices.SortFunc(all, order)
		for i := range all {
			vs[i] = all[i].value
		}
		return vs
	}
	low, high := all[:len(all)/2], all[len(all)/2:]
	var half sync.WaitGroup
	half.Go(func() { slices.SortFunc(low, order) })
	slices.SortFunc(high, order)
	half.Wait()
	for i := range vs {
		if len(high) == 0 || len(low) > 0 && low[0].key < high[0].key {
			vs[i], low = low[0].value, low[1:]
		} else {
			vs[i], high = high[0].value, high[1:]
		}
	}
	return vs
}

// manyKeys is the least number of keys that Values sorts concurrently.
const manyKeys = 2000

// Each iterates over all keys and values in random order. It does not copy or sort them.
func (t Table[V]) Each() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if t.shards == nil {
			return
		}
		for i := range t.shards {
			for k, v := range t.shards[i].entries {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// expect prepares the table for n more keys.
func (t *Table[V]) expect(n int) { t.more = (n + n/4) / shards }

// writable returns the entries of shard i, which the edit with the token may write. It first copies them unless that edit
// owns them already.
func (t *Table[V]) writable(by *token, i uint8) map[string]V {
	if t.owner != by {
		own := new([shards]shard[V])
		if t.shards != nil {
			*own = *t.shards
		}
		t.shards, t.owner = own, by
	}
	s := &t.shards[i]
	if s.owner != by {
		m := make(map[string]V, len(s.entries)+1+t.more)
		maps.Copy(m, s.entries)
		s.entries, s.owner = m, by
	}
	return s.entries
}

// set sets the value of the key, and returns the previous one.
func (t *Table[V]) set(by *token, key string, v V) (old V, ok bool) {
	m := t.writable(by, shardOf(key))
	if old, ok = m[key]; !ok {
		t.size++
	}
	m[key] = v
	return old, ok
}

func (t *Table[V]) remove(by *token, key string) {
	if _, ok := t.Get(key); ok {
		delete(t.writable(by, shardOf(key)), key)
		t.size--
	}
}

// differing calls f with the entries of each shard that the two tables do not share. A small edit shares most shards.
func (t Table[V]) differing(old Table[V], f func(now, then map[string]V)) {
	if t.shards == old.shards {
		return
	}
	var none [shards]shard[V]
	now, then := &none, &none
	if t.shards != nil {
		now = t.shards
	}
	if old.shards != nil {
		then = old.shards
	}
	for i := range shards {
		if now[i].owner != then[i].owner {
			f(now[i].entries, then[i].entries)
		}
	}
}
