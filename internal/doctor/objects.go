package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/finding"
)

// pools checks that a NodePool exists, that NodePools, EC2NodeClasses and ClusterAPINodeClasses are ready, and that no
// limit of a NodePool is reached. NodePools of EKS Auto Mode are ignored.
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
		c.found("pools", finding.Warning, "create a NodePool: docs/nodepools.md has an example", "no NodePool exists: no nodes are launched")
	}
	for i := range pools.Items {
		p := &pools.Items[i]
		if ref := p.Spec.Template.Spec.NodeClassRef; ref != nil && ref.Group == "eks.amazonaws.com" {
			c.found("pools", finding.OK, "", "NodePool %s belongs to EKS Auto Mode: ignored", p.Name)
			continue
		}
		c.ready("NodePool", p.Name, p.Status.Conditions)
		c.limits(p)
	}
	for _, k := range classes.Items {
		c.ready("EC2NodeClass", k.Name, k.Status.Conditions)
	}
	if slices.ContainsFunc(pools.Items, ofMachines) { // otherwise the user may lack the permission
		c.machineClasses(ctx)
	}
}

// ofMachines reports whether the nodes of the pool are Machines of Cluster API.
func ofMachines(p apiv1.NodePool) bool {
	return p.Spec.Template.Spec.NodeClassRef != nil && p.Spec.Template.Spec.NodeClassRef.Kind == clusterapiv1alpha1.Kind
}

// machineClasses checks that the node classes of Cluster API are ready, and that their templates are valid and have prices.
func (c *Cluster) machineClasses(ctx context.Context) {
	classes := &clusterapiv1alpha1.ClusterAPINodeClassList{}
	if err := c.Client.List(ctx, classes); err != nil {
		if !meta.IsNoMatchError(err) {
			c.unread("pools", err)
		}
		return
	}
	for _, k := range classes.Items {
		c.ready("ClusterAPINodeClass", k.Name, k.Status.Conditions)
		for _, cond := range k.Status.Conditions {
			switch cond.Reason {
			case clusterapiv1alpha1.ReasonInvalidTemplates, clusterapiv1alpha1.ReasonUnknownPrices, clusterapiv1alpha1.ReasonPricesNotRead:
				c.found("pools", finding.Warning, remedies[cond.Reason], "ClusterAPINodeClass %s: %s: %s", k.Name, cond.Reason, cond.Message)
			}
		}
	}
}

// ready reports a finding: the object is ready, or the failed conditions because of which it is not, or the condition Ready
// is not determined yet.
func (c *Cluster) ready(kind, name string, conditions []metav1.Condition) {
	root := meta.FindStatusCondition(conditions, "Ready")
	if root != nil && root.Status == metav1.ConditionTrue {
		c.found("pools", finding.OK, "", "%s %s is ready", kind, name)
		return
	}
	var why []string
	for _, cond := range conditions {
		if cond.Type != "Ready" && fails(cond) && (cond.Reason != "" || cond.Message != "") {
			why = append(why, fmt.Sprintf("%s: %s: %s", cond.Type, cond.Reason, cond.Message))
		}
	}
	if root == nil || len(why) == 0 {
		c.found("pools", finding.Warning, "run it again after 1m; if the condition is still missing, check that the controller runs", "%s %s has no Ready condition yet", kind, name)
		return
	}
	c.found("pools", finding.Error, remedy(conditions), "%s %s is not ready: %s", kind, name,
		strings.Join(why, "; "))
}

// limits reports the limits of a NodePool that are reached.
func (c *Cluster) limits(p *apiv1.NodePool) {
	for name, limit := range p.Spec.Limits {
		used, ok := p.Status.Resources[name]
		if ok && used.Cmp(limit) >= 0 {
			c.found("pools", finding.Warning, fmt.Sprintf("raise spec.limits.%s, or remove workload", name), "NodePool %s has reached spec.limits.%s: %s of %s used",
				p.Name, name, used.String(), limit.String())
		}
	}
}

// drainTime is the time after which a drain is reported.
const drainTime = time.Hour

// usualJoinTime is the age at which the controller deletes a claim whose node has not joined, unless JoinTimes has another
// age for the kind of its node class.
const usualJoinTime = 15 * time.Minute

// joinTime returns the age at which the controller deletes the claim if its node has not joined. times are the ages by kind of
// node class that differ from usualJoinTime.
func joinTime(times map[schema.GroupKind]time.Duration, claim *apiv1.NodeClaim) time.Duration {
	if ref := claim.Spec.NodeClassRef; ref != nil {
		return cmp.Or(times[schema.GroupKind{Group: ref.Group, Kind: ref.Kind}], usualJoinTime)
	}
	return usualJoinTime
}

