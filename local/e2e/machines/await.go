package machines

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/clusterapi"
)

// Missing returns "" if ok, else the text. It is for the functions that Poll calls.
func Missing(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// Poll waits until done returns "". done returns what is missing.
func (s *Scene) Poll(done func(context.Context) string) {
	s.T.Helper()
	s.Workload.Poll(s.T, done)
}

// Claims returns the claims of a NodePool.
func (s *Scene) Claims(ctx context.Context, pool string) []apiv1.NodeClaim {
	s.T.Helper()
	var list apiv1.NodeClaimList
	if err := s.Workload.List(ctx, &list, client.MatchingLabels{apiv1.NodePoolLabelKey: pool}); err != nil {
		s.T.Fatal(err)
	}
	return list.Items
}

// Objects returns the scene's objects of a kind in the management cluster that Karpenter has created.
func (s *Scene) Objects(ctx context.Context, kind schema.GroupVersionKind) []unstructured.Unstructured {
	s.T.Helper()
	list := &unstructured.UnstructuredList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	if err := s.Manager.List(ctx, list, client.MatchingLabels{apiv1.NodePoolLabelKey: s.Name}); err != nil {
		s.T.Fatal(err)
	}
	return list.Items
}

// Types returns the number of claims by size of their template.
func Types(claims []apiv1.NodeClaim) map[string]int {
	out := map[string]int{}
	for i := range claims {
		name := claims[i].Labels[corev1.LabelInstanceTypeStable]
		out[name[strings.LastIndexByte(name, '-')+1:]]++
	}
	return out
}

// AwaitPool waits until the NodePool is ready if ready is true, or not ready if ready is false, and returns the NodePool.
func (s *Scene) AwaitPool(name string, ready bool) (pool *apiv1.NodePool) {
	s.T.Helper()
	pool = &apiv1.NodePool{}
	s.Poll(func(ctx context.Context) string {
		if err := s.Workload.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
			return err.Error()
		}
		return Missing(condition.Ready(pool) == ready, "NodePool %s has the conditions %+v, want ready %t", name, pool.Status.Conditions, ready)
	})
	return pool
}

// awaitDomains waits until the Cluster has its failure domains. Without them, all Machines would be in one zone.
func (s *Scene) awaitDomains() {
	s.T.Helper()
	s.Poll(func(ctx context.Context) string {
		u := s.Object(ClusterKind, cluster.Name, nil)
		if err := s.Manager.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err.Error()
		}
		domains, _, _ := unstructured.NestedSlice(u.Object, "status", "failureDomains")
		return Missing(len(domains) == len(clusterapi.Zones), "the Cluster has the failure domains %v", domains)
	})
}

// AwaitRunning waits until n pods of the scene run and no others exist, and returns the names of their nodes, sorted and
// each once.
func (s *Scene) AwaitRunning(n int) (nodes []string) {
	s.T.Helper()
	s.Poll(func(ctx context.Context) string {
		var pods corev1.PodList
		if err := s.Workload.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"app": s.Name}); err != nil {
			return err.Error()
		}
		nodes = nil
		for i := range pods.Items {
			if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				nodes = append(nodes, p.Spec.NodeName)
			}
		}
		return Missing(len(nodes) == n && len(pods.Items) == n, "%d of %d pods run, want %d", len(nodes), len(pods.Items), n)
	})
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// AwaitSettled waits until the scene has exactly n claims and is settled, and returns the claims. Settled means that all claims
// are ready, that each has a node, one Machine that knows the node, one hollow machine and one config, and that there are no
// others of these objects.
func (s *Scene) AwaitSettled(n int) (claims []apiv1.NodeClaim) {
	s.T.Helper()
	s.Poll(func(ctx context.Context) string {
		claims = s.Claims(ctx, s.Name)
		if missing := s.settled(ctx, claims); missing != "" {
			return missing
		}
		return Missing(len(claims) == n, "%d claims, want %d", len(claims), n)
	})
	return claims
}

// AwaitSizes waits until the scene is settled (see AwaitSettled) and has exactly claims of these sizes, and returns the claims.
func (s *Scene) AwaitSizes(sizes ...string) (claims []apiv1.NodeClaim) {
	s.T.Helper()
	want := map[string]int{}
	for _, size := range sizes {
		want[size]++
	}
	s.Poll(func(ctx context.Context) string {
		claims = s.Claims(ctx, s.Name)
		if missing := s.settled(ctx, claims); missing != "" {
			return missing
		}
		return Missing(maps.Equal(Types(claims), want), "claims are of the sizes %v, want %v", Types(claims), want)
	})
	return claims
}

// settled returns "" if the claims are settled, else what is missing.
func (s *Scene) settled(ctx context.Context, claims []apiv1.NodeClaim) string {
	owned := map[string]bool{}
	for i := range claims {
		c := &claims[i]
		if !condition.Ready(c) || c.DeletionTimestamp != nil {
			return fmt.Sprintf("claim %s has the conditions %+v", c.Name, c.Status.Conditions)
		}
		if err := s.Workload.Get(ctx, client.ObjectKey{Name: c.Status.NodeName}, &corev1.Node{}); err != nil {
			return err.Error()
		}
		owned[string(c.UID)] = true
	}
	for _, kind := range parts {
		seen := map[string]bool{}
		for _, u := range s.Objects(ctx, kind) {
			uid := u.GetLabels()[clusterapiv1alpha1.ClaimUIDLabelKey]
			if !owned[uid] || seen[uid] {
				return fmt.Sprintf("%s %s has no claim of its own", kind.Kind, u.GetName())
			}
			seen[uid] = true
			if node, _, _ := unstructured.NestedString(u.Object, "status", "nodeRef", "name"); kind == MachineKind && node == "" {
				return "Machine " + u.GetName() + " has no node"
			}
		}
		if len(seen) != len(claims) {
			return fmt.Sprintf("%d objects of kind %s for %d claims", len(seen), kind.Kind, len(claims))
		}
	}
	return ""
}

// AwaitGone waits until the scene has no claims, nodes, Machines or copies of templates.
func (s *Scene) AwaitGone() {
	s.T.Helper()
	s.Poll(func(ctx context.Context) string {
		for _, kind := range parts {
			if left := s.Objects(ctx, kind); len(left) > 0 {
				return fmt.Sprintf("%d objects of kind %s are left, such as %s", len(left), kind.Kind, left[0].GetName())
			}
		}
		var nodes corev1.NodeList
		if err := s.Workload.List(ctx, &nodes, client.MatchingLabels{"scene": s.Name}); err != nil {
			return err.Error()
		}
		claims := len(s.Claims(ctx, s.Name))
		return Missing(claims == 0 && len(nodes.Items) == 0, "%d claims and %d nodes are left", claims, len(nodes.Items))
	})
}

// AwaitDeleted waits until the object of the cluster of the nodes does not exist.
func (s *Scene) AwaitDeleted(o client.Object) {
	s.T.Helper()
	s.Poll(func(ctx context.Context) string {
		err := s.Workload.Get(ctx, client.ObjectKeyFromObject(o), o)
		return Missing(err != nil && client.IgnoreNotFound(err) == nil, "%T %s still exists (%v)", o, o.GetName(), err)
	})
}
