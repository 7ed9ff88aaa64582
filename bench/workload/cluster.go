package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// A Cluster is the input of one measurement.
type Cluster struct {
	Catalogue []catalogue.Type
	// Pods are pending and bound pods.
	Pods    []*corev1.Pod
	Daemons []*appsv1.DaemonSet
	Pools   []*apiv1.NodePool
	Nodes   []*corev1.Node
	Budgets []*policyv1.PodDisruptionBudget
}

// New returns a cluster without nodes: n pending pods of the profile, the named catalogue, four daemons, one pool.
func New(p Profile, n int, seed uint64, catalogue string) (*Cluster, error) {
	types, err := Catalogue(catalogue)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Catalogue: types, Pods: Pods(p, n, seed), Daemons: Daemons(), Pools: []*apiv1.NodePool{Pool("default")},
	}, nil
}

// Delta returns the cluster as input of the engine. Every NodePool may launch all types of the catalogue. It has no
// budgets, because the callers disrupt no nodes.
func (c *Cluster) Delta() (model.Delta, error) {
	types, err := catalogue.InstanceTypes(c.Catalogue)
	if err != nil {
		return model.Delta{}, err
	}
	d := model.Delta{
		Pods: c.Pods, Daemons: c.Daemons, Pools: c.Pools, Nodes: c.Nodes, Types: map[string][]*model.InstanceType{},
	}
	for _, p := range c.Pools {
		d.Types[p.Name] = types
	}
	return d, nil
}
