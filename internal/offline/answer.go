package offline

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Outcomes of a PodAnswer.
const (
	OnExisting = "existing" // the pod fits on Node
	OnNew      = "new"      // NewNode would be launched
	Refused    = "refused"  // Reasons has the reasons
	NotAsked   = "none"     // the pod is not planned; Notes has the reason
)

// A PodAnswer is the result for one pod: its node, or why no node is found. It is also the JSON output. Lists are never
// null.
type PodAnswer struct {
	// Pod is namespace/name.
	Pod      string            `json:"pod"`
	Requests map[string]string `json:"requests"`
	Outcome  string            `json:"outcome"`
	// Node is the existing node on which the pod fits or already runs.
	Node    string      `json:"node,omitempty"`
	NewNode *NodeResult `json:"newNode,omitempty"`
	// Reasons are the reasons of a refusal, in general one for each NodePool. Those with the fewest obstacles come first.
	Reasons []explain.Finding `json:"reasons"`
	// Notes are sentences about the choice of NewNode, or about why the pod is not planned.
	Notes []string `json:"notes"`
	// Told are the events that the controller published about the pod (see Told). It is empty for a pod from manifests.
	Told []EventResult `json:"events"`
	// Controller is what is known of the controller, nil if nothing is.
	Controller *Controller `json:"controller,omitempty"`

	Of *model.Pod `json:"-"`
}

// Pod returns the PodAnswer of the pod with the key namespace/name. It returns false if there is no such pod.
func (r *Run) Pod(e *explain.Explainer, key string) (PodAnswer, bool) {
	pod, ok := r.Snapshot.Pods.Get(key)
	if !ok {
		return PodAnswer{}, false
	}
	a := PodAnswer{Pod: key, Requests: written(pod.Requests), Reasons: []explain.Finding{}, Notes: []string{}, Told: []EventResult{}, Of: pod}
	is := func(x *model.Pod) bool { return x.Key == key }
	for _, x := range r.Plan.Placements {
		if slices.ContainsFunc(x.Pods, is) {
			a.Outcome, a.Node = OnExisting, x.Node.Name
			return a, true
		}
	}
	for i := range r.Plan.Nodes {
		if n := &r.Plan.Nodes[i]; slices.ContainsFunc(n.Pods, is) {
			launched := nodeResult(n)
			a.Outcome, a.NewNode, a.Notes = OnNew, &launched, e.Node(n)
			return a, true
		}
	}
	for _, x := range r.Plan.Refusals {
		if slices.ContainsFunc(x.Pods, is) {
			a.Outcome, a.Reasons = Refused, e.Refusal(x)
			return a, true
		}
	}
	a.Outcome, a.Node, a.Notes = NotAsked, pod.Object.Spec.NodeName, []string{standing(pod)}
	return a, true
}

// standing returns the state of a pod that is not planned, as the reason why it is not planned.
func standing(p *model.Pod) string {
	switch {
	case p.Terminal():
		return "has finished"
	case p.Bound():
		return "runs on node " + p.Object.Spec.NodeName
	case p.Daemon():
		return "DaemonSet pod: Karpenter launches no nodes for it"
	case p.Mirror():
		return "static pod: managed by the kubelet of its node"
	case p.Terminating():
		return "is being deleted"
	case p.OptsOut():
		return "requires " + apiv1.NodePoolLabelKey + " DoesNotExist: Karpenter launches no nodes for it"
	}
	for _, c := range p.Object.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pending for another reason: PodScheduled=False, %s: %s", c.Reason, c.Message)
		}
	}
	return "kube-scheduler has not evaluated the pod yet"
}

