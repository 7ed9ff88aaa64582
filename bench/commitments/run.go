package commitments

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// A Result has prices beyond commitments, in dollars per hour.
type Result struct {
	// Paid is what the commitments cost, whether nodes use them or not.
	Paid float64
	// List is the price of a plan without commitments, Blind what its nodes cost with them.
	List, Blind float64
	// Planned is the price of a plan that knows the commitments, Consolidated that of the nodes of Blind after consolidation.
	Planned, Consolidated float64
	// Floor is the optimum of the linear program. No nodes for the pods cost less.
	Floor float64
	// Rounds is how many decisions consolidation took, and Moves how many pods it moved.
	Rounds, Moves int
	Names         string
}

// Add adds the prices and counts of another result.
func (r *Result) Add(o Result) {
	r.Paid += o.Paid
	r.List, r.Blind, r.Planned, r.Consolidated, r.Floor = r.List+o.List, r.Blind+o.Blind, r.Planned+o.Planned, r.Consolidated+o.Consolidated, r.Floor+o.Floor
	r.Rounds, r.Moves = r.Rounds+o.Rounds, r.Moves+o.Moves
}

// maxRounds bounds how many decisions consolidation takes.
const maxRounds = 40

// Run measures n pods of the profile. The commitments are worth share of the list price of a plan without them.
func Run(p workload.Profile, n int, seed uint64, catalogue string, share float64) (Result, error) {
	c, err := workload.New(p, n, seed, catalogue)
	if err != nil {
		return Result{}, err
	}
	for _, pool := range c.Pools {
		pool.Annotations = map[string]string{apiv1.EvictionCostAnnotationKey: "0", apiv1.PaybackPeriodAnnotationKey: "720h"}
		pool.Spec.Disruption = apiv1.Disruption{
			ConsolidationPolicy: apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, Budgets: []apiv1.Budget{{Nodes: "100%"}},
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"),
		}
	}
	d, err := c.Delta()
	if err != nil {
		return Result{}, err
	}
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	plain := model.Compile(d).At(now)
	blind, err := plan(plain)
	if err != nil {
		return Result{}, err
	}
	types := Generate(plain.Types(c.Pools[0].Name), share*blind.Price, seed)
	committed := map[string][]*model.InstanceType{}
	for _, pool := range c.Pools {
		committed[pool.Name] = types
	}
	out := Result{List: blind.Price, Paid: share * paidShare * blind.Price, Names: Names(types)}
	fleet := launched(plain, blind, "n").Apply(model.Delta{Types: committed})
	out.Blind = bill(fleet)
	aware := plain.Apply(model.Delta{Types: committed})
	known, err := plan(aware)
	if err != nil {
		return Result{}, err
	}
	out.Planned = bill(launched(aware, known, "n"))
	if out.Planned > known.Price*(1+1e-6)+1e-6 {
		return Result{}, fmt.Errorf("the nodes of the plan cost $%v/h, the plan says $%v/h", out.Planned, known.Price)
	}
	need := model.Resources{}
	for _, pod := range plain.Pending() {
		need = need.Plus(pod.Requests)
	}
	daemons := model.Resources{}
	for _, o := range plain.Daemons() {
		daemons = daemons.Plus(o.Pod.Requests)
	}
	out.Floor = Floor(types, need, daemons)
	return out, consolidate(fleet, &out)
}

func plan(s *model.Snapshot) (*model.Plan, error) {
	p := pack.Solve(s, pack.Options{Labels: ours.Labels})
	if len(p.Refusals) > 0 {
		return nil, fmt.Errorf("pods are refused: %s", p.Refusals[0])
	}
	if v := verify.Plan(s, p, ours.Labels); len(v) > 0 {
		return nil, fmt.Errorf("the plan is wrong: %s", v[0])
	}
	return p, nil
}

// bill returns what the nodes cost beyond commitments.
func bill(s *model.Snapshot) (sum float64) {
	for _, n := range s.Nodes() {
		sum += s.PriceOf(n)
	}
	return sum
}

// launched returns s with the planned nodes and their pods. The names of the nodes begin with prefix.
func launched(s *model.Snapshot, p *model.Plan, prefix string) *model.Snapshot {
	return s.Bound(p.Placements).Apply(nodes(p.Nodes, prefix, s.Now))
}

func nodes(planned []model.PlannedNode, prefix string, now time.Time) (d model.Delta) {
	for i := range planned {
		n := &planned[i]
		t, name := n.Options[0], fmt.Sprintf("%s-%05d", prefix, i)
		labels := maps.Clone(n.Pool.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, t.Requirements.Labels())
		maps.Copy(labels, n.Offering.Requirements.Labels())
		labels[corev1.LabelHostname], labels[corev1.LabelInstanceTypeStable] = name, t.Name
		labels[corev1.LabelTopologyZone], labels[apiv1.CapacityTypeLabelKey] = n.Offering.Zone, n.Offering.CapacityType
		labels[apiv1.NodePoolLabelKey], labels[apiv1.NodeRegisteredLabelKey], labels[apiv1.NodeInitializedLabelKey] = n.Pool.Name, "true", "true"
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: metav1.NewTime(now)}}
		node.Spec.ProviderID = "bench:///" + name
		node.Status.Capacity, node.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		d.Nodes = append(d.Nodes, node)
		for _, p := range n.Pods {
			pod := *p.Object
			pod.Spec.NodeName, pod.Status.Phase, pod.Status.Conditions = name, corev1.PodRunning, nil
			d.Pods = append(d.Pods, &pod)
		}
	}
	return d
}

// consolidate carries out decisions about the fleet until one has no commands, but at most maxRounds. A decision that does
// not lower the price is an error.
func consolidate(s *model.Snapshot, out *Result) error {
	options := problem.Options{Pack: pack.Options{Labels: ours.Labels}, Simulate: true}
	var cursor disrupt.Cursor
	for out.Rounds < maxRounds {
		decision := disrupt.Decide(s, options, cursor)
		if len(decision.Commands) == 0 {
			break
		}
		if v := verify.Commands(s, decision.Expected, decision.Commands, ours.Labels); len(v) > 0 {
			return fmt.Errorf("the decision is wrong: %s", v[0])
		}
		before := bill(s)
		out.Rounds++
		for i := range decision.Commands {
			cmd := &decision.Commands[i]
			out.Moves += cmd.Moves()
			s = carryOut(s, cmd, fmt.Sprintf("r%02d-%04d", out.Rounds, i))
		}
		if after := bill(s); after >= before {
			return fmt.Errorf("decision %d raises the bill from $%v/h to $%v/h", out.Rounds, before, after)
		}
		s = s.At(s.Now.Add(48 * time.Hour))
	}
	out.Consolidated = bill(s)
	return nil
}

// carryOut returns s after the command.
func carryOut(s *model.Snapshot, cmd *model.Command, prefix string) *model.Snapshot {
	var gone []*model.Node
	for _, n := range cmd.Nodes {
		if own, ok := s.NodeByName(n.Name); ok {
			gone = append(gone, own)
		}
	}
	placements := make([]model.Placement, 0, len(cmd.Placements))
	s = s.Without(gone...)
	for _, x := range cmd.Placements {
		if own, ok := s.NodeByName(x.Node.Name); ok {
			placements = append(placements, model.Placement{Node: own, Pods: x.Pods})
		}
	}
	return s.Bound(placements).Apply(nodes(cmd.Replacements, prefix, s.Now)).WithoutPending()
}
