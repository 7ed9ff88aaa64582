package provision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/nominate"
)

// A scheduler that binds nominated pods to other nodes does not fill nodes as planned. Then new nodes have free capacity, and the
// NodePool has an event about it. Plans for pods of other schedulers do not change.
func TestIgnoredNominations(t *testing.T) {
	for _, tt := range []struct {
		scheduler string
		slack     float64
		tally     nominate.Tally
		// claims is the number of nodes for 32 pods: eight pods on each node, or seven if capacity is left free.
		claims int
		told   bool
	}{
		{corev1.DefaultSchedulerName, 0, nominate.Tally{Bound: 50, Elsewhere: 40}, 5, true},
		{corev1.DefaultSchedulerName, 0, nominate.Tally{Bound: 50, Elsewhere: 10}, 4, false},
		{corev1.DefaultSchedulerName, 0, nominate.Tally{Bound: 10, Elsewhere: 10}, 4, false},
		{"other", 0, nominate.Tally{Bound: 50, Elsewhere: 40}, 4, false},
		{corev1.DefaultSchedulerName, 0.1, nominate.Tally{Bound: 50, Elsewhere: 40}, 5, false},
	} {
		t.Run(fmt.Sprint(tt.scheduler, tt.slack, tt.tally), func(t *testing.T) {
			w := newWorld(t)
			w.cloud.Types = w.cloud.Types[1:] // only nodes of eight cores
			w.Options.Slack = tt.slack
			w.Nominations = func(scheduler string) nominate.Tally {
				if scheduler == tt.scheduler {
					return tt.tally
				}
				return nominate.Tally{}
			}
			w.pend("web", 32, 1) // as many pods as fill four nodes
			w.reconcile()
			w.clock.Step(time.Second)
			w.reconcile()
			if n := len(w.claims()); n != tt.claims {
				t.Errorf("%d claims, want %d", n, tt.claims)
			}
			told := strings.Join(w.told("NominationsIgnored"), "\n")
			if tt.told != strings.Contains(told, "Scheduler default-scheduler bound 40 of the last 50 nominated pods to other nodes. So 5%") {
				t.Errorf("told %q", told)
			}
		})
	}
}