// claims reports NodeClaims that are stuck: the node did not join, or the drain does not end.
func (c *Cluster) claims(ctx context.Context) {
	claims := &apiv1.NodeClaimList{}
	if err := c.Client.List(ctx, claims); err != nil {
		if !meta.IsNoMatchError(err) {
			c.unread("claims", err)
		}
		return
	}
	var times map[schema.GroupKind]time.Duration
	if c.JoinTimes != nil && len(claims.Items) > 0 {
		var err error
		if times, err = c.JoinTimes(ctx, c.Setting); err != nil {
			c.found("claims", finding.Note, "run it as a user who is allowed to read them", "the launch timeouts of providers are not known: %v", err)
		}
	}
	stuck := 0
	for i := range claims.Items {
		n := &claims.Items[i]
		switch age := c.Now.Sub(n.CreationTimestamp.Time); {
		case n.DeletionTimestamp != nil && c.Now.Sub(n.DeletionTimestamp.Time) > drainTime:
			stuck++
			c.found("claims", finding.Warning, "list the remaining pods: kubectl get pods -A --field-selector spec.nodeName="+n.Status.NodeName+
				"; spec.template.spec.terminationGracePeriod in the NodePool bounds drains of future nodes", "NodeClaim %s has been terminating"+
				" since %s", n.Name, n.DeletionTimestamp.UTC().Format(time.RFC3339))
		case n.DeletionTimestamp == nil && age > joinTime(times, n) && !meta.IsStatusConditionTrue(n.Status.Conditions, apiv1.ConditionTypeRegistered):
			stuck++
			c.found("claims", finding.Error, "see its conditions and docs/troubleshooting.md: kubectl describe nodeclaim "+n.Name, "NodeClaim %s is %s old, but its node has not joined the cluster; the controller deletes such a NodeClaim after %s",
				n.Name, minutes(age), minutes(joinTime(times, n)))
		}
	}
	if stuck == 0 {
		c.found("claims", finding.OK, "", "%s, none stuck", counted(len(claims.Items), "NodeClaim"))
	}
}

// budgets reports PodDisruptionBudgets that block every eviction.
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
			c.found("budgets", finding.Warning, "allow at least one eviction (maxUnavailable: 1), or set spec.template.spec.terminationGracePeriod in the NodePool",
				"PodDisruptionBudget %s/%s blocks every eviction: nodes with its pods cannot be drained", b.Namespace, b.Name)
		}
	}
}

// autoscalers reports other autoscalers that act on the same pods and nodes.
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
			c.found("autoscalers", finding.Warning, "separate them by taints, or scale it to 0 after the migration: docs/migration-cluster-autoscaler.md#side-by-side",
				"Cluster Autoscaler runs as Deployment %s/%s: both launch nodes for the same pending pods", d.Namespace, d.Name)
		}
		if (d.Namespace != c.Namespace || d.Name != c.Deployment) && strings.Contains(d.Name, "karpenter") && replicas > 0 {
			c.second(d)
		}
	}
}

// second reports a Deployment that may be a second Karpenter. Both act, unless they elect their leader by the same Lease.
func (c *Cluster) second(d *appsv1.Deployment) {
	const unelected, variable = "disable-leader-election", "DISABLE_LEADER_ELECTION"
	other := settingOf(d, unelected, variable, "") == "true"
	switch karpenter := d.Name == "karpenter" || d.Labels["app.kubernetes.io/name"] == "karpenter"; {
	case c.deployment == nil:
		c.found("autoscalers", finding.Note, "if it is the controller, pass --namespace "+d.Namespace+" --deployment "+d.Name,
			"Deployment %s/%s may be Karpenter", d.Namespace, d.Name)
	case c.deployment.Spec.Replicas != nil && *c.deployment.Spec.Replicas == 0:
		c.found("autoscalers", finding.Note, "", "Deployment %s/%s may be Karpenter, and %s/%s has no replicas", d.Namespace, d.Name, c.Namespace, c.Deployment)
	case !other && c.Setting(unelected, variable, "") != "true" && leaseOf(d) == leaseOf(c.deployment):
		c.found("autoscalers", finding.Note, "", "Deployment %s/%s may be a second Karpenter: only the holder of the Lease acts", d.Namespace, d.Name)
	case karpenter:
		c.found("autoscalers", finding.Error, fmt.Sprintf("kubectl scale deployment %s -n %s --replicas=0, or remove the other one", d.Name, d.Namespace),
			"Deployment %s/%s is a second Karpenter and does not share the Lease %s: both launch and remove nodes", d.Namespace, d.Name,
			leaseOf(c.deployment))
	default:
		c.found("autoscalers", finding.Note, fmt.Sprintf("if it is, kubectl scale deployment %s -n %s --replicas=0", d.Name, d.Namespace),
			"Deployment %s/%s may be a second Karpenter that does not share the Lease %s: then both launch and remove nodes", d.Namespace, d.Name,
			leaseOf(c.deployment))
	}
}

// minutes returns a duration rounded to minutes, such as 20m or 1h0m.
func minutes(d time.Duration) string { return strings.TrimSuffix(d.Round(time.Minute).String(), "0s") }

// waiting is the age above which a pending pod is reported.
const waiting = 5 * time.Minute

// pending reports the number of pending pods without a node that are older than waiting.
func (c *Cluster) pending(ctx context.Context) {
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods); err != nil {
		c.unread("pods", err)
		return
	}
	var first *corev1.Pod
	count := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.NodeName != "" || p.Status.Phase != corev1.PodPending || p.DeletionTimestamp != nil {
			continue
		}
		if c.Now.Sub(p.CreationTimestamp.Time) > waiting {
			if first == nil {
				first = p
			}
			count++
		}
	}
	if count > 0 {
		c.found("pods", finding.Warning, fmt.Sprintf("karpenter explain pod %s -n %s", first.Name, first.Namespace),
			"%s pending for more than %s, for example %s/%s", counted(count, "pod"), minutes(waiting), first.Namespace, first.Name)
	}
}
