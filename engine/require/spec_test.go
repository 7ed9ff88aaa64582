package require

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"pgregory.net/rapid"
)

func TestSpec(t *testing.T) {
	two := 2
	type spec = []apiv1.NodeSelectorRequirementWithMinValues
	for _, tt := range []struct {
		name string
		s    Set
		want spec
	}{
		{"nothing", Set{}, spec{}},
		{"sorted values", NewSet(New("k", In, "b", "a")), spec{{Key: "k", Operator: In, Values: []string{"a", "b"}}}},
		{"NotIn", NewSet(New("k", NotIn, "b", "a")), spec{{Key: "k", Operator: NotIn, Values: []string{"a", "b"}}}},
		{"Exists", NewSet(New("k", Exists)), spec{{Key: "k", Operator: Exists}}},
		{"DoesNotExist", NewSet(New("k", DoesNotExist)), spec{{Key: "k", Operator: DoesNotExist}}},
		{"a strict bound becomes an inclusive one", NewSet(New("k", Gt, "5")), spec{{Key: "k", Operator: Gte, Values: []string{"6"}}}},
		{"an upper bound", NewSet(New("k", Lt, "5")), spec{{Key: "k", Operator: Lte, Values: []string{"4"}}}},
		{
			"two bounds", NewSet(New("k", Gt, "5"), New("k", Lte, "9").WithMinValues(2)),
			spec{
				{Key: "k", Operator: Gte, Values: []string{"6"}, MinValues: &two},
				{Key: "k", Operator: Lte, Values: []string{"9"}},
			},
		},
		{
			"an exclusion within bounds", NewSet(New("k", Gte, "5"), New("k", NotIn, "7", "3")),
			spec{
				{Key: "k", Operator: Gte, Values: []string{"5"}},
				{Key: "k", Operator: NotIn, Values: []string{"7"}},
			},
		},
		{
			"an exclusion that insists", NewSet(New("k", Exists), New("k", NotIn, "7")),
			spec{{Key: "k", Operator: Exists}, {Key: "k", Operator: NotIn, Values: []string{"7"}}},
		},
		{"a contradiction", NewSet(New("k", In, "a"), New("k", In, "b")), spec{{Key: "k", Operator: In}}},
		{
			"keys in order, minValues carried", NewSet(New("z", Exists), New("a", In, "x", "y").WithMinValues(2)),
			spec{{Key: "a", Operator: In, Values: []string{"x", "y"}, MinValues: &two}, {Key: "z", Operator: Exists}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.s.Spec()); diff != "" {
				t.Errorf("Spec (-want +got):\n%s", diff)
			}
			if back := FromSpec(tt.s.Spec()); !back.Equal(tt.s) {
				t.Errorf("read back as %q, want %q", back, tt.s)
			}
		})
	}
}

func TestFromSpecReadsWhatSpecWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSet(t)
		if back := FromSpec(s.Spec()); !back.Equal(s) {
			t.Fatalf("%q read back as %q", s, back)
		}
	})
}
