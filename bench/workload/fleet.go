package workload

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// apps is the number of deployments among which the pods of a fleet are distributed evenly.
const apps = 80

// Fleet describes nodes with pods, in a state as after a day of scaling out and in.
type Fleet struct {
	// Nodes is the number of nodes. Pools is the number of NodePools among which they are distributed evenly.
	Nodes, Pools int
	// Keep is the fraction of pods that remain on nodes that were full, from 0 to 1.
	Keep float64
	// Budgets gives every deployment a PodDisruptionBudget of 10%.
	Budgets bool
	Seed    uint64
}

// Cluster returns the fleet's pools, nodes, bound pods and budgets. The nodes are of the catalogue's amd64 types from
// xlarge to 8xlarge, on-demand.
func (f Fleet) Cluster(types []catalogue.Type) (*Cluster, error) {
	c := &Cluster{Catalogue: types}
	sizes := []string{"xlarge", "2xlarge", "4xlarge", "8xlarge"}
	var usual []catalogue.Type
	for _, t := range types {
		if t.Arch == apiv1.ArchitectureAmd64 && slices.Contains(sizes, t.Labels["karpenter.k8s.aws/instance-size"]) {
			usual = append(usual, t)
		}
	}
	if len(usual) == 0 {
		return nil, fmt.Errorf("the catalogue of %d types has no amd64 type of size xlarge to 8xlarge", len(types))
	}
	for k := range max(f.Pools, 1) {
		c.Pools = append(c.Pools, Pool(fmt.Sprintf("pool%d", k)))
	}
	if f.Budgets {
		for k := range apps {
			c.Budgets = append(c.Budgets, budget(k))
		}
	}
	d := newDice(f.Seed)
	for i := range f.Nodes {
		t := pick(d, usual...)
		node, room, err := f.node(d, i, t)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, node)
		f.fill(d, c, node.Name, room)
	}
	return c, nil
}

func (f Fleet) node(d dice, i int, t catalogue.Type) (*corev1.Node, model.Resources, error) {
	room, err := t.Resources()
	if err != nil {
		return nil, nil, err
	}
	var zones []string
	for _, o := range t.Offerings {
		if o.CapacityType == apiv1.CapacityTypeOnDemand {
			zones = append(zones, o.Zone)
		}
	}
	name := fmt.Sprintf("n%d", i)
	pool := fmt.Sprintf("pool%d", i%max(f.Pools, 1))
	return NewNode(name, pool, pick(d, zones...), apiv1.CapacityTypeOnDemand, t), room, nil
}

// NewNode returns a ready node of the type, as the pool would have launched it.
func NewNode(name, pool, zone, capacityType string, t catalogue.Type) *corev1.Node {
	n := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{
			apiv1.NodePoolLabelKey: pool, apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
			apiv1.CapacityTypeLabelKey: capacityType, corev1.LabelTopologyZone: zone, corev1.LabelHostname: name,
			corev1.LabelInstanceTypeStable: t.Name, corev1.LabelArchStable: t.Arch, corev1.LabelOSStable: string(corev1.Linux),
		}},
		Spec: corev1.NodeSpec{ProviderID: "aws:///" + zone + "/i-" + name},
	}
	maps.Copy(n.Labels, t.Labels)
	amounts := corev1.ResourceList{}
	for resourceName, text := range t.Allocatable {
		amounts[corev1.ResourceName(resourceName)] = resource.MustParse(text)
	}
	n.Status = corev1.NodeStatus{
		Capacity: amounts, Allocatable: amounts,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}
	return n
}

// fill draws pods for the node until one no longer fits, the node is almost full, or 100 are drawn. It adds each drawn pod
// to c with the probability f.Keep.
func (f Fleet) fill(d dice, c *Cluster, node string, room model.Resources) {
	cpu, mebibytes, pods := room[corev1.ResourceCPU], room[corev1.ResourceMemory]>>20, min(room[corev1.ResourcePods], 100)
	for ; cpu > 200 && mebibytes > 300 && pods > 0; pods-- {
		milli := pick[int64](d, 100, 250, 500, 1000, 2000)
		memory := milli * pick[int64](d, 1, 2, 4, 6)
		if milli > cpu || memory > mebibytes {
			return
		}
		cpu, mebibytes = cpu-milli, mebibytes-memory
		if d.Float64() < f.Keep {
			c.Pods = append(c.Pods, boundPod(len(c.Pods), node, milli, memory))
		}
	}
}

func boundPod(i int, node string, milliCPU, mebibytes int64) *corev1.Pod {
	app, name, yes := fmt.Sprintf("a%d", i%apps), fmt.Sprintf("bound%d", i), true
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("uid-" + name), Labels: map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID("uid-" + app), Controller: &yes,
			}},
		},
		Spec: corev1.PodSpec{
			NodeName:   node,
			Containers: []corev1.Container{{Name: "c", Image: "pause", Resources: Requests(milliCPU, mebibytes)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func budget(app int) *policyv1.PodDisruptionBudget {
	name, share := fmt.Sprintf("a%d", app), intstr.FromString("10%")
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &share, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		},
	}
}
