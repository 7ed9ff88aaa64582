package require

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNew(t *testing.T) {
	const maxInt, minInt = "9223372036854775807", "-9223372036854775808"
	for _, tt := range []struct {
		name   string
		op     Operator
		values []string

		want   string // String of the result
		wantOp Operator
		has    []string
		hasNot []string
		absent bool
		len    int
		any    string // the result of Any; empty if ok is false
	}{
		{
			name: "In is the listed set", op: In, values: []string{"b", "a", "b"},
			want: "k in [a, b]", wantOp: In, has: []string{"a", "b"}, hasNot: []string{"c", ""},
			len: 2, any: "a",
		},
		{
			name: "In of nothing is a contradiction", op: In,
			want: "k impossible", wantOp: In, hasNot: []string{"a"},
		},
		{
			name: "NotIn is all but the listed, and absence", op: NotIn, values: []string{"b", "a"},
			want: "k not in [a, b]", wantOp: NotIn, has: []string{"c", ""}, hasNot: []string{"a", "b"},
			absent: true, len: math.MaxInt64 - 2, any: "0",
		},
		{
			name: "NotIn of nothing is everything", op: NotIn,
			want: "k anything", wantOp: NotIn, has: []string{"a"}, absent: true, len: math.MaxInt64, any: "0",
		},
		{
			name: "Exists is every value", op: Exists, values: []string{"ignored"},
			want: "k present", wantOp: Exists, has: []string{"a", "ignored", ""}, len: math.MaxInt64, any: "0",
		},
		{
			name: "DoesNotExist is absence alone", op: DoesNotExist, values: []string{"ignored"},
			want: "k absent", wantOp: DoesNotExist, hasNot: []string{"a", "ignored", ""}, absent: true,
		},
		{
			name: "Gt N is at least N+1", op: Gt, values: []string{"5"},
			want: "k >= 6", wantOp: Gte, has: []string{"6", "06", maxInt}, hasNot: []string{"5", "a", "", "6.0", "7x"},
			len: math.MaxInt64, any: "6",
		},
		{
			name: "Gte N is at least N", op: Gte, values: []string{"5"},
			want: "k >= 5", wantOp: Gte, has: []string{"5"}, hasNot: []string{"4", "9223372036854775808"},
			len: math.MaxInt64, any: "5",
		},
		{
			name: "Lt N is at most N-1", op: Lt, values: []string{"5"},
			want: "k <= 4", wantOp: Lte, has: []string{"4", "0", "-1", minInt}, hasNot: []string{"5", "a", "-", "+"},
			len: math.MaxInt64, any: "0",
		},
		{
			name: "Lte N is at most N", op: Lte, values: []string{"5"},
			want: "k <= 5", wantOp: Lte, has: []string{"5", "+5"}, hasNot: []string{"6"},
			len: math.MaxInt64, any: "0",
		},
		{
			name: "Lt zero admits nothing, as no label value is negative", op: Lt, values: []string{"0"},
			want: "k impossible", wantOp: In, hasNot: []string{"-1", "0", "a"},
		},
		{
			name: "Lte a negative integer admits nothing", op: Lte, values: []string{"-3"},
			want: "k impossible", wantOp: In, hasNot: []string{"-3", "-4", "-2", "0"},
		},
		{
			name: "Lt one admits zero", op: Lt, values: []string{"1"},
			want: "k <= 0", wantOp: Lte, has: []string{"0"}, hasNot: []string{"1"}, len: math.MaxInt64, any: "0",
		},
		{
			name: "Gt the largest integer admits nothing", op: Gt, values: []string{maxInt},
			want: "k impossible", wantOp: In, hasNot: []string{maxInt},
		},
		{
			name: "Lt the smallest integer admits nothing", op: Lt, values: []string{minInt},
			want: "k impossible", wantOp: In, hasNot: []string{minInt},
		},
		{
			name: "Gte the largest integer admits it", op: Gte, values: []string{maxInt},
			want: "k >= " + maxInt, wantOp: Gte, has: []string{maxInt}, len: math.MaxInt64, any: maxInt,
		},
		{name: "a bound that is no integer admits nothing", op: Gt, values: []string{"five"}, want: "k impossible", wantOp: In, hasNot: []string{"six", "6"}},
		{name: "two bounds in one admit nothing", op: Lt, values: []string{"5", "6"}, want: "k impossible", wantOp: In, hasNot: []string{"4"}},
		{name: "no bound admits nothing", op: Lte, want: "k impossible", wantOp: In, hasNot: []string{"4"}},
		{name: "an unknown operator admits nothing", op: "Near", values: []string{"a"}, want: "k impossible", wantOp: In, hasNot: []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := New("k", tt.op, tt.values...)
			if r.String() != tt.want || r.Operator() != tt.wantOp {
				t.Errorf("got %q with operator %s, want %q with %s", r, r.Operator(), tt.want, tt.wantOp)
			}
			for _, v := range tt.has {
				if !r.Has(v) {
					t.Errorf("Has(%q) = false", v)
				}
			}
			for _, v := range tt.hasNot {
				if r.Has(v) {
					t.Errorf("Has(%q) = true", v)
				}
			}
			if r.MayBeAbsent() != tt.absent {
				t.Errorf("MayBeAbsent = %v", r.MayBeAbsent())
			}
			if r.Len() != tt.len || r.Empty() != (tt.len == 0) {
				t.Errorf("Len = %d, Empty = %v, want %d", r.Len(), r.Empty(), tt.len)
			}
			if got, ok := r.Any(); got != tt.any || ok != (tt.len > 0) {
				t.Errorf("Any = %q, %v, want %q", got, ok, tt.any)
			}
		})
	}
}

