package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// clusters is the number of clusters in a run without the flag -seeds.
const clusters = 300

// draws is the number of outcomes that are tested for each plan. In the first one the cloud always chooses the cheapest option,
// in the others it chooses at random.
const draws = 3

// kube-scheduler accepts every pod on the node that the plan chose, whichever of the planned options the cloud launches.
func TestPlacementsAreAccepted(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		return onScheduler(c, func(s *scheduler, w *world, plan *model.Plan) (*random.Breach, error) {
			refused, err := w.inOrder(s)
			if err != nil || len(refused) == 0 {
				return nil, err
			}
			b := w.breach(refused, plan)
			if refused, _, err = w.anyOrder(s); err != nil {
				return nil, err
			}
			if len(refused) == 0 {
				b.Rule += ", but for another order"
				b.Detail += fmt.Sprintf("order: %v", keys(plan.Order))
			}
			return b, nil
		})
	})
}

// For a pod that the engine refuses, no node is feasible after the plan is carried out, neither an existing one nor one that
// could be launched.
func TestRefusalsAreRight(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		// While a node is being deleted, its pods may prevent a placement. The engine counts these pods, but they are gone in
		// the replay.
		c.Nodes = slices.DeleteFunc(c.Nodes, func(n scenario.Node) bool { return n.Deleting })
		return onStage(c, func(st *stage) (*random.Breach, error) {
			for _, r := range st.plan.Refusals {
				o, err := st.opening(r)
				if err != nil {
					return nil, err
				}
				if o != nil {
					return &random.Breach{
						Rule:   missed(r, o.kind),
						Detail: fmt.Sprintf("%s: %s\nplan:\n%s", r.Pods[0].Key, o.where, st.plan),
					}, nil
				}
			}
			return nil, nil
		})
	})
}

// defaultsOf returns the function that returns the default constraints of a pod; nil if there are none.
func defaultsOf(c *scenario.Cluster) func(*model.Pod) []corev1.TopologySpreadConstraint {
	if len(c.Spread) == 0 {
		return nil
	}
	return topology.Defaults{Constraints: c.Spread, Services: c.ServiceObjects()}.Of()
}

func keys(pods []*model.Pod) []string {
	out := make([]string, len(pods))
	for i, p := range pods {
		out[i] = p.Key
	}
	return out
}

// A stage is a cluster, the plan for it, and the scheduler that carries the plan out.
type stage struct {
	snapshot *model.Snapshot
	sched    *scheduler
	plan     *model.Plan
	defaults func(*model.Pod) []corev1.TopologySpreadConstraint // nil if there are none
}

// onStage makes a plan for c and calls ask with it.
func onStage(c *scenario.Cluster, ask func(*stage) (*random.Breach, error)) *random.Breach {
	invalid := func(err error) *random.Breach { return &random.Breach{Rule: "cluster", Detail: err.Error()} }
	snapshot, s, err := start(c)
	if err != nil {
		return invalid(err)
	}
	defer s.stop()
	st := &stage{snapshot: snapshot, sched: s, defaults: defaultsOf(c)}
	st.plan = pack.Solve(snapshot, pack.Options{Labels: random.Labels, DefaultSpread: st.defaults})
	b, err := ask(st)
	if err != nil {
		return invalid(err)
	}
	return b
}

// world returns the cluster that results from the plan if the cloud chooses by l.
func (st *stage) world(l luck) (*world, error) {
	w, err := newWorld(st.snapshot, st.plan, l)
	if err != nil {
		return nil, err
	}
	if st.defaults != nil {
		w.defaults = map[string][]corev1.TopologySpreadConstraint{}
		for _, p := range st.snapshot.Pending() {
			w.defaults[p.Key] = st.defaults(p)
		}
	}
	return w, nil
}

// onScheduler makes a plan for c and calls ask for each of the clusters that may result from the plan.
func onScheduler(
	c *scenario.Cluster, ask func(*scheduler, *world, *model.Plan) (*random.Breach, error),
) *random.Breach {
	return onStage(c, func(st *stage) (*random.Breach, error) {
		for i := range draws {
			l := luck{}
			if i > 0 {
				l.dice = rand.New(rand.NewPCG(uint64(i), 0))
			}
			w, err := st.world(l)
			if err != nil {
				return &random.Breach{Rule: "launch", Detail: fmt.Sprintf("%v\nplan:\n%s", err, st.plan)}, nil
			}
			if b, err := ask(st.sched, w, st.plan); b != nil || err != nil {
				return b, err
			}
		}
		return nil, nil
	})
}

// start builds the snapshot of c and starts a scheduler for it. All pods of c must be valid.
func start(c *scenario.Cluster) (*model.Snapshot, *scheduler, error) {
	d, err := c.Delta()
	if err != nil {
		return nil, nil, fmt.Errorf("read cluster: %w", err)
	}
	if err := valid(&d); err != nil {
		return nil, nil, err
	}
	snapshot, err := c.Snapshot()
	if err != nil {
		return nil, nil, fmt.Errorf("compile cluster: %w", err)
	}
	s, err := newScheduler(c, &d, snapshot)
	return snapshot, s, err
}

// valid checks each pod by the API server's rules, and that its namespace exists.
func valid(d *model.Delta) error {
	for _, p := range d.Pods {
		if !slices.ContainsFunc(d.Namespaces, func(n *corev1.Namespace) bool { return n.Name == p.Namespace }) {
			return fmt.Errorf("pod %s: there is no namespace %s", p.Name, p.Namespace)
		}
		if _, err := admit(p); err != nil {
			return fmt.Errorf("pod %s: %w", p.Name, err)
		}
	}
	return nil
}
