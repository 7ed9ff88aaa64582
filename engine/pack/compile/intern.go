package compile

import "runtime"

// An interner groups items by their encoding and numbers the groups in order of first appearance.
type interner struct {
	numbers []int          // numbers[i] is the number of item i
	texts   []string       // texts[n] is the encoding with number n
	firsts  []int          // firsts[n] is the first item with number n
	number  map[string]int // number[text] is the number of an encoding
}

// perPart is the least number of items per goroutine of intern, if there is more than one goroutine. There are at most
// GOMAXPROCS goroutines.
const perPart = 500

// intern numbers n items. encode appends the encoding of an item to b. Goroutines share the work. The result does not
// depend on their number.
func intern(n int, encode func(b []byte, item int) []byte) *interner {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/perPart))
	all, waits := make([]*interner, parts), make([]func(), parts)
	numbers := make([]int, n)
	for k := range parts {
		from, to := k*n/parts, (k+1)*n/parts
		all[k] = &interner{numbers: numbers[from:to], number: make(map[string]int, (to-from)/4)}
		waits[k] = Async(func() { all[k].encode(from, encode) })
	}
	waits[0]()
	for k, part := range all[1:] {
		waits[k+1]()
		all[0].merge(part)
	}
	all[0].numbers = numbers
	return all[0]
}

// encode numbers the items of one goroutine. from is the index of the first of these items.
func (a *interner) encode(from int, encode func(b []byte, item int) []byte) {
	var b []byte
	for i := range a.numbers {
		b = encode(b[:0], from+i)
		id, ok := a.number[string(b)]
		if !ok {
			id = a.add(string(b), from+i)
		}
		a.numbers[i] = id
	}
}

// add adds a new encoding and returns its number. first is the first item with the encoding.
func (a *interner) add(text string, first int) int {
	id := len(a.texts)
	a.number[text] = id
	a.texts, a.firsts = append(a.texts, text), append(a.firsts, first)
	return id
}

// merge adds the encodings of part, whose items follow those of a. It replaces the numbers of part's items by those
// that a gives to their encodings.
func (a *interner) merge(part *interner) {
	renumbered := make([]int, len(part.texts))
	for old, text := range part.texts {
		id, ok := a.number[text]
		if !ok {
			id = a.add(text, part.firsts[old])
		}
		renumbered[old] = id
	}
	for i, old := range part.numbers {
		part.numbers[i] = renumbered[old]
	}
}
