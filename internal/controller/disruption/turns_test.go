package disruption

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// closed reports whether the node is reserved and not opened yet.
func closed(n corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == apiv1.StagedMoveTaintKey })
}

// handOver moves pods of disrupted nodes in a few steps, while nodes are closed. It reports whether the controller was killed.
func (o *colony) handOver() (dead bool) {
	for range 4 {
		n := len(slices.DeleteFunc(o.nodes(), func(n corev1.Node) bool { return !closed(n) }))
		stage := fmt.Sprintf("%d closed, %d wait", n, len(o.on("")))
		if len(o.stages) == 0 || o.stages[len(o.stages)-1] != stage {
			o.stages = append(o.stages, stage)
		}
		o.clock.Step(time.Second / 2)
		o.show()
		o.provision()
		dead = o.dead(o.turns.Reconcile(o.t.Context(), ctrl.Request{}))
		o.live()
		if n == 0 || dead {
			break
		}
	}
	return dead
}

// provision records promises for pending pods, and adds the new nodes that it would need for them to short.
func (o *colony) provision() {
	plan := pack.Solve(o.c.readSnapshot(o.t.Context()), pack.Options{Labels: apiv1.CoreLabels()})
	for _, pl := range plan.Placements {
		o.c.Cluster.Promise(pl.Node.Name, pl.Pods, o.clock.Now().Add(promiseLifetime))
	}
	o.short += len(plan.Nodes)
}

// evict makes those pods of the node pending whose destination is open.
func (o *colony) evict(node string) {
	var pods []*corev1.Pod
	for _, p := range o.on(node) {
		pods = append(pods, &p)
	}
	awaiting := o.turns.Awaiting(pods)
	for _, p := range pods {
		if !awaiting[p.UID] {
			o.must(o.client.Delete(o.t.Context(), p))
			o.pod(p.Name, "")
		}
	}
}
