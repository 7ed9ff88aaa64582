package compile

import (
	"runtime"
	"sync"
)

// An interner groups items by their encoding and numbers the groups in order of first appearance.
type interner struct {
	numbers []int          // numbers[i] is the number of item i
	texts   []string       // texts[n] is the encoding with number n
	marks   []int          // marks[n] is the mark that the encoder returned for text n
	firsts  []int          // firsts[n] is the first item with number n
	number  map[string]int // number[text] is the number of an encoding
}

// An encoder appends the encoding of item i to b and returns the result. mark is a position in the encoding that
// separates two parts of it, such as the amounts and the rest. It is stored in interner.marks.
type encoder func(b []byte, i int) (out []byte, mark int)

// perEncoder is the least number of items per goroutine of intern, if there is more than one goroutine. There are at most
// GOMAXPROCS goroutines.
const perEncoder = 500

// intern numbers n items. Goroutines share the work, each with its own encoder. The result does not depend on the number
// of goroutines.
func intern(n int, newEncoder func() encoder) *interner {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/perEncoder))
	all := make([]*interner, parts)
	numbers := make([]int, n)
	var done sync.WaitGroup
	for k := range all {
		from, to := k*n/parts, (k+1)*n/parts
		all[k] = &interner{numbers: numbers[from:to], number: make(map[string]int, (to-from)/4)}
		run := func() { all[k].encode(from, newEncoder()) }
		if k < parts-1 {
			done.Go(run)
		} else {
			run()
		}
	}
	done.Wait()
	first := all[0]
	for _, part := range all[1:] {
		first.merge(part)
	}
	first.numbers = numbers
	return first
}

// encode numbers the items of one goroutine. from is the index of the first of these items.
func (a *interner) encode(from int, encode encoder) {
	var b []byte
	var mark int
	for i := range a.numbers {
		b, mark = encode(b[:0], from+i)
		id, ok := a.number[string(b)]
		if !ok {
			id = a.add(string(b), mark, from+i)
		}
		a.numbers[i] = id
	}
}

// add adds a new encoding and returns its number. first is the first item with the encoding.
func (a *interner) add(text string, mark, first int) int {
	id := len(a.texts)
	a.number[text] = id
	a.texts, a.marks, a.firsts = append(a.texts, text), append(a.marks, mark), append(a.firsts, first)
	return id
}

// merge adds the encodings of part, whose items follow those of a. It replaces the numbers of part's items by those
// that a gives to their encodings.
func (a *interner) merge(part *interner) {
	renumbered := make([]int, len(part.texts))
	for old, text := range part.texts {
		id, ok := a.number[text]
		if !ok {
			id = a.add(text, part.marks[old], part.firsts[old])
		}
		renumbered[old] = id
	}
	for i, old := range part.numbers {
		part.numbers[i] = renumbered[old]
	}
}
