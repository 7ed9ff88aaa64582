package rawpods

// MostPods bounds the pods of one cluster, so that a plan takes milliseconds.
const MostPods = 12

// A Bytes is the input of a fuzz test. Each choice consumes a byte of it.
type Bytes struct{ rest []byte }

// From returns the Bytes of data.
func From(data []byte) *Bytes { return &Bytes{data} }

// Left reports whether there is input left.
func (b *Bytes) Left() bool { return len(b.rest) > 0 }

func (b *Bytes) next() byte {
	if len(b.rest) == 0 {
		return 0
	}
	c := b.rest[0]
	b.rest = b.rest[1:]
	return c
}

// below returns a number from 0 to n-1.
func (b *Bytes) below(n int) int { return int(b.next()) % n }

// flag returns true for one in n values of the next byte. For a byte of zero it returns false, if n is at least 2.
func (b *Bytes) flag(n int) bool { return b.next()%byte(n) == byte(n)-1 }

// Pick returns one of the values.
func Pick[T any](b *Bytes, values ...T) T { return values[b.below(len(values))] }

// some returns the values whose bit is set in the next byte.
func some[T any](b *Bytes, values ...T) []T {
	var out []T
	bits := b.next()
	for i, v := range values {
		if bits&(1<<i) != 0 {
			out = append(out, v)
		}
	}
	return out
}
