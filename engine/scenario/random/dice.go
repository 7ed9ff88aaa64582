package random

import "math/rand/v2"

// dice are the source of random numbers for one cluster.
type dice struct{ *rand.Rand }

// roll returns the dice of a seed.
func roll(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))} }

// oneIn returns true with probability 1/n.
func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

// between returns an integer from low to high, both included.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

// pick returns one of the choices.
func pick[T any](d dice, choices ...T) T { return choices[d.IntN(len(choices))] }

// some returns a random non-empty subset of choices, in their order.
func some[T any](d dice, choices ...T) []T {
	var out []T
	for _, c := range choices {
		if d.oneIn(2) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = append(out, pick(d, choices...))
	}
	return out
}
