package disrupt_test

import (
	"fmt"
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
)

// toldOnly restricts execution in the cluster. If there are several pools, it puts the last one into mode DryRun. Otherwise
// it puts the only pool into mode Approve and approves every second node. It returns the nodes whose disruption may only be
// reported.
func toldOnly(c *scenario.Cluster) []*scenario.Node {
	annotate := func(m *map[string]string, key, value string) {
		if *m == nil {
			*m = map[string]string{}
		}
		(*m)[key] = value
	}
	var told []*scenario.Node
	if last := &c.Pools[len(c.Pools)-1]; len(c.Pools) > 1 {
		annotate(&last.Annotations, apiv1.EnforcementModeAnnotationKey, apiv1.ModeDryRun)
		for i := range c.Nodes {
			if c.Nodes[i].Pool == last.Name {
				told = append(told, &c.Nodes[i])
			}
		}
		return told
	}
	annotate(&c.Pools[0].Annotations, apiv1.EnforcementModeAnnotationKey, apiv1.ModeApprove)
	for i := range c.Nodes {
		if i%2 == 0 {
			annotate(&c.Nodes[i].Annotations, apiv1.DisruptionApprovedAnnotationKey, "true")
		} else {
			told = append(told, &c.Nodes[i])
		}
	}
	return told
}

func decideOn(c *scenario.Cluster) (*model.Snapshot, disrupt.Decision, error) {
	s, err := c.Snapshot()
	if err != nil {
		return nil, disrupt.Decision{}, err
	}
	o := options()
	o.Static = true
	return s, disrupt.Decide(s, o, disrupt.Cursor{}), nil
}

func commandsOf(d disrupt.Decision) string {
	d.Proposed, d.Blocked = nil, nil
	return d.String()
}

// A node whose disruption may only be reported has no influence on the commands: they are the same as if the node had
// do-not-disrupt.
func TestToldInfluencesNothing(t *testing.T) {
	both := 0
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		restless(c)
		told := toldOnly(c)
		_, with, err := decideOn(c)
		if err != nil {
			return breach("snapshot", "%v", err)
		}
		if len(with.Proposed) > 0 && len(with.Commands) > 0 {
			both++
		}
		for _, n := range told {
			if n.Annotations == nil {
				n.Annotations = map[string]string{}
			}
			n.Annotations[apiv1.DoNotDisruptAnnotationKey] = "true"
		}
		_, without, err := decideOn(c)
		if err != nil {
			return breach("snapshot", "%v", err)
		}
		if got, want := commandsOf(with), commandsOf(without); got != want {
			return breach("influence", "%s\nwithout proposals it would be\n%s", with, fmt.Sprint(want))
		}
		return nil
	})
	if both < clusters/20 {
		t.Errorf("only %d clusters of %d have both commands and proposals", both, clusters)
	}
}