func TestIntersect(t *testing.T) {
	in := func(v ...string) Requirement { return New("k", In, v...) }
	notIn := func(v ...string) Requirement { return New("k", NotIn, v...) }
	gte := func(n int) Requirement { return New("k", Gte, strconv.Itoa(n)) }
	lte := func(n int) Requirement { return New("k", Lte, strconv.Itoa(n)) }
	for _, tt := range []struct {
		name string
		a, b Requirement
		want string
	}{
		{"lists meet", in("a", "b", "c"), in("b", "c", "d"), "k in [b, c]"},
		{"lists that do not meet contradict", in("a"), in("b"), "k impossible"},
		{"an exclusion is taken off a list", in("a", "b"), notIn("b"), "k in [a]"},
		{"a list excluded whole contradicts", in("a", "b"), notIn("a", "b", "c"), "k impossible"},
		{"a list exists", in("a"), New("k", Exists), "k in [a]"},
		{"a list is never absent", in("a"), New("k", DoesNotExist), "k impossible"},
		{"exclusions add up", notIn("c", "a"), notIn("b", "c"), "k not in [a, b, c]"},
		{"an exclusion may be absent", notIn("a"), New("k", DoesNotExist), "k absent"},
		{"Exists insists on the label", notIn("a"), New("k", Exists), "k present and not in [a]"},
		{"present and absent contradict", New("k", Exists), New("k", DoesNotExist), "k impossible"},
		{"the larger lower bound holds", gte(3), gte(5), "k >= 5"},
		{"the smaller upper bound holds", lte(3), lte(5), "k <= 3"},
		{"bounds make an interval", gte(3), lte(5), "k >= 3 and <= 5"},
		{"bounds may touch", gte(5), lte(5), "k >= 5 and <= 5"},
		{"crossing bounds contradict", gte(6), lte(5), "k impossible"},
		{"a bound drops what lies outside a list", in("3", "05", "7", "a", "5.5"), gte(5), "k in [05, 7]"},
		{"bounds are dropped once the set is a list", in("5", "7"), gte(5).Intersect(lte(6)), "k in [5]"},
		{"exclusions outside the bounds are dropped", notIn("a", "3", "7"), gte(5), "k >= 5 and not in [7]"},
		{"a later bound drops earlier exclusions", notIn("7").Intersect(gte(5)), lte(6), "k >= 5 and <= 6"},
		{"a bounded label must be there", gte(5), New("k", DoesNotExist), "k impossible"},
		{"the larger minValues holds", in("a", "b").WithMinValues(2), in("a", "b", "c").WithMinValues(1), "k in [a, b] (at least 2 of them)"},
		{"minValues outlive the values", in("a").WithMinValues(2), in("b"), "k impossible (at least 2 of them)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, back := tt.a.Intersect(tt.b), tt.b.Intersect(tt.a)
			if got.String() != tt.want {
				t.Errorf("%q and %q = %q, want %q", tt.a, tt.b, got, tt.want)
			}
			if !got.Equal(back) {
				t.Errorf("%q and %q = %q the other way round", tt.b, tt.a, back)
			}
		})
	}
}

func TestContradictionIsNotAbsence(t *testing.T) {
	crossed := New("k", Gte, "6").Intersect(New("k", Lte, "5"))
	if crossed.Equal(New("k", DoesNotExist)) || crossed.MayBeAbsent() {
		t.Errorf("crossed bounds admit a node without the label: %q", crossed)
	}
	if !crossed.Empty() || crossed.Len() != 0 {
		t.Errorf("crossed bounds admit values: %q", crossed)
	}
	if !crossed.bounds.none() {
		t.Error("crossed bounds are still there")
	}
}

