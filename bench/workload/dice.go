package workload

import "math/rand/v2"

// dice is the random number source of one generator.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// pick returns a random element of from, with equal probabilities.
func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }
