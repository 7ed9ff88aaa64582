package status_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// The replacements of a hundred claims of equal age start at different times. These times are spread over a tenth of
// expireAfter, at most six hours: no tenth of that range has more than a quarter of them. Each replacement starts before the
// expiry by at least the lead: a quarter of expireAfter, at most fifteen minutes. A second call returns the same time.
func TestExpiryIsSpread(t *testing.T) {
	for life, want := range map[time.Duration]struct{ lead, spread time.Duration }{
		20 * time.Minute: {5 * time.Minute, 2 * time.Minute},
		10 * time.Hour:   {15 * time.Minute, time.Hour},
		720 * time.Hour:  {15 * time.Minute, 6 * time.Hour},
	} {
		parts := map[int]int{}
		for i := range 100 {
			c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
				UID: types.UID(fmt.Sprintf("uid-%d", i)), CreationTimestamp: metav1.Time{Time: scenario.Epoch()},
			}}
			c.Spec.ExpireAfter = apiv1.NillableDuration{Duration: &life}
			at, ok := status.ReplaceAt(c)
			early := scenario.Epoch().Add(life - want.lead).Sub(at)
			if !ok || early < 0 || early >= want.spread {
				t.Errorf("of a life of %v claim %d begins %v before its lead, want less than %v", life, i, early, want.spread)
			}
			if again, _ := status.ReplaceAt(c.DeepCopy()); again != at {
				t.Errorf("asked again claim %d begins at %v, not at %v", i, again, at)
			}
			parts[int(10*early/want.spread)]++
		}
		for part, n := range parts {
			if n > 25 {
				t.Errorf("of a life of %v %d claims of 100 begin in part %d of ten", life, n, part)
			}
		}
	}
}

func TestNoExpiry(t *testing.T) {
	if at, ok := status.ReplaceAt(&apiv1.NodeClaim{}); ok {
		t.Errorf("a claim that lives for ever is replaced at %v", at)
	}
}
