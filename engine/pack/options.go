package pack

import (
	"errors"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
)

// Options are the settings of Solve. The zero value is valid.
type Options struct {
	// Labels are the well-known labels, and the current names of deprecated ones. A pod may require a well-known label
	// even if no NodePool defines it.
	Labels apiv1.LabelRules
	// MaxTypes is the largest number of instance types among which the launch of a new node may choose. A spot launch is
	// more likely to succeed with more types. The node has more types only if minValues requires them and RelaxMinValues is
	// not set. 0 means 600.
	MaxTypes int
	// Fast says that Solve does not improve the packing of new nodes, see binpack.Options.Fast. It still makes
	// several attempts, see solve.
	Fast bool
	// Excluded[key] is the reason to refuse the pod with that key. Such pods are not planned.
	Excluded map[string]model.Verdict
	// RelaxMinValues says that a node is launched even if its instance types have fewer distinct label values than
	// minValues of the NodePool requires. By default its pods are refused.
	RelaxMinValues bool
	// PreferencePolicy says how to treat preferred affinity, and spread with ScheduleAnyway. Empty means
	// PreferenceRespect.
	PreferencePolicy PreferencePolicy
	// DefaultSpread returns the spread constraints of a pod that has none of its own. If it is nil, there are no defaults.
	DefaultSpread func(*model.Pod) []corev1.TopologySpreadConstraint
	// NodeOverheadCost is the cost of each node besides its price, in dollars per hour: root volume, address, agents,
	// licences. It influences decisions. Reported prices do not include it.
	NodeOverheadCost float64
	// MaxNodeCPU is the largest cpu capacity of a new node, in millicores. It limits how much capacity a single node
	// failure takes away. 0 means no limit.
	MaxNodeCPU int64
	// Slack is the share of the allocatable cpu and memory of a new node that the plan leaves free, from 0 to 0.5. It is
	// smaller on instance types that would otherwise not hold a pod that they can hold (Catalog.LeaveSlack). Slack helps if
	// kube-scheduler binds pods to other nodes than planned. If a plan without Slack places more pods, Slack is ignored.
	Slack float64
}

// A PreferencePolicy says how preferred affinity, and topology spread with ScheduleAnyway, are treated. It does not affect
// PreferNoSchedule taints: they keep pods off a node unless the pods get no node otherwise.
type PreferencePolicy string

// PreferenceRespect treats these preferences as requirements at first, and drops one after another while a pod gets no node
// (compile/stage.go). Pods that stay on the node to which they are nominated need not meet them. PreferenceIgnore ignores
// all these preferences.
const (
	PreferenceRespect PreferencePolicy = "Respect"
	PreferenceIgnore  PreferencePolicy = "Ignore"
)

// settings returns the options that package compile uses.
func (o Options) settings() catalog.Settings {
	return catalog.Settings{
		Labels: o.Labels, MaxNodeCPU: o.MaxNodeCPU, RelaxMinValues: o.RelaxMinValues,
		IgnorePreferences: o.PreferencePolicy == PreferenceIgnore, DefaultSpread: o.DefaultSpread, Slack: o.Slack,
	}
}

// Validate returns one error that lists all invalid fields, nil if all are valid.
func (o Options) Validate() error {
	var errs []error
	if o.MaxTypes < 0 {
		errs = append(errs, fmt.Errorf("maxTypes is %d, want 0 or more", o.MaxTypes))
	}
	if p := o.PreferencePolicy; p != "" && p != PreferenceRespect && p != PreferenceIgnore {
		errs = append(errs, fmt.Errorf("preferencePolicy is %q, want Respect or Ignore", p))
	}
	if o.MaxNodeCPU < 0 {
		errs = append(errs, fmt.Errorf("maxNodeCPU is %d, want 0 or more", o.MaxNodeCPU))
	}
	if !(o.NodeOverheadCost >= 0 && o.NodeOverheadCost <= math.MaxFloat64) { // also rejects NaN
		errs = append(errs, fmt.Errorf("nodeOverheadCost is %g, want 0 or more", o.NodeOverheadCost))
	}
	if !(o.Slack >= 0 && o.Slack <= 0.5) { // also rejects NaN
		errs = append(errs, fmt.Errorf("slack is %g, want 0 to 0.5", o.Slack))
	}
	return errors.Join(errs...)
}