// A NodeAnswer is the result for one node: its properties, and the command of disruption for it or why there is none.
// It is also the JSON output.
type NodeAnswer struct {
	Node string `json:"node"`
	// Pool is empty if the node belongs to no NodePool. The other fields are empty if they are not known.
	Pool         string            `json:"pool"`
	InstanceType string            `json:"instanceType"`
	Zone         string            `json:"zone"`
	CapacityType string            `json:"capacityType"`
	Initialized  bool              `json:"initialized"`
	Pods         int               `json:"pods"`
	Used         map[string]string `json:"used"`
	Allocatable  map[string]string `json:"allocatable"`
	// Command is the command of disruption for the node. If an enforcement mode of the NodePool prevents its execution,
	// Withheld is that mode, otherwise empty. Without a command, Reason is why the node is kept, and LostPerHour is the
	// waste of keeping it in dollars per hour. Fix is the change that would help, empty if none is known.
	Command     *CommandResult `json:"command,omitempty"`
	Withheld    string         `json:"withheld,omitempty"`
	Reason      string         `json:"reason,omitempty"`
	Fix         string         `json:"fix,omitempty"`
	LostPerHour float64        `json:"lostPerHour"`
	// Controller is what is known of the controller, nil if nothing is.
	Controller *Controller `json:"controller,omitempty"`

	Of    *model.Node    `json:"-"`
	Doing *model.Command `json:"-"`
}

// Node returns the NodeAnswer of the node with the name. It returns false if there is no such node.
func (r *Run) Node(d *Disruption, name string) (NodeAnswer, bool) {
	n, ok := r.Snapshot.NodeByName(name)
	if !ok {
		return NodeAnswer{}, false
	}
	a := NodeAnswer{
		Node: name, Pool: n.Pool, InstanceType: n.Labels[corev1.LabelInstanceTypeStable],
		Zone: n.Labels[corev1.LabelTopologyZone], CapacityType: n.Labels[apiv1.CapacityTypeLabelKey],
		Initialized: n.Initialized, Pods: len(n.Pods), Used: written(n.Used), Allocatable: written(n.Allocatable), Of: n,
	}
	if a.choose(d.Commands) {
		return a, true
	}
	if a.choose(d.Proposed) {
		if pool, ok := r.Snapshot.Pool(n.Pool); ok {
			a.Withheld = pool.Mode(d.Mode)
		}
		return a, true
	}
	for _, x := range d.Blocked {
		if x.Node.Name == n.Name {
			a.Reason, a.LostPerHour = x.Verdict.String(), x.Waste
			if fix, known := explain.Fix(x.Verdict); known {
				a.Fix = fix
			}
		}
	}
	return a, true
}

// choose sets the command of the node, if it is one of commands.
func (a *NodeAnswer) choose(commands []model.Command) bool {
	for i := range commands {
		if c := &commands[i]; slices.Contains(c.Names(), a.Node) {
			result := commandResult(c)
			a.Command, a.Doing = &result, c
			return true
		}
	}
	return false
}

// A PoolAnswer is the result for one NodePool: its instance types, limits and nodes, and the pods that it refuses. It
// is also the JSON output.
type PoolAnswer struct {
	Pool string `json:"pool"`
	// Problem is why the NodePool launches nothing for pending pods, and Fix is the change that helps. Both are empty if
	// there is no problem; Fix is also empty if no change is known.
	Problem string `json:"problem,omitempty"`
	Fix     string `json:"fix,omitempty"`
	// Offered is the number of instance types that the node class offers. Allowed is the number of those that meet the
	// requirements of the NodePool and have an offering that can be launched. Cheapest is the cheapest allowed type, and
	// CheapestPerHour its price in dollars.
	Allowed         int     `json:"allowedTypes"`
	Offered         int     `json:"offeredTypes"`
	Cheapest        string  `json:"cheapestType,omitempty"`
	CheapestPerHour float64 `json:"cheapestPerHour"`
	// Impossible says which requirement no type meets, or that no type meets all, if no type is allowed. Otherwise it is
	// empty.
	Impossible string        `json:"impossible,omitempty"`
	Nodes      int           `json:"nodes"`
	Limits     []LimitResult `json:"limits"`
	// Launches is how many nodes of the NodePool would be launched now for pending pods.
	Launches int           `json:"launches"`
	Refuses  []PoolRefusal `json:"refuses"`
	// Controller is what is known of the controller, nil if nothing is.
	Controller *Controller `json:"controller,omitempty"`
}

