package differential

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A sketch is a plan that is made at random, pod by pod, by calling the scheduler.
type sketch struct {
	world *world
	sched *scheduler
	dice  *rand.Rand
	// strict is true if a pod is placed only if the whole scheduler accepts it. Otherwise spread and affinity are not checked.
	strict bool
	// order are the pods in the order in which they were placed.
	order   []*model.Pod
	placed  map[string][]*model.Pod // by node name
	planned []drawnNode
	refused []*model.Pod
}

// A drawnNode is a planned node with one type and one offering, and the node that it becomes.
type drawnNode struct {
	plan model.PlannedNode
	node *corev1.Node
}

// tries is the number of nodes that are tried for a pod.
const tries = 6

// newSketch plans at random for all pending pods.
func newSketch(s *model.Snapshot, sched *scheduler, dice *rand.Rand, strict bool) (*sketch, error) {
	w, err := newWorld(s, &model.Plan{}, luck{})
	if err != nil {
		return nil, err
	}
	k := &sketch{world: w, sched: sched, dice: dice, strict: strict, placed: map[string][]*model.Pod{}}
	if err := sched.restart(w); err != nil {
		return nil, err
	}
	pods := s.Pending()
	dice.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	for _, p := range pods {
		if err := k.place(p); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// place tries a few nodes for the pod, and places it on the first one that is accepted.
func (k *sketch) place(p *model.Pod) error {
	pod, err := unbound(p)
	if err != nil {
		return err
	}
	for range tries {
		name, fresh, ok := k.offer()
		if !ok {
			continue
		}
		nodes, pods := k.sched.nodes, k.sched.pods
		if fresh != nil {
			residents, err := daemonsOn(fresh.node, k.world.snapshot)
			if err != nil {
				return err
			}
			k.sched.set(append(slices.Clone(nodes), fresh.node), pods)
			if !k.sched.employ(residents) && k.strict {
				k.sched.set(nodes, pods)
				continue // a plan cannot rely on a DaemonSet pod that may be excluded
			}
		}
		if r := k.sched.judge(pod, name); r != nil && (k.strict || !slices.Contains(ofCluster, r.plugin)) {
			k.sched.set(nodes, pods)
			continue
		}
		if fresh != nil {
			k.planned = append(k.planned, *fresh)
		}
		k.placed[name] = append(k.placed[name], p)
		k.order = append(k.order, p)
		return k.sched.bind(pod, name)
	}
	k.refused = append(k.refused, p)
	return nil
}

// offer draws a node: an existing one, a planned one, or a new one.
func (k *sketch) offer() (name string, fresh *drawnNode, ok bool) {
	switch k.dice.IntN(3) {
	case 0:
		if len(k.world.nodes) > 0 {
			return k.world.nodes[k.dice.IntN(len(k.world.nodes))].Name, nil, true
		}
	case 1:
		if len(k.planned) > 0 {
			return k.planned[k.dice.IntN(len(k.planned))].node.Name, nil, true
		}
	}
	pools := slices.DeleteFunc(k.world.snapshot.Pools(), func(p *model.Pool) bool { return !p.Usable().OK() })
	if len(pools) == 0 {
		return "", nil, false
	}
	pool := pools[k.dice.IntN(len(pools))]
	ways := waysOf(k.world.snapshot.Types(pool.Name), pool.Requirements, true)
	own := ownLabels(pool)
	if len(ways) == 0 || len(own) == 0 {
		return "", nil, false
	}
	way := ways[k.dice.IntN(len(ways))]
	reqs := pool.Requirements.And(way.offering.Requirements)
	for key, v := range own[k.dice.IntN(len(own))] {
		reqs = reqs.With(require.New(key, require.In, v))
	}
	d := &drawnNode{plan: model.PlannedNode{
		Pool: pool, Requirements: reqs, Options: []*model.InstanceType{way.kind}, Offering: way.offering,
	}}
	name = nameOfNew(len(k.planned))
	node, err := launch(name, &d.plan, luck{})
	if err != nil {
		return "", nil, false
	}
	d.node = node
	return name, d, true
}

// plan returns the sketch as a plan.
func (k *sketch) plan() *model.Plan {
	p := &model.Plan{Order: k.order}
	for _, n := range k.world.snapshot.Nodes() {
		if pods := k.placed[n.Name]; len(pods) > 0 && !n.Deleting {
			p.Placements = append(p.Placements, model.Placement{Node: n, Pods: pods})
		}
	}
	for _, d := range k.planned {
		n := d.plan
		n.Pods = k.placed[d.node.Name]
		for _, pod := range n.Pods {
			n.Requests = n.Requests.Plus(pod.Requests)
		}
		p.Nodes = append(p.Nodes, n)
		p.Price += n.Price()
	}
	for _, pod := range k.refused {
		p.Refusals = append(p.Refusals, model.Refusal{Pods: []*model.Pod{pod}, Reasons: []model.PoolVerdict{
			{Verdict: model.Verdict{Rule: model.RuleEffort}},
		}})
	}
	return p
}
