// Package table has a map that is cheap to copy and cheap to change afterwards. Snapshots consist of such maps.
package table

import (
	"hash/maphash"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A Table is a map from a key to V. A copy of the value keeps its content when the original is changed. The two share parts:
// Set and Remove copy a part before the first write to it with a new Token. The zero Table is empty. Concurrent calls are allowed
// unless one of them is Set or Remove on the same value.
//
// It is a hash trie (Bagwell, Ideal Hash Trees, 2001): each inner part chooses one of fanOut parts by the next fanBits bits of
// the key's hash. A change of one key copies a bucket and the inner parts above it, about 1 kB in a table of 300,000 keys.
type Table[V any] struct {
	root *part[V]
	size int
}

const (
	fanBits = 4
	fanOut  = 1 << fanBits
	// bucketSize is the largest number of entries of a bucket, unless their hashes are equal.
	bucketSize = 16
	hashBits   = 64
)

// A part is a bucket or an inner part of a Table. Only the edit with the token owner may write it.
type part[V any] struct {
	owner   *Token
	entries []entry[V]        // of a bucket, in no particular order
	inner   *[fanOut]*part[V] // nil for a bucket
}

type entry[V any] struct {
	hash  uint64
	key   string
	value V
}

// A Token identifies one edit, which is a sequence of calls of Set and Remove on one value. A value that is copied between two of
// these calls is changed by the later ones, so an edit ends before its result is copied.
type Token struct{ _ byte }

// seed is drawn at the start of the process, so that the names of objects cannot be chosen to have equal hashes. It has an effect
// on the order of Each only.
var seed = maphash.MakeSeed()

// Len returns the number of keys.
func (t Table[V]) Len() int { return t.size }

// Get returns the value of the key. ok is false if there is none.
func (t Table[V]) Get(key string) (v V, ok bool) {
	if t.root == nil {
		return v, false
	}
	hash := maphash.String(seed, key)
	p, rest := t.root, hash
	for p != nil && p.inner != nil {
		p, rest = p.inner[rest%fanOut], rest>>fanBits
	}
	if i := p.find(hash, key); i >= 0 {
		return p.entries[i].value, true
	}
	return v, false
}

// find returns the index of the key in a bucket, -1 if it is not there. A nil bucket is empty.
func (p *part[V]) find(hash uint64, key string) int {
	if p == nil {
		return -1
	}
	for i := range p.entries {
		if e := &p.entries[i]; e.hash == hash && e.key == key {
			return i
		}
	}
	return -1
}

// Values returns all values in the order of their keys.
func (t Table[V]) Values() []V {
	all := make([]entry[V], 0, t.size)
	t.root.each(func(e *entry[V]) bool {
		all = append(all, *e)
		return true
	})
	order := func(a, b entry[V]) int { return strings.Compare(a.key, b.key) }
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
		t.root.each(func(e *entry[V]) bool { return yield(e.key, e.value) })
	}
}

// each calls yield for all entries until it returns false, and then returns false. A nil part has no entries.
func (p *part[V]) each(yield func(*entry[V]) bool) bool {
	if p == nil {
		return true
	}
	if p.inner != nil {
		for _, q := range p.inner {
			if !q.each(yield) {
				return false
			}
		}
	}
	for i := range p.entries {
		if !yield(&p.entries[i]) {
			return false
		}
	}
	return true
}

// Set sets the value of the key, and returns the previous one. ok is false if there was none.
func (t *Table[V]) Set(by *Token, key string, v V) (old V, ok bool) {
	t.root, old, ok = t.root.set(by, entry[V]{maphash.String(seed, key), key, v}, 0)
	if !ok {
		t.size++
	}
	return old, ok
}

// set returns the part with the entry, and the previous value of its key. The number of the hash's lowest bits that led to
// the part is the parameter bits.
func (p *part[V]) set(by *Token, e entry[V], bits int) (q *part[V], old V, ok bool) {
	if p == nil {
		return &part[V]{owner: by, entries: []entry[V]{e}}, old, false
	}
	p = p.writable(by)
	if p.inner == nil {
		if i := p.find(e.hash, e.key); i >= 0 {
			old, p.entries[i].value = p.entries[i].value, e.value
			return p, old, true
		}
		if len(p.entries) < bucketSize || bits >= hashBits {
			p.entries = append(p.entries, e)
			return p, old, false
		}
		p.split(by, bits)
	}
	next := &p.inner[e.hash>>bits%fanOut]
	*next, old, ok = (*next).set(by, e, bits+fanBits)
	return p, old, ok
}

// split makes a bucket an inner part, to which the lowest bits of the hashes led (their number is the parameter bits).
func (p *part[V]) split(by *Token, bits int) {
	p.inner = new([fanOut]*part[V])
	for _, e := range p.entries {
		next := &p.inner[e.hash>>bits%fanOut]
		if *next == nil {
			*next = &part[V]{owner: by}
		}
		(*next).entries = append((*next).entries, e)
	}
	p.entries = nil
}

// writable returns the part, which the edit with the token may write: p itself if it is the owner, otherwise a copy.
func (p *part[V]) writable(by *Token) *part[V] {
	if p.owner == by {
		return p
	}
	q := &part[V]{owner: by}
	if p.inner != nil {
		inner := *p.inner
		q.inner = &inner
	} else {
		q.entries = append(make([]entry[V], 0, len(p.entries)+1), p.entries...)
	}
	return q
}

// Put is Set if present is true, and Remove otherwise.
func (t *Table[V]) Put(by *Token, key string, v V, present bool) {
	if present {
		t.Set(by, key, v)
	} else {
		t.Remove(by, key)
	}
}

// Remove removes the key, and returns its value. ok is false if there was none.
func (t *Table[V]) Remove(by *Token, key string) (old V, ok bool) {
	if old, ok = t.Get(key); ok {
		t.root = t.root.remove(by, maphash.String(seed, key), key, 0)
		t.size--
	}
	return old, ok
}

// remove returns the part without the key, which it has. It returns nil if the part is empty then.
func (p *part[V]) remove(by *Token, hash uint64, key string, bits int) *part[V] {
	p = p.writable(by)
	if p.inner == nil {
		i := p.find(hash, key)
		p.entries = slices.Delete(p.entries, i, i+1)
		if len(p.entries) == 0 {
			return nil
		}
		return p
	}
	next := &p.inner[hash>>bits%fanOut]
	if *next = (*next).remove(by, hash, key, bits+fanBits); *next == nil && *p.inner == [fanOut]*part[V]{} {
		return nil
	}
	return p
}

// Unshared iterates in random order over the entries of t in parts that old does not have. They include each key whose value in
// old is another one, or that old lacks. Other entries may be included, too.
func (t Table[V]) Unshared(old Table[V]) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		unshared(t.root, old.root, func(e *entry[V]) bool { return yield(e.key, e.value) })
	}
}

// unshared is each for the parts of p that old does not have.
func unshared[V any](p, old *part[V], yield func(*entry[V]) bool) bool {
	switch {
	case p == old:
		return true
	case p == nil || old == nil || p.inner == nil || old.inner == nil:
		return p.each(yield)
	}
	for i := range p.inner {
		if !unshared(p.inner[i], old.inner[i], yield) {
			return false
		}
	}
	return true
}
