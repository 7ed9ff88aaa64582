package disrupt_test

import (
	"testing"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// TestScenarios runs Decide over testdata/scenario. A section options.yaml holds what differs from the zero Options, and
// repair.yaml the policies of node repair. All commands are checked against the objects.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, ar *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		var o disrupt.Options
		for _, f := range ar.Files {
			switch f.Name {
			case "options.yaml":
				err = yaml.UnmarshalStrict(f.Data, &o)
			case "repair.yaml":
				o.Repair, err = policies(f.Data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		o.Pack.Labels = apiv1.CoreLabels()
		d := disrupt.Decide(s, o, disrupt.Cursor{})
		for _, v := range verify.Commands(s, d.Expected, d.Commands, o.Pack.Labels) {
			t.Errorf("refused: %s", v)
		}
		return d.String()
	})
}

// policies reads the policies of node repair.
func policies(data []byte) (*repair.Policies, error) {
	var list []struct {
		Condition   corev1.NodeConditionType
		Status      corev1.ConditionStatus
		Reason      string
		After       metav1.Duration
		DrainWithin *metav1.Duration
		Priority    int
		Reboot      bool
	}
	if err := yaml.UnmarshalStrict(data, &list); err != nil {
		return nil, err
	}
	out := make([]repair.Policy, len(list))
	for i, p := range list {
		out[i] = repair.Policy{
			ConditionType: p.Condition, ConditionStatus: p.Status, ReasonRegex: p.Reason, Priority: p.Priority,
			TolerationDuration: p.After.Duration, Action: repair.ReplaceNode,
		}
		if p.DrainWithin != nil {
			out[i].TerminationGracePeriod = &p.DrainWithin.Duration
		}
		if p.Reboot {
			out[i].Action = repair.RebootNode
		}
	}
	return repair.Compile(out)
}
