package nodepool

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// countPeriod is the interval at which the nodes of NodePools are counted. The status is not updated for every change of a node,
// because no decision depends on it.
const countPeriod = 5 * time.Second

// Counter writes status.resources and status.nodes of each NodePool.
type Counter struct {
	Client client.Client
	// Live reads NodePools from the API server after a conflict, see writeStatus. If it is nil, Client is used.
	Live  client.Reader
	Cloud cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Counter) Name() string { return "nodepool.counter" }

// Reconcile counts the nodes of the NodePool and writes the result if it has changed. It is repeated after countPeriod.
func (c *Counter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pool, err := get(ctx, c.Client, c.Cloud.Facts(), req)
	if pool == nil {
		return ctrl.Result{}, err
	}
	total, err := c.count(ctx, pool.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	nodes := total[model.Nodes]
	result, err := writeStatus(ctx, c.Client, c.Live, pool, func(pool *apiv1.NodePool) error {
		pool.Status.Resources, pool.Status.Nodes = total, nodes.Value()
		return nil
	})
	if err == nil && result.IsZero() {
		result.RequeueAfter = countPeriod
	}
	return result, err
}

// count returns the sum of the capacity of the NodePool's nodes, without those that are being disrupted or deleted. Launched
// claims whose node has not joined are included. The result always has cpu, memory, pods, ephemeral-storage and nodes, even if
// they are zero.
func (c *Counter) count(ctx context.Context, pool string) (corev1.ResourceList, error) {
	var claims apiv1.NodeClaimList
	var nodes corev1.NodeList
	ofPool := client.MatchingLabels{apiv1.NodePoolLabelKey: pool}
	// The objects are not changed here, so they are not copied from the cache: a NodePool may have thousands of nodes.
	if err := c.Client.List(ctx, &claims, ofPool, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list claims of pool %s: %w", pool, err)
	}
	if err := c.Client.List(ctx, &nodes, ofPool, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list nodes of pool %s: %w", pool, err)
	}
	byID := make(map[string]*corev1.Node, len(nodes.Items))
	for i := range nodes.Items {
		byID[nodes.Items[i].Spec.ProviderID] = &nodes.Items[i]
	}
	total := corev1.ResourceList{
		corev1.ResourceCPU: {}, corev1.ResourceMemory: {}, corev1.ResourcePods: {}, corev1.ResourceEphemeralStorage: {},
		model.Nodes: {},
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		id := claim.Status.ProviderID
		node := byID[id]
		delete(byID, id) // the nodes that remain have no claim
		if id != "" && !leaving(claim) {
			add(total, capacity(claim, node))
		}
	}
	for id, node := range byID {
		if id != "" && node.DeletionTimestamp == nil {
			add(total, node.Status.Capacity)
			add(total, one())
		}
	}
	return total, nil
}

// leaving reports whether the capacity of the claim does not count for the NodePool any more: the claim is being deleted, or its
// node is marked for disruption. A node that is being rebooted counts, because it stays.
func leaving(claim *apiv1.NodeClaim) bool {
	return claim.DeletionTimestamp != nil || condition.IsTrue(claim, apiv1.ConditionTypeInstanceTerminating) ||
		condition.IsTrue(claim, apiv1.ConditionTypeDisruptionReason) && !condition.IsTrue(claim, apiv1.ConditionTypeRebooting)
}

// capacity returns the capacity of the claim's node. Until the node is initialized, resources that it does not report yet are
// taken from the claim's status. node is nil if it has not joined.
func capacity(claim *apiv1.NodeClaim, node *corev1.Node) corev1.ResourceList {
	c := one()
	if node != nil {
		add(c, node.Status.Capacity)
	}
	if node == nil || node.Labels[apiv1.NodeInitializedLabelKey] != "true" {
		for name, q := range claim.Status.Capacity {
			if have := c[name]; have.IsZero() {
				c[name] = q.DeepCopy()
			}
		}
	}
	return c
}

// one returns a list in which the resource nodes is 1.
func one() corev1.ResourceList {
	return corev1.ResourceList{model.Nodes: *resource.NewQuantity(1, resource.DecimalSI)}
}

// add adds more to total.
func add(total, more corev1.ResourceList) {
	for name, q := range more {
		sum := total[name].DeepCopy()
		sum.Add(q)
		total[name] = sum
	}
}

// Register adds the controller to the manager.
func (c *Counter) Register(mgr ctrl.Manager) error {
	return overPools(mgr, c.Name(), workers.Number(c.CPUMillis, minWorkers, maxWorkers)).Complete(c)
}
