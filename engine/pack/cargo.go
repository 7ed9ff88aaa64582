package pack

import (
	"cmp"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A crate is a volume that several pods use, or a pod and a daemon: a node attaches it once, however many of them are there.
// Where pods have none, amounts say all; that is the usual case, and costs one look at the length of a list.
type crate struct {
	column, number int
	// part is how much of an attachment each of its pods stands for: no node attaches less for those of them that it has. 0 if a
	// daemon brings it to some nodes.
	part float64
}

// A cargo is crates, each once, in order.
type cargo []crate

func compareCrates(a, b crate) int {
	return cmp.Or(cmp.Compare(a.column, b.column), cmp.Compare(a.number, b.number))
}

// put writes which crates they are.
func (c cargo) put(b []byte) []byte {
	for _, x := range c {
		b = putInt(b, int64(x.number))
	}
	return b
}

// with returns the crates of both.
func (c cargo) with(o cargo) cargo {
	switch {
	case len(o) == 0:
		return c
	case len(c) == 0:
		return o
	}
	out := slices.Concat(c, o)
	slices.SortFunc(out, compareCrates)
	return slices.Compact(out)
}

// has reports whether all crates of o are in c.
func (c cargo) has(o cargo) bool {
	for _, x := range o {
		if _, ok := slices.BinarySearchFunc(c, x, compareCrates); !ok {
			return false
		}
	}
	return true
}

// beside returns the crates of c that are not in o.
func (c cargo) beside(o cargo) cargo {
	if len(c) == 0 || len(o) == 0 {
		return c
	}
	return slices.DeleteFunc(slices.Clone(c), func(x crate) bool { return o.has(cargo{x}) })
}

// take takes the room of every crate out of room, n times.
func (c cargo) take(room []int64, n int64) {
	for _, x := range c {
		room[x.column] -= n
	}
}

// fits reports whether room holds the crates beside need.
func (c cargo) fits(need, room []int64) bool {
	n := int64(0)
	for i, x := range c {
		if i > 0 && x.column != c[i-1].column {
			n = 0
		}
		if n++; need[x.column]+n > room[x.column] {
			return false
		}
	}
	return true
}

// carries reports whether the shape has room for the crates beside need.
func (sh *shape) carries(need []int64, c cargo) bool {
	return len(c) == 0 || c.beside(sh.aboard).fits(need, sh.room)
}

// holds reports whether the shape has room for need and the crates.
func (sh *shape) holds(need []int64, c cargo) bool {
	_, _, missing := short(need, sh.room)
	return !missing && sh.carries(need, c)
}

// copies returns how many pods with the need a node of the shape has room for, at most limit.
func (sh *shape) copies(n *need, limit int) int {
	return copiesBeside(n.amount, sh.room, n.cargo.beside(sh.aboard), limit)
}

// copiesBeside is copies where room must hold the crates, too.
func copiesBeside(need, room []int64, c cargo, limit int) int {
	if len(c) > 0 {
		room = slices.Clone(room)
		c.take(room, 1)
		if slices.ContainsFunc(c, func(x crate) bool { return room[x.column] < 0 }) {
			return 0
		}
	}
	return copies(need, room, limit)
}

// whole returns what one pod takes of a node that has nothing attached.
func (n *need) whole() []int64 {
	out := slices.Clone(n.amount)
	n.cargo.take(out, -1)
	return out
}

// A volumeKey names a volume.
type volumeKey struct{ driver, key string }

// volumesOf returns the volumes of the pod that a driver attaches, each once. Of a pod whose volumes cannot be followed that is
// not known, and it is refused for it.
func (p *problem) volumesOf(pod *model.Pod) []volumeKey {
	if len(pod.Object.Spec.Volumes) == 0 {
		return nil
	}
	volumes, _ := p.snapshot.VolumesOf(pod)
	var out []volumeKey
	for _, v := range volumes {
		if k := (volumeKey{v.Driver, v.Key}); v.Driver != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// share finds the crates among the volumes of pods and daemons. Users are how many pods have each.
func (p *problem) share(pods []*model.Pod, users map[volumeKey]int) {
	brought := map[volumeKey]bool{}
	for _, d := range p.snapshot.Daemons() {
		for _, v := range p.volumesOf(d.Pod) {
			brought[v] = true
		}
	}
	for _, pod := range pods {
		for _, v := range p.volumesOf(pod) {
			column, limited := p.attachAt[v.driver]
			if _, known := p.crates[v]; known || !limited || users[v] == 1 && !brought[v] {
				continue
			}
			x := crate{column: column, number: len(p.crates), part: 1 / float64(users[v])}
			if brought[v] {
				x.part = 0
			}
			if p.crates == nil {
				p.crates = map[volumeKey]crate{}
			}
			p.crates[v] = x
		}
	}
}