// A LimitResult is one limit of a pool.
type LimitResult struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Limit    string `json:"limit"`

	UsedAmount, LimitAmount int64 `json:"-"`
}

// A PoolRefusal is a group of equal pods that get no node, and why the NodePool cannot launch one for them.
type PoolRefusal struct {
	Pods []string `json:"pods"`
	explain.Finding

	Of []*model.Pod `json:"-"`
}

// Pool returns the PoolAnswer of the NodePool with the name. It returns false if there is no such NodePool.
func (r *Run) Pool(e *explain.Explainer, name string) (PoolAnswer, bool) {
	pool, ok := r.Snapshot.Pool(name)
	if !ok {
		return PoolAnswer{}, false
	}
	used := r.Snapshot.Usage(name)
	a := PoolAnswer{Pool: name, Nodes: int(used[model.Nodes]), Limits: []LimitResult{}, Refuses: []PoolRefusal{}}
	if v := pool.Usable(); !v.OK() {
		a.Problem = v.String()
		a.Fix, _ = explain.Fix(v)
	}
	a.choose(r.Snapshot.Types(name), pool.Requirements)
	for _, res := range pool.Limits.Names() {
		a.Limits = append(a.Limits, LimitResult{
			Resource: string(res), Used: quantity(res, used[res]), Limit: quantity(res, pool.Limits[res]),
			UsedAmount: used[res], LimitAmount: pool.Limits[res],
		})
	}
	for i := range r.Plan.Nodes {
		if r.Plan.Nodes[i].Pool.Name == name {
			a.Launches++
		}
	}
	for _, x := range r.Plan.Refusals {
		for _, f := range e.Refusal(x) {
			if f.Pool == name {
				f.Pool = ""
				a.Refuses = append(a.Refuses, PoolRefusal{Pods: keysOf(x.Pods), Finding: f, Of: x.Pods})
			}
		}
	}
	return a, true
}

// choose sets the number of types that the requirements allow, and the cheapest one, or Impossible if there is none.
func (a *PoolAnswer) choose(types []*model.InstanceType, reqs require.Set) {
	a.Offered = len(types)
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(reqs); !ok {
			continue
		}
		o, ok := t.Cheapest(reqs)
		if !ok {
			continue
		}
		a.Allowed++
		if a.Cheapest == "" || o.Price < a.CheapestPerHour {
			a.Cheapest, a.CheapestPerHour = t.Name, o.Price
		}
	}
	if a.Allowed == 0 {
		a.Impossible = firstImpossible(types, reqs)
	}
}

// firstImpossible returns a text about the first requirement that no type meets. If each requirement is met by some
// type, but no type meets all, the text names all requirements.
func firstImpossible(types []*model.InstanceType, reqs require.Set) string {
	for r := range reqs.All() {
		alone := require.NewSet(r)
		if !slices.ContainsFunc(types, func(t *model.InstanceType) bool { _, ok := t.Requirements.Intersects(alone); return ok }) {
			return "none has " + r.String()
		}
	}
	return "none has all of " + reqs.String()
}

// written returns the amounts as Kubernetes quantities.
func written(r model.Resources) map[string]string {
	out := map[string]string{}
	for _, name := range r.Names() {
		out[string(name)] = quantity(name, r[name])
	}
	return out
}

func quantity(name corev1.ResourceName, v int64) string {
	if name == corev1.ResourcePods || name == model.Nodes {
		return strconv.FormatInt(v, 10)
	}
	q := model.Quantity(name, v)
	return q.String()
}

func keysOf(pods []*model.Pod) []string {
	keys := make([]string, len(pods))
	for i, p := range pods {
		keys[i] = p.Key
	}
	return keys
}
