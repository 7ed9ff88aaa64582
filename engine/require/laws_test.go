package require

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// world is the set of all values in the tests: words, integers in the forms that label values have, and integers that do not
// fit into an int64. The absence of the label is one more member.
var world = []string{"", "a", "b", "large", "-7", "-1", "0", "3", "03", "5", "05", "6", "7", "12", "+6",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "5.0"}

// A member of the world is a value, or the label's absence.
type member struct {
	value  string
	absent bool
}

// A stated requirement is an operator with its values, as a user writes it.
type stated struct {
	op     Operator
	values []string
}

func (s stated) requirement() Requirement { return New("k", s.op, s.values...) }

// admits defines each operator directly, one value at a time. Requirement is compared with it.
func (s stated) admits(m member) bool {
	listed := !m.absent && slices.Contains(s.values, m.value)
	switch s.op {
	case In:
		return listed
	case NotIn:
		return !listed
	case Exists:
		return !m.absent
	case DoesNotExist:
		return m.absent
	}
	if m.absent || len(s.values) != 1 {
		return false
	}
	have, err := strconv.ParseInt(m.value, 10, 64)
	if err != nil {
		return false
	}
	want, err := strconv.ParseInt(s.values[0], 10, 64)
	if err != nil {
		return false
	}
	switch s.op {
	case Gt:
		return have > want
	case Gte:
		return have >= want
	case Lt: // no label value is negative
		return have < want && want > 0
	case Lte:
		return have <= want && want >= 0
	}
	return false
}

// drawStated draws any requirement over the world, also an invalid one.
func drawStated(t *rapid.T) stated {
	op := rapid.SampledFrom([]Operator{In, NotIn, Exists, DoesNotExist, Gt, Gte, Lt, Lte}).Draw(t, "op")
	most := 4
	if op == Gt || op == Gte || op == Lt || op == Lte {
		most = 1
	}
	return stated{op, rapid.SliceOfN(rapid.SampledFrom(world), 0, most).Draw(t, "values")}
}

// drawRequirement draws the intersection of one to three stated requirements, so that every form of Requirement occurs.
func drawRequirement(t *rapid.T) Requirement {
	r := drawStated(t).requirement().WithMinValues(rapid.IntRange(0, 3).Draw(t, "minValues"))
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		r = r.Intersect(drawStated(t).requirement())
	}
	return r
}

func admits(r Requirement, m member) bool {
	if m.absent {
		return r.MayBeAbsent()
	}
	return r.Has(m.value)
}

func members() []member {
	ms := []member{{absent: true}}
	for _, v := range world {
		ms = append(ms, member{value: v})
	}
	return ms
}

// The intersection of any number of requirements, in any order, admits exactly what all of them admit.
func TestIntersectionIsSetIntersection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(drawStated), 1, 5).Draw(t, "statements")
		r := all[0].requirement()
		for _, s := range all[1:] {
			r = r.Intersect(s.requirement())
		}
		for _, m := range members() {
			want := !slices.ContainsFunc(all, func(s stated) bool { return !s.admits(m) })
			if got := admits(r, m); got != want {
				t.Fatalf("%q admits %+v: %v, want %v", r, m, got, want)
			}
		}

		shuffled := rapid.Permutation(all).Draw(t, "shuffled")
		back := shuffled[0].requirement()
		for _, s := range shuffled[1:] {
			back = back.Intersect(s.requirement())
		}
		if !back.Equal(r) {
			t.Fatalf("%q in another order is %q", r, back)
		}
	})
}

func TestIntersectLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawRequirement(t), drawRequirement(t), drawRequirement(t)
		if ab, ba := a.Intersect(b), b.Intersect(a); !ab.Equal(ba) {
			t.Fatalf("not commutative: %q, %q", ab, ba)
		}
		if l, r := a.Intersect(b).Intersect(c), a.Intersect(b.Intersect(c)); !l.Equal(r) {
			t.Fatalf("not associative: %q, %q", l, r)
		}
		if aa := a.Intersect(a); !aa.Equal(a) {
			t.Fatalf("not idempotent: %q, then %q", a, aa)
		}
		if got, want := a.Overlaps(b), !a.Intersect(b).Empty(); got != want {
			t.Fatalf("%q overlaps %q: %v, but together they are %q", a, b, got, a.Intersect(b))
		}
		// With bounds, excluded values outside them are dropped, which changes Len. So Len is compared only without bounds.
		if a.Intersect(b).bounds.none() && a.Intersect(b).Len() > min(a.Len(), b.Len()) {
			t.Fatalf("%q and %q grew to %q", a, b, a.Intersect(b))
		}
		anything := New("k", NotIn)
		if got := a.Intersect(anything); !got.Equal(a) {
			t.Fatalf("%q and anything is %q", a, got)
		}
	})
}

func TestAnyIsAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequirement(t)
		v, ok := r.Any()
		if full := r.bounds.hasLte && len(r.values) > 0; ok == r.Empty() && !full || ok && r.Empty() || r.Empty() != (r.Len() == 0) {
			t.Fatalf("Any of %q = %q, %v; Len %d, Empty %v", r, v, ok, r.Len(), r.Empty())
		}
		if ok && !r.Has(v) {
			t.Fatalf("Any of %q is %q, which it does not admit", r, v)
		}
	})
}

func TestValuesAreSortedAndDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequirement(t)
		values := r.Values()
		if !slices.IsSorted(values) || len(slices.Compact(slices.Clone(values))) != len(values) {
			t.Fatalf("%q lists %q", r, values)
		}
		if !slices.Equal(values, slices.Collect(r.Each())) {
			t.Fatalf("Each and Values of %q differ", r)
		}
	})
}

// Long lists of values use other code than short ones. The results must be the same.
func TestLongLists(t *testing.T) {
	pool := letters(60)
	drawLong := func(t *rapid.T) Requirement {
		op := rapid.SampledFrom([]Operator{In, NotIn}).Draw(t, "op")
		return New("k", op, rapid.SliceOfN(rapid.SampledFrom(pool), 0, 60).Draw(t, "values")...)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawLong(t), drawLong(t)
		both, found := a.Intersect(b), false
		for _, v := range pool {
			want := slices.Contains(a.Values(), v) != (a.Operator() == NotIn) &&
				slices.Contains(b.Values(), v) != (b.Operator() == NotIn)
			if both.Has(v) != want {
				t.Fatalf("%q and %q: Has(%q) = %v", a, b, v, !want)
			}
			found = found || want
		}
		open := a.Operator() == NotIn && b.Operator() == NotIn
		if got := a.Overlaps(b); got != (found || open) || got != b.Overlaps(a) {
			t.Fatalf("%q overlaps %q: %v", a, b, got)
		}
	})
}
