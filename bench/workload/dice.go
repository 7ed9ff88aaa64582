package workload

import "math/rand/v2"

// dice is the source of chance of one generator.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// pick returns one of from, each as likely as the others.
func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }
