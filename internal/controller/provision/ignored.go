package provision

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/nominate"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// ignoredSlack is the share of cpu and memory that plans leave free on new nodes if a scheduler does not follow nominations. Such
// a scheduler spreads pods by its own scores, so they may not fit as planned.
const ignoredSlack = 0.05

// ignored returns the name of a scheduler that does not follow nominations and has pending pods, empty if there is none.
func (c *Controller) ignored(s *model.Snapshot) string {
	if c.Nominations == nil {
		return ""
	}
	seen := map[string]bool{}
	for _, p := range s.Pending() {
		name := nominate.SchedulerOf(p)
		if p.Virtual() || seen[name] {
			continue
		}
		seen[name] = true
		if c.Nominations(name).Ignores() {
			return name
		}
	}
	return ""
}

// tellIgnored publishes an event on NodePools whose new nodes have free capacity because a scheduler ignores nominations. It
// publishes nothing if the configuration leaves at least as much capacity free.
func (c *Controller) tellIgnored(s *model.Snapshot, launches []act.Launch) {
	scheduler := c.ignored(s)
	if scheduler == "" || c.Options.Slack >= ignoredSlack {
		return
	}
	t := c.Nominations(scheduler)
	for _, l := range launches {
		c.Events.Publish(telemetry.Event{
			Object: l.Node.Pool.Object, Type: corev1.EventTypeWarning, Reason: telemetry.EventNominationsIgnored,
			Message: fmt.Sprintf("Scheduler %s bound %d of the last %d nominated pods to other nodes. So %g%% of cpu and memory "+
				"stay free on new nodes. Fix: use a scheduler that follows status.nominatedNodeName, or set --new-node-headroom",
				scheduler, t.Elsewhere, t.Bound, 100*ignoredSlack),
		})
	}
}
