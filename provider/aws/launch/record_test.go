package launch

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func TestRecord(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	r := newRecord([]types.UID{"b", "a"}, 2, "p", now)
	if again := newRecord([]types.UID{"a", "b"}, 2, "p", now.Add(time.Hour)); again.Token != r.Token {
		t.Error("the token depends on order or time")
	}
	for what, other := range map[string]Record{
		"claims": newRecord([]types.UID{"a"}, 2, "p", now), "attempt": newRecord([]types.UID{"a", "b"}, 3, "p", now),
		"parameters": newRecord([]types.UID{"a", "b"}, 2, "q", now),
	} {
		if other.Token == r.Token {
			t.Errorf("other %s, same token", what)
		}
	}
	claim := &apiv1.NodeClaim{}
	if _, ok := RecordOf(claim); ok {
		t.Error("a claim without annotation has a record")
	}
	claim.Annotations = map[string]string{AnnotationLaunch: r.String()}
	if got, ok := RecordOf(claim); !ok || got != r {
		t.Errorf("read back %+v, want %+v", got, r)
	}
	claim.Annotations[AnnotationLaunch] = "something else"
	if _, ok := RecordOf(claim); ok {
		t.Error("nonsense was read as a record")
	}
}

// assign does not depend on the order of claims and instances, nor on how many claims have recorded theirs. It assigns no
// instance to two claims. No instance stays unassigned while a claim has none.
func TestAssignIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(0, 8).Draw(t, "claims"), rapid.IntRange(0, 8).Draw(t, "instances")
		var claims []callClaim
		for i := range n {
			claims = append(claims, callClaim{UID: types.UID(fmt.Sprintf("uid-%d", i))})
		}
		var ids []string
		for i := range m {
			ids = append(ids, fmt.Sprintf("i-%d", i))
		}
		first := assign(claims, ids)
		if len(first) != min(n, m) {
			t.Fatalf("%d of %d claims got one of %d instances", len(first), n, m)
		}
		if given := slices.Sorted(maps.Values(first)); len(slices.Compact(given)) != len(first) {
			t.Fatalf("an instance was given twice: %v", first)
		}
		var later []callClaim
		for _, c := range rapid.Permutation(claims).Draw(t, "order") {
			if rapid.Bool().Draw(t, "noted") {
				c.Instance = first[c.UID]
			}
			later = append(later, c)
		}
		if diff := cmp.Diff(first, assign(later, rapid.Permutation(ids).Draw(t, "ids"))); diff != "" {
			t.Fatalf("(-first +later)\n%s", diff)
		}
	})
}
