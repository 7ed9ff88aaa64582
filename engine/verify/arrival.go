package verify

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// looks is how many times a search for an order of arrival asks whether somebody may have come last. One that would ask more is
// given up, and finds nothing wrong.
const looks = 200_000

// A tally counts the pods of a constraint while pods come and go, by domain.
type tally struct {
	*constraint
	index map[string]int // of each domain in the lists
	// here is how many pods there may be, sure how many of them there are for certain: negative in domains that do not count.
	here, sure []int
	// few says that there are too few domains, so that the emptiest is taken to be empty; bound how many are there that the
	// constraint binds.
	few   bool
	bound int
}

// A seat is a domain of a tally, and whether a pod that comes there is certain to.
type seat struct {
	*tally
	at   int
	sure bool
}

// An arrival is pods of one kind that come to one node.
type arrival struct {
	group *group
	own   []seat // where they must find it level
	adds  []seat // where they are counted
	there int
}

// arrivals checks that pods that must be spread can come in some order, each where it may, if several constraints have a say: for
// each of them alone there is one, but it may demand that a pod comes before another which a second one demands to come first.
func (c *checker) arrivals(cr *crowd) {
	for _, n := range c.knots(cr) {
		all := c.arrivalsOf(cr, n)
		if c.comeInOrder(all) {
			continue
		}
		for _, a := range all {
			a.move(len(a.group.come) - a.there)
		}
		for _, a := range stuck(all) {
			for _, p := range a.group.come {
				c.add(Violation{Rule: RuleSpread, Node: a.group.site.name, Pod: nameOfPod(p),
					Detail: "its constraints and those of others each want it to come before or after the rest, and no order does for all"})
			}
		}
	}
}

// comeInOrder lets the pods come as the plan says, and reports whether each finds it level.
func (c *checker) comeInOrder(all []*arrival) bool {
	of := make(map[*corev1.Pod]*arrival)
	left := 0
	for _, a := range all {
		left += len(a.group.come)
		for _, p := range a.group.come {
			of[p] = a
		}
	}
	for _, p := range c.plan.Order {
		a := of[p.Object]
		if a == nil {
			continue
		}
		a.move(1)
		if !a.level() {
			return false
		}
		left--
	}
	return left == 0
}

// stuck takes pods away, each of which may have been the last to come, until none are left or none of them may. It returns those
// who may not. Those go first who leave no domain emptier than all others; else who are in the way of the fewest.
func stuck(all []*arrival) []*arrival {
	asked := 0
	may := func(a *arrival) bool { asked++; return a.there > 0 && a.level() }
	held := func() (out []*arrival) {
		for _, a := range all {
			if a.there > 0 && !may(a) {
				out = append(out, a)
			}
		}
		return out
	}
	for asked < looks {
		var last *arrival
		fewest, moved := math.MaxInt, false
		for _, a := range all {
			for may(a) && !a.lowers() {
				a.move(-1)
				moved = true
			}
		}
		if moved {
			continue
		}
		for _, a := range all {
			if fewest == 0 || !may(a) {
				continue
			}
			a.move(-1)
			if n := len(held()); n < fewest {
				last, fewest = a, n
			}
			a.move(1)
		}
		if last == nil {
			return held()
		}
		last.move(-1)
	}
	return nil
}

// move has n pods more come; or fewer, if it is negative.
func (a *arrival) move(n int) {
	a.there += n
	for _, s := range a.own {
		s.bound += n
	}
	for _, s := range a.adds {
		s.here[s.at] += n
		if s.sure {
			s.tally.sure[s.at] += n
		}
	}
}

// level reports whether the pods that are there are no more above the emptiest domain than they may be, wherever their node is.
func (a *arrival) level() bool {
	for _, s := range a.own {
		if n := s.here[s.at]; n-s.least(s.at) > s.maxSkew {
			return false
		}
	}
	return true
}

// lowers reports whether the emptiest domain of a constraint that binds any that are there would be emptier by one without one of
// the pods.
func (a *arrival) lowers() bool {
	for _, s := range a.adds {
		if s.sure && s.bound > 0 && s.tally.sure[s.at] <= s.least(s.at) {
			return true
		}
	}
	return false
}

// least is how many pods the emptiest of the domains but one holds.
func (t *tally) least(but int) int {
	if t.few {
		return 0
	}
	least := math.MaxInt
	for i, n := range t.sure {
		if i != but && n >= 0 {
			least = min(least, n)
		}
	}
	return least
}
