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

// table is an immutable map from a string key to V. Changes are made in a draft, which shares the unchanged shards. The
// zero table is empty.
type table[V any] struct {
	shards *[shards]map[string]V
	size   int
}

// shardOf returns the shard of a key, by FNV-1a. It is the same in all processes, so that results do not depend on a
// hash seed.
func shardOf(key string) uint8 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return uint8(h ^ h>>shardBits ^ h>>(2*shardBits))
}

func (t table[V]) get(key string) (V, bool) {
	if t.shards == nil {
		var zero V
		return zero, false
	}
	v, ok := t.shards[shardOf(key)][key]
	return v, ok
}

// values returns all values in the order of their keys.
func (t table[V]) values() []V {
	type entry struct {
		key   string
		value V
	}
	all := make([]entry, 0, t.size)
	for k, v := range t.each() {
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

// manyKeys is the number of keys from which on they are sorted concurrently.
const manyKeys = 2000

// each iterates over all entries in random order.
func (t table[V]) each() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if t.shards == nil {
			return
		}
		for _, m := range t.shards {
			for k, v := range m {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// A draft is a table that is being changed. It copies a shard before the first write to it, so a batch of changes
// copies each shard at most once.
type draft[V any] struct {
	table  table[V]
	copied [shards]bool
	fresh  bool
	more   int // estimate of how many more keys each shard gets
}

func (t table[V]) edit() *draft[V] { return &draft[V]{table: t} }

// expect prepares the draft for n more keys.
func (d *draft[V]) expect(n int) { d.more = (n + n/4) / shards }

func (d *draft[V]) get(key string) (V, bool) { return d.table.get(key) }

// writable returns shard i. It is copied first if it is shared.
func (d *draft[V]) writable(i uint8) map[string]V {
	if !d.fresh {
		s := new([shards]map[string]V)
		if d.table.shards != nil {
			*s = *d.table.shards
		}
		d.table.shards, d.fresh = s, true
	}
	if !d.copied[i] {
		m := make(map[string]V, len(d.table.shards[i])+1+d.more)
		maps.Copy(m, d.table.shards[i])
		d.table.shards[i], d.copied[i] = m, true
	}
	return d.table.shards[i]
}

func (d *draft[V]) set(key string, v V) {
	m := d.writable(shardOf(key))
	before := len(m)
	m[key] = v
	d.table.size += len(m) - before
}

// swap is set, and also returns the previous value.
func (d *draft[V]) swap(key string, v V) (old V, ok bool) {
	m := d.writable(shardOf(key))
	if old, ok = m[key]; !ok {
		d.table.size++
	}
	m[key] = v
	return old, ok
}

func (d *draft[V]) remove(key string) {
	i := shardOf(key)
	if d.table.shards == nil {
		return
	}
	if _, ok := d.table.shards[i][key]; !ok {
		return
	}
	delete(d.writable(i), key)
	d.table.size--
}

// freeze returns the finished table. The draft must not be used afterwards.
func (d *draft[V]) freeze() table[V] { return d.table }
