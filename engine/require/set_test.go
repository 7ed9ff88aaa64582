package require

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"
)

func TestSet(t *testing.T) {
	s := NewSet(
		New("zone", In, "b", "a"),
		New("arch", In, "amd64"),
		New("gen", Gt, "5"),
		New("zone", NotIn, "a"),
	)
	if diff := cmp.Diff([]string{"arch", "gen", "zone"}, s.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if want := "arch in [amd64]; gen >= 6; zone in [b]"; s.String() != want || s.Len() != 3 {
		t.Errorf("got %q, want %q", s, want)
	}
	if diff := cmp.Diff(map[string]string{"arch": "amd64", "zone": "b"}, s.Labels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if r, ok := s.Get("gen"); !ok || !r.Equal(New("gen", Gte, "6")) {
		t.Errorf("Get(gen) = %q, %v", r, ok)
	}
	if r, ok := s.Get("team"); ok || !r.Empty() || s.Has("team") || !s.Has("arch") {
		t.Errorf("Get(team) = %q, %v", r, ok)
	}
	if got := s.Without("gen", "team", "arch"); got.String() != "zone in [b]" {
		t.Errorf("Without = %q", got)
	}
	if got := s.With(New("zone", In, "a"), New("team", Exists)); got.String() !=
		"arch in [amd64]; gen >= 6; team present; zone impossible" {
		t.Errorf("With = %q", got)
	}
	if s.Len() != 3 {
		t.Errorf("With or Without changed its receiver: %q", s)
	}
	var empty Set
	if !empty.And(s).Equal(s) || !s.And(empty).Equal(s) || !empty.Equal(NewSet()) || empty.Has("zone") {
		t.Error("the zero set is not neutral")
	}
}

func TestNewSetLeavesItsArgumentsAlone(t *testing.T) {
	rs := []Requirement{New("b", Exists), New("a", Exists)}
	NewSet(rs...)
	if rs[0].Key() != "b" {
		t.Error("NewSet sorted the slice of its caller")
	}
}

func TestLabelsAreThoseWithoutChoice(t *testing.T) {
	s := NewSet(
		New("one", In, "x"), New("two", In, "x", "y"), New("gone", DoesNotExist), New("never", In),
		New("open", Exists), New("not", NotIn, "x"), New("five", Gte, "5"), New("five", Lte, "5"),
	)
	if diff := cmp.Diff(map[string]string{"one": "x"}, s.Labels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestNormalize(t *testing.T) {
	aliases := map[string]string{
		corev1.LabelFailureDomainBetaZone: corev1.LabelTopologyZone,
		corev1.LabelInstanceType:          corev1.LabelInstanceTypeStable,
	}
	s := NewSet(
		New(corev1.LabelFailureDomainBetaZone, In, "a", "b").WithMinValues(2),
		New(corev1.LabelTopologyZone, NotIn, "a"),
		New("team", Exists),
	)
	want := NewSet(New(corev1.LabelTopologyZone, In, "b").WithMinValues(2), New("team", Exists))
	if got := s.Normalize(aliases); !got.Equal(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := want.Normalize(aliases); !got.Equal(want) {
		t.Errorf("stable names changed to %q", got)
	}
	if got := Normalize(corev1.LabelInstanceType, aliases); got != corev1.LabelInstanceTypeStable {
		t.Errorf("Normalize = %q", got)
	}
	if got := Normalize("team", nil); got != "team" {
		t.Errorf("Normalize = %q", got)
	}
}

var someKeys = []string{"arch", "team", "zone"}

func drawSet(t *rapid.T) Set {
	rs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Requirement {
		s := drawStated(t)
		return New(rapid.SampledFrom(someKeys).Draw(t, "key"), s.op, s.values...).
			WithMinValues(rapid.IntRange(0, 2).Draw(t, "minValues"))
	}), 0, 5).Draw(t, "requirements")
	return NewSet(rs...)
}

func TestAndLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawSet(t), drawSet(t), drawSet(t)
		if !a.And(b).Equal(b.And(a)) {
			t.Fatalf("not commutative: %q, %q", a, b)
		}
		if !a.And(b).And(c).Equal(a.And(b.And(c))) {
			t.Fatalf("not associative: %q, %q, %q", a, b, c)
		}
		if !a.And(a).Equal(a) {
			t.Fatalf("not idempotent: %q", a)
		}
		if both := NewSet(append(slices.Collect(a.All()), slices.Collect(b.All())...)...); !both.Equal(a.And(b)) {
			t.Fatalf("NewSet of both is %q, And is %q", both, a.And(b))
		}
		if !slices.IsSorted(a.And(b).Keys()) {
			t.Fatalf("keys out of order: %q", a.And(b).Keys())
		}
	})
}

// A set of labels is compatible with a node selector term exactly if the helper of kube-scheduler matches a node with these
// labels.
func TestCompatibleAgreesWithTheScheduler(t *testing.T) {
	operators := []Operator{In, NotIn, Exists, DoesNotExist, Gt, Lt}
	// The scheduler's helper rejects values that no label can have.
	values := []string{"a", "b", "large", "0", "3", "03", "5", "05", "6", "7", "12"}
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.MapOfN(rapid.SampledFrom(someKeys), rapid.SampledFrom(values), 0, 3).Draw(t, "labels")
		term := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.NodeSelectorRequirement {
			r := corev1.NodeSelectorRequirement{
				Key:      rapid.SampledFrom(someKeys).Draw(t, "key"),
				Operator: rapid.SampledFrom(operators).Draw(t, "op"),
			}
			switch r.Operator {
			case In, NotIn:
				r.Values = rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(t, "values")
			case Gt, Lt:
				r.Values = []string{rapid.SampledFrom([]string{"0", "3", "5", "6"}).Draw(t, "bound")}
			}
			return r
		}), 1, 4).Draw(t, "term")

		selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: term}},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := selector.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
		conflict, got := FromLabels(labels).Compatible(FromSelector(term), nil)
		if got != want {
			t.Fatalf("labels %v and %q: compatible %v, the scheduler says %v (%s)",
				labels, FromSelector(term), got, want, conflict)
		}
	})
}

// Two sets intersect exactly if, for each key that both constrain, their intersection is no contradiction.
func TestIntersectsIsWhatAndLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSet(t), drawSet(t)
		var first string
		for r := range a.And(b).All() {
			if a.Has(r.Key()) && b.Has(r.Key()) && r.Empty() && !r.MayBeAbsent() {
				first = r.Key()
				break
			}
		}
		conflict, ok := a.Intersects(b)
		if ok != (first == "") || conflict.Key != first {
			t.Fatalf("%q intersects %q: %v on %q, want conflict on %q", a, b, ok, conflict.Key, first)
		}
		back, same := b.Intersects(a)
		if same != ok || back.Key != conflict.Key {
			t.Fatalf("%q and %q intersect one way only", a, b)
		}
	})
}