func TestAnyAvoidsExclusions(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    Requirement
		want string
	}{
		{"the next free integer", New("k", NotIn, "0", "1", "3"), "2"},
		{"the next free integer within bounds", New("k", Gte, "5").Intersect(New("k", NotIn, "5", "6")), "7"},
		{"zero before what is negative", New("k", Gte, "-5"), "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := tt.r.Any(); !ok || got != tt.want {
				t.Errorf("Any of %q = %q, %v, want %q", tt.r, got, ok, tt.want)
			}
		})
	}
	for _, full := range []Set{
		NewSet(New("k", Gte, "5"), New("k", Lte, "6"), New("k", NotIn, "5", "6")),
		NewSet(New("k", Gte, "9223372036854775807"), New("k", NotIn, "9223372036854775807")),
	} {
		if got, ok := full.reqs[0].Any(); ok {
			t.Errorf("Any of %q = %q, although each integer within the bounds is excluded", full, got)
		}
	}
}

func TestRequirementIsAValue(t *testing.T) {
	mine := []string{"b", "a"}
	r := New("k", In, mine...)
	mine[0] = "z"
	r.Values()[0] = "y"
	if r.WithMinValues(3).MinValues() != 3 || r.MinValues() != 0 {
		t.Error("WithMinValues changed its receiver or did nothing")
	}
	if r.WithMinValues(-1).MinValues() != 0 {
		t.Error("minValues below zero was kept")
	}
	if diff := cmp.Diff([]string{"a", "b"}, r.Values()); diff != "" {
		t.Errorf("values changed from outside (-want +got):\n%s", diff)
	}

	// If an intersection shares memory with its operands, callers must not be able to write to that memory.
	both := r.Intersect(New("k", Exists))
	both.Values()[0] = "x"
	if diff := cmp.Diff([]string{"a", "b"}, r.Values()); diff != "" {
		t.Errorf("values changed through an intersection (-want +got):\n%s", diff)
	}
}

func TestLongListsAreCutShort(t *testing.T) {
	var values []string
	for i := range 15 {
		values = append(values, string(rune('a'+i)))
	}
	want := "k in [a, b, c, d, e, f, g, h, i, j, k, l and 3 more]"
	if got := New("k", In, values...).String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The empty string is a value. A missing label does not have that value.
func TestEmptyValue(t *testing.T) {
	in, notIn := New("k", In, ""), New("k", NotIn, "")
	for _, tt := range []struct {
		name string
		r    Requirement
		has  bool
		text string
	}{
		{"in", in, true, `k in [""]`},
		{"in with another", New("k", In, "x", ""), true, `k in ["", x]`},
		{"not in", notIn, false, `k not in [""]`},
		{"exists", New("k", Exists), true, "k present"},
		{"absent", New("k", DoesNotExist), false, "k absent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.r.Has("") != tt.has || tt.r.Overlaps(in) != tt.has {
				t.Errorf("admits the empty value: %v, overlaps: %v, want %v", tt.r.Has(""), tt.r.Overlaps(in), tt.has)
			}
			if tt.r.String() != tt.text {
				t.Errorf("text %q, want %q", tt.r, tt.text)
			}
		})
	}
	if both := in.Intersect(notIn); !both.Empty() || both.MayBeAbsent() {
		t.Errorf("in and not in: %s", both)
	}
	if v, ok := NewSet(in).Labels()["k"]; !ok || v != "" {
		t.Errorf("label %q, %v, want the empty value", v, ok)
	}
	if got := FromSpec(NewSet(in).Spec()); !got.Equal(NewSet(in)) {
		t.Errorf("through a claim: %s", got)
	}
}

func TestZeroRequirementAdmitsNothing(t *testing.T) {
	var r Requirement
	if !r.Empty() || r.MayBeAbsent() || r.Has("") || r.Key() != "" {
		t.Errorf("zero requirement: %q", r)
	}
}

func TestOverlapsAndHasDoNotAllocate(t *testing.T) {
	few, many := New("k", In, "x", "y"), New("k", In, letters(200)...)
	for name, f := range map[string]func(){
		"Has":               func() { many.Has("v100") },
		"Has within bounds": func() { gen.Has("7"); gen.Has("large") },
		"Overlaps":          func() { few.Overlaps(many) },
		"Overlaps open":     func() { few.Overlaps(gen) },
		"Intersect with a superset": func() {
			superset.Intersect(few)
		},
	} {
		if n := testing.AllocsPerRun(10, f); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

var (
	gen      = New("k", Gte, "5")
	superset = New("k", In, "w", "x", "y", "z")
)

// letters returns n values v0, v1 and so on.
func letters(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = "v" + strconv.Itoa(i)
	}
	return values
}
