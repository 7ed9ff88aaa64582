package literature

import "math/rand/v2"

// A Class is a random distribution of instances.
type Class struct {
	Name     string
	Capacity []int64
	item     func(r *rand.Rand) []int64
	// bin, if set, draws a set of items that fill a bin exactly, instead of one item.
	bin func(r *rand.Rand) [][]int64
}

// Classes are the measured classes.
var Classes = []Class{
	square("Caprara-Toth 1", 1000, 100, 400),
	square("Caprara-Toth 2", 1000, 1, 1000),
	square("Caprara-Toth 3", 1000, 200, 800),
	square("Caprara-Toth 4", 1000, 50, 200),
	square("Caprara-Toth 5", 1000, 25, 100),
	square("Caprara-Toth 6", 150, 20, 100),
	{Name: "Caprara-Toth 7", Capacity: []int64{150, 150}, item: func(r *rand.Rand) []int64 {
		w := between(r, 20, 100)
		return []int64{w, between(r, w-10, w+10)}
	}},
	{Name: "Caprara-Toth 8", Capacity: []int64{150, 150}, item: func(r *rand.Rand) []int64 {
		w := between(r, 20, 100)
		return []int64{w, between(r, 110-w, 130-w)}
	}},
	{Name: "Caprara-Toth 10", Capacity: []int64{100, 100}, bin: triplet},
	cube("uniform, 3 dimensions", 3, 10, 400),
	cube("uniform, 6 dimensions", 6, 10, 400),
	cube("uniform, 10 dimensions", 10, 10, 250),
	correlated("correlated, 3 dimensions", 3),
	correlated("correlated, 6 dimensions", 6),
}

func square(name string, capacity, lo, hi int64) Class {
	return Class{Name: name, Capacity: []int64{capacity, capacity}, item: func(r *rand.Rand) []int64 {
		return []int64{between(r, lo, hi), between(r, lo, hi)}
	}}
}

func cube(name string, dimensions int, lo, hi int64) Class {
	return Class{Name: name, Capacity: full(dimensions), item: func(r *rand.Rand) []int64 {
		out := make([]int64, dimensions)
		for d := range out {
			out[d] = between(r, lo, hi)
		}
		return out
	}}
}

// correlated returns a class of items with a random size. The demand in every dimension differs from the size by at
// most a quarter.
func correlated(name string, dimensions int) Class {
	return Class{Name: name, Capacity: full(dimensions), item: func(r *rand.Rand) []int64 {
		size := between(r, 20, 400)
		out := make([]int64, dimensions)
		for d := range out {
			out[d] = between(r, size*3/4, size*5/4)
		}
		return out
	}}
}

func full(dimensions int) []int64 {
	out := make([]int64, dimensions)
	for d := range out {
		out[d] = 1000
	}
	return out
}

// triplet returns three items that fill a bin in both dimensions.
func triplet(r *rand.Rand) [][]int64 {
	out := make([][]int64, 3)
	for range 2 {
		a := between(r, 25, 49)
		b := between(r, 25, min(49, 75-a))
		for i, v := range []int64{a, b, 100 - a - b} {
			out[i] = append(out[i], v)
		}
	}
	return out
}

func between(r *rand.Rand, lo, hi int64) int64 { return lo + r.Int64N(hi-lo+1) }

// Draw returns n items of the class.
func (c *Class) Draw(n int, seed uint64) [][]int64 {
	r := rand.New(rand.NewPCG(seed, 2001))
	var out [][]int64
	for len(out) < n {
		if c.bin != nil {
			out = append(out, c.bin(r)...)
		} else {
			out = append(out, c.item(r))
		}
	}
	return out[:n]
}
