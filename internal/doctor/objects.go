package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/finding"
)

// pools looks whether pools and node classes are ready.
func (c *Cluster) pools(ctx context.Context) {
	pools := &apiv1.NodePoolList{}
	if err := c.Client.List(ctx, pools); err != nil {
		if !meta.IsNoMatchError(err) {
			c.unread("pools", err)
		}
		return
	}
	classes := &awsv1.EC2NodeClassList{}
	if err := c.Client.List(ctx, classes); err != nil && !meta.IsNoMatchError(err) {
		c.unread("pools", err)
	}
	if len(pools.Items) == 0 {
		c.found("pools", finding.Warning, "make one: docs/nodepools.md has one to begin with", "there is no NodePool, so there will be no nodes")
	}
	for i := range pools.Items {
		p := &pools.Items[i]
		if p.Spec.Template.Spec.NodeClassRef.Group == "eks.amazonaws.com" {
			c.found("pools", finding.OK, "", "NodePool %s is EKS Auto Mode's own and is left alone", p.Name)
			continue
		}
		c.ready("NodePool", p.Name, p.Status.Conditions)
		c.limits(p)
	}
	for _, k := range classes.Items {
		c.ready("EC2NodeClass", k.Name, k.Status.Conditions)
	}
}

// ready reports an object that is not ready, with the conditions that cause it.
func (c *Cluster) ready(kind, name string, conditions []metav1.Condition) {
	root := meta.FindStatusCondition(conditions, "Ready")
	if root != nil && root.Status == metav1.ConditionTrue {
		c.found("pools", finding.OK, "", "%s %s is ready", kind, name)
		return
	}
	var why []string
	for _, cond := range conditions {
		if cond.Type != "Ready" && cond.Status == metav1.ConditionFalse && (cond.Reason != "" || cond.Message != "") {
			why = append(why, fmt.Sprintf("%s: %s: %s", cond.Type, cond.Reason, cond.Message))
		}
	}
	if root == nil || len(why) == 0 {
		c.found("pools", finding.Warning, "wait a minute; if it stays, see whether the controller runs", "%s %s is not judged yet", kind, name)
		return
	}
	c.found("pools", finding.Error, remedy(conditions), "%s %s is not ready: %s", kind, name,
		strings.Join(why, "; "))
}

// limits reports a pool that has reached its limits.
func (c *Cluster) limits(p *apiv1.NodePool) {
	for name, limit := range p.Spec.Limits {
		used, ok := p.Status.Resources[name]
		if ok && used.Cmp(limit) >= 0 {
			c.found("pools", finding.Warning, "raise the limit, or make room", "NodePool %s has reached its limit of %s: %s of %s", p.Name, name,
				used.String(), limit.String())
		}
	}
}

const (
	joinTime  = 15 * time.Minute // what a node may take to join
	drainTime = time.Hour        // a drain that takes longer is worth a look
)

// claims looks for claims that hang.
func (c *Cluster) claims(ctx context.Context) {
	claims := &apiv1.NodeClaimList{}
	if err := c.Client.List(ctx, claims); err != nil {
		if !meta.IsNoMatchError(err) {
			c.unread("claims", err)
		}
		return
	}
	hanging := 0
	for i := range claims.Items {
		n := &claims.Items[i]
		switch age := c.Now.Sub(n.CreationTimestamp.Time); {
		case n.DeletionTimestamp != nil && c.Now.Sub(n.DeletionTimestamp.Time) > drainTime:
			hanging++
			c.found("claims", finding.Warning, "see what its pods wait for: kubectl get pods -A --field-selector spec.nodeName="+n.Status.NodeName+
				"; terminationGracePeriod in the NodePool ends drains", "NodeClaim %s has been going away since %s", n.Name,
				n.DeletionTimestamp.UTC().Format(time.RFC3339))
		case n.DeletionTimestamp == nil && age > joinTime && !meta.IsStatusConditionTrue(n.Status.Conditions, apiv1.ConditionTypeRegistered):
			hanging++
			c.found("claims", finding.Error, "docs/troubleshooting.md, nodes that do not join", "NodeClaim %s is %s old and its node has not joined",
				n.Name, age.Round(time.Minute))
		}
	}
	if hanging == 0 {
		c.found("claims", finding.OK, "", "%s, none hangs", counted(len(claims.Items), "claim"))
	}
}

// budgets looks for disruption budgets that never allow an eviction.
func (c *Cluster) budgets(ctx context.Context) {
	list := &policyv1.PodDisruptionBudgetList{}
	if err := c.Client.List(ctx, list); err != nil {
		c.unread("budgets", err)
		return
	}
	for i := range list.Items {
		b := &list.Items[i]
		never := b.Spec.MaxUnavailable != nil && (b.Spec.MaxUnavailable.String() == "0" || b.Spec.MaxUnavailable.String() == "0%") ||
			b.Spec.MinAvailable != nil && b.Spec.MinAvailable.String() == "100%" ||
			b.Status.ExpectedPods > 0 && b.Status.DesiredHealthy >= b.Status.ExpectedPods
		if never {
			c.found("budgets", finding.Warning, "allow one pod to go, or set terminationGracePeriod in the NodePool",
				"PodDisruptionBudget %s/%s never allows an eviction: nodes with its pods are not drained", b.Namespace, b.Name)
		}
	}
}

// autoscalers looks for others that would fight over the same nodes.
func (c *Cluster) autoscalers(ctx context.Context) {
	list := &appsv1.DeploymentList{}
	if err := c.Client.List(ctx, list); err != nil {
		c.unread("autoscalers", err)
		return
	}
	for i := range list.Items {
		d := &list.Items[i]
		replicas := int32(1)
		if d.Spec.Replicas != nil {
			replicas = *d.Spec.Replicas
		}
		if strings.Contains(d.Name, "cluster-autoscaler") && replicas > 0 {
			c.found("autoscalers", finding.Warning, "keep them apart by taints, or scale it to 0 when all has moved: docs/migration.md",
				"Cluster Autoscaler runs too, as %s/%s: both see the same pending pods", d.Namespace, d.Name)
		}
		if d.Name != c.Deployment && strings.Contains(d.Name, "karpenter") && replicas > 0 {
			c.found("autoscalers", finding.Note, "", "%s/%s may be a second Karpenter: only the holder of the lease acts", d.Namespace, d.Name)
		}
	}
}

func have(pods int) string {
	if pods == 1 {
		return "1 pod has"
	}
	return fmt.Sprintf("%d pods have", pods)
}

// waiting is how long a pod may be pending before it is worth a word.
const waiting = 5 * time.Minute

// pending counts pods that have waited for a node for long.
func (c *Cluster) pending(ctx context.Context) {
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods); err != nil {
		c.unread("pods", err)
		return
	}
	var names []string
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.NodeName != "" || p.Status.Phase != corev1.PodPending || p.DeletionTimestamp != nil {
			continue
		}
		if c.Now.Sub(p.CreationTimestamp.Time) > waiting {
			names = append(names, p.Namespace+"/"+p.Name)
		}
	}
	if len(names) > 0 {
		c.found("pods", finding.Warning, "kubectl describe pod: the event FailedScheduling says for each pool why not",
			"%s waited for a node for more than %s, such as %s", have(len(names)), waiting, names[0])
	}
}
