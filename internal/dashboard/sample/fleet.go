package sample

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1 "k8s.io/api/policy/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/dashboard"
	"github.com/karpenter-go/karpenter/internal/dashboard/stream"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/observe"
)

// A Cluster is an observe.Cluster whose first lists are complete.
type Cluster struct{ *observe.Cluster }

// Synced returns true.
func (Cluster) Synced() bool { return true }

// A Fleet is a generated cluster with the decisions about it. It must not be used concurrently, except for its Options.
type Fleet struct {
	cluster  *observe.Cluster
	log      *decisions.Log
	latest   *decisions.Latest
	costs    *ledger.Ledger
	clock    stream.Clock
	random   *rand.Rand
	types    []*model.InstanceType
	machines []*machine
	waiting  []*corev1.Pod
	number   int
}

// New generates a cluster with this number of nodes. It binds this number of pods to them, besides those of DaemonSets, as
// far as it finds room. It adds a pending pod for each thousand of them, at least three.
func New(c stream.Clock, nodes, pods int, seed uint64) *Fleet {
	f := &Fleet{
		cluster: observe.New(c), log: decisions.New(c, nil), latest: &decisions.Latest{}, costs: ledger.New(nil, ""), clock: c,
		random: rand.New(rand.NewPCG(seed, 1)), types: instanceTypes(),
	}
	f.costs.Begin()
	for i := range pools {
		f.cluster.Set(newPool(i))
	}
	f.cluster.Set(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MinAvailable: &intstr.IntOrString{IntVal: 1},
		},
	})
	for i := range nodes {
		stage := 0
		switch {
		case i%97 == 5:
			stage = 2
		case i%97 == 6:
			stage = 1
		}
		f.addMachine(stage, time.Duration(f.random.IntN(72*3600))*time.Second)
	}
	for range pods {
		f.bindPod()
	}
	for range max(3, pods/1000) {
		f.addPending()
	}
	f.Decide()
	return f
}

// addMachine adds a node of a random type in the given stage (see newMachine), created age ago.
func (f *Fleet) addMachine(stage int, age time.Duration) *machine {
	pool := pools[f.random.IntN(10)/5]
	if f.random.IntN(25) == 0 {
		pool = pools[2]
	}
	t := f.types[f.random.IntN(len(f.types)-4)]
	for (t.Capacity[gpu] > 0) != (pool == pools[2]) || t.Capacity[corev1.ResourceCPU] > 32_000 {
		t = f.types[f.random.IntN(len(f.types))]
	}
	o := t.Offerings[2*f.random.IntN(3)]
	if pool == pools[1] || pool == pools[0] && f.random.IntN(3) > 0 {
		o = t.Offerings[2*f.random.IntN(3)+1]
	}
	m := f.newMachine(pool, t, o, stage, f.clock.Now().Add(-age))
	switch f.random.IntN(60) {
	case 0:
		m.claim.Status.Conditions = append(m.claim.Status.Conditions, metav1.Condition{
			Type: apiv1.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: "NodePoolDrifted", LastTransitionTime: metav1.Time{Time: f.clock.Now()},
		})
	case 1:
		if m.node != nil {
			m.node.Spec.Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
		}
	case 2:
		m.claim.DeletionTimestamp = &metav1.Time{Time: f.clock.Now()}
	}
	f.cluster.Set(m.claim)
	f.machines = append(f.machines, m)
	f.join(m)
	return m
}

// join adds the Node object of the machine with its DaemonSet pods.
func (f *Fleet) join(m *machine) {
	if m.node == nil {
		return
	}
	f.cluster.Set(m.node)
	for _, daemon := range []string{"node-agent", "network"} {
		f.bind(m, f.newPod(m.node.Name, "kube-system", "DaemonSet", daemon, requestsOf(100, 128, 0)))
	}
}

func (f *Fleet) bind(m *machine, pod *corev1.Pod) {
	m.pods = append(m.pods, pod)
	m.free = m.free.Minus(model.RequestsOf(pod.Spec.Containers[0].Resources.Requests))
	f.cluster.Set(pod)
}

// workload returns a random workload.
func (f *Fleet) workload() (namespace, kind, owner string, requests corev1.ResourceList) {
	i := f.random.IntN(400)
	namespace = [...]string{"shop", "search", "payments", "analytics", "ml", "ci"}[i%6]
	owner, kind = fmt.Sprintf("%s-%d", [...]string{"web", "api", "worker", "cache"}[i%4], i), "StatefulSet"
	return namespace, kind, owner, requestsOf(int64(100+50*(i%13)), int64(128+128*(i%17)), 0)
}

// bindPod adds a pod to a random node on which it fits. It returns false if it finds no such node after many attempts.
func (f *Fleet) bindPod() bool {
	namespace, kind, owner, requests := f.workload()
	need := model.RequestsOf(requests)
	for range 20 {
		m := f.machines[f.random.IntN(len(f.machines))]
		if m.node == nil {
			continue
		}
		if _, _, short := need.Short(m.free); short {
			continue
		}
		pod := f.newPod(m.node.Name, namespace, kind, owner, requests)
		if f.random.IntN(200) == 0 {
			pod.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
		}
		f.bind(m, pod)
		return true
	}
	return false
}

// addPending adds a pending pod. Some fit on no node, and some of these because they claim devices.
func (f *Fleet) addPending() {
	namespace, kind, owner, requests := f.workload()
	switch f.random.IntN(8) {
	case 0, 1:
		owner, requests = "training", requestsOf(2000, 8192, 16)
	case 2:
		f.AddClaiming()
		return
	}
	pod := f.newPod("", namespace, kind, owner, requests)
	f.waiting = append(f.waiting, pod)
	f.cluster.Set(pod)
}

// AddClaiming adds a pending pod that claims devices.
func (f *Fleet) AddClaiming() {
	pod := f.newPod("", claimNamespace, "StatefulSet", "notebook", requestsOf(2000, 8192, 0))
	claimDevices(pod)
	f.waiting = append(f.waiting, pod)
	f.cluster.Set(pod)
}

// withTypes returns the snapshot with the instance types of the NodePools.
func (f *Fleet) withTypes(s *model.Snapshot) *model.Snapshot {
	types := map[string][]*model.InstanceType{}
	for _, p := range s.Pools() {
		types[p.Name] = f.types
	}
	return s.Apply(model.Delta{Types: types})
}

// Options returns the options of a dashboard of the cluster.
func (f *Fleet) Options() dashboard.Options {
	return dashboard.Options{
		Cluster:   Cluster{f.cluster},
		WithTypes: func(_ context.Context, s *model.Snapshot) *model.Snapshot { return f.withTypes(s) },
		TypesOf:   func(context.Context, *apiv1.NodePool) ([]*model.InstanceType, error) { return f.types, nil },
		Decisions: f.log, Latest: f.latest, Costs: f.costs, Pack: pack.Options{Labels: apiv1.CoreLabels()},
		Leader: func() bool { return true }, Clock: f.clock,
		Claims: func(context.Context) (view.Claims, error) { return claims(), nil },
		Info:   view.Info{Cluster: "sample", Version: "sample", Region: "sample"},
	}
}
