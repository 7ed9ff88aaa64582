package pack

import (
	"runtime"
	"strings"
	"sync"
)

// A telling tells things apart by what is written about each: those of which the same is written have one number. Numbers
// come in the order in which things do.
type telling struct {
	of     []int    // the number of each
	texts  []string // what is written, by number
	places []int    // by number, a place in the text
	firsts []int    // by number, the first thing
	number map[string]int
	arena  arena
}

// A writer writes about the i-th thing and returns the place in that which is to be remembered.
type writer func(b []byte, i int) (out []byte, place int)

// perWriter is how many things are worth another goroutine.
const perWriter = 500

// tellApart tells n things apart. The processors share the work, each with a writer of its own; what comes of it does not
// depend on how many there are.
func tellApart(n int, newWriter func() writer) *telling {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/perWriter))
	all := make([]*telling, parts)
	of := make([]int, n)
	var done sync.WaitGroup
	for k := range all {
		from, to := k*n/parts, (k+1)*n/parts
		all[k] = &telling{of: of[from:to], number: make(map[string]int, (to-from)/4)}
		run := func() { all[k].read(from, newWriter()) }
		if k < parts-1 {
			done.Go(run)
		} else {
			run()
		}
	}
	done.Wait()
	a := all[0]
	for _, part := range all[1:] {
		a.merge(part)
	}
	a.of = of
	return a
}

// read tells things apart, of which the first is from.
func (a *telling) read(from int, write writer) {
	var b []byte
	var place int
	for i := range a.of {
		b, place = write(b[:0], from+i)
		id, ok := a.number[string(b)]
		if !ok {
			id = a.add(a.arena.keep(b), place, from+i)
		}
		a.of[i] = id
	}
}

// add gives a new text its number.
func (a *telling) add(text string, place, first int) int {
	id := len(a.texts)
	a.number[text] = id
	a.texts, a.places, a.firsts = append(a.texts, text), append(a.places, place), append(a.firsts, first)
	return id
}

// merge gives the things of part, which come after those of a, the numbers that they have in a.
func (a *telling) merge(part *telling) {
	now := make([]int, len(part.texts))
	for was, text := range part.texts {
		id, ok := a.number[text]
		if !ok {
			id = a.add(text, part.places[was], part.firsts[was])
		}
		now[was] = id
	}
	for i, was := range part.of {
		part.of[i] = now[was]
	}
}

// An arena keeps texts, many in one piece of memory.
type arena struct{ page strings.Builder }

// pageSize is how much memory an arena takes at a time.
const pageSize = 1 << 14

func (a *arena) keep(b []byte) string {
	if a.page.Cap()-a.page.Len() < len(b) {
		a.page = strings.Builder{}
		a.page.Grow(max(pageSize, len(b)))
	}
	from := a.page.Len()
	a.page.Write(b)
	return a.page.String()[from:]
}

// A store makes things of one kind, many in one piece of memory. They live as long as one of them does.
type store[T any] struct{ free []T }

// perStore is how many things a store makes at a time.
const perStore = 64

func (s *store[T]) take() *T {
	if len(s.free) == 0 {
		s.free = make([]T, perStore)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
