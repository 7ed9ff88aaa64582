package disruption

import (
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
)

// claim returns the claim of that name.
func (o *colony) claim(name string) *apiv1.NodeClaim {
	o.t.Helper()
	c := &apiv1.NodeClaim{}
	o.must(o.client.Get(o.t.Context(), client.ObjectKey{Name: name}, c))
	return c
}

// waitsFor returns the names of the claims that the claim waits for.
func (o *colony) waitsFor(name string) []string {
	return status.ReplacedBy(o.claim(name))
}

// failOne begins to replace node-0 by two nodes. It passes the claim of one replacement to the function comes and deletes the
// claim of the other, so that the command is rolled back. It returns the name of the remaining replacement.
func (o *colony) failOne(comes func(*apiv1.NodeClaim)) (left string) {
	o.t.Helper()
	o.boots = time.Hour // no node is initialized unless the test does it
	o.pass()
	replacements := o.waitsFor("claim-0")
	if len(replacements) != 2 {
		o.t.Fatalf("claim-0 waits for %v, want two", replacements)
	}
	comes(o.claim(replacements[0]))
	o.must(o.client.Delete(o.t.Context(), o.claim(replacements[1])))
	o.pass()
	return replacements[0]
}

// starts sets the status of a launched instance on the claim.
func (o *colony) starts(c *apiv1.NodeClaim) {
	size := machine("large", 2, 0).Capacity.List()
	c.Status.ProviderID, c.Status.Capacity, c.Status.Allocatable = "fake:///"+c.Name, size, size
	o.must(o.client.Status().Update(o.t.Context(), c))
}

// One of two replacements fails while the other one boots or has registered. The command is rolled back. The next command waits
// for the remaining replacement and launches nodes only for the pods that do not fit on it.
func TestLeftOverIsUsed(t *testing.T) {
	for name, comes := range map[string]func(*colony) func(*apiv1.NodeClaim){
		"it has registered": func(o *colony) func(*apiv1.NodeClaim) { return o.join },
		"it boots":          func(o *colony) func(*apiv1.NodeClaim) { return o.starts },
	} {
		t.Run(name, func(t *testing.T) {
			o := newColony(t, 0)
			left := o.failOne(comes(o))
			if got := o.is("claim-0"); got != "unmarked" {
				t.Fatalf("a replacement of claim-0 is gone, and it is still %s", got)
			}
			o.pass()
			if got := o.waitsFor("claim-0"); len(got) != 2 || !slices.Contains(got, left) {
				t.Errorf("claim-0 waits for %v, want two, of which one is %s", got, left)
			}
			if o.is(left) != "unmarked" {
				t.Errorf("the replacement that is coming up is %s", o.is(left))
			}
			if n := o.nodeOf(o.claim(left)); n != nil {
				o.must(o.client.Delete(t.Context(), n))
			}
			o.boots = 0
			o.settle()
			if wrong := o.wrong(); wrong != "" || o.made != 5 {
				t.Errorf("%d claims were made, want 5: four and the one that failed; %s", o.made, wrong)
			}
		})
	}
}

// A claim that is not launched when its command is rolled back is deleted and not used, because its launch may fail as well.
func TestLeftOverThatIsNotLaunchedGoes(t *testing.T) {
	o := newColony(t, 0)
	left := o.failOne(func(*apiv1.NodeClaim) {})
	o.pass()
	if got := o.waitsFor("claim-0"); len(got) != 2 || slices.Contains(got, left) {
		t.Errorf("claim-0 waits for %v, want two that are new", got)
	}
	if got := o.is(left); got != "gone" {
		t.Errorf("the claim that was left over is %s", got)
	}
}

// After the rollback of its command, a replacement that no pod needs is deleted although it is still starting.
func TestUnneededReplacementIsDeletedAfterRollback(t *testing.T) {
	o := newColony(t, 0)
	left := o.failOne(o.join)
	o.c.Options.Paused = true
	o.pass()
	if got := o.is(left); got != "gone" {
		t.Errorf("disruption is paused, and the starting replacement is %s, want gone", got)
	}
}
