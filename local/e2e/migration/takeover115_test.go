package migration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// Keys that upstream 1.15 adds, as literals.
const (
	disruptedTaint, rebootingTaint = "karpenter.sh/disrupted", "karpenter.sh/rebooting"
	preBootIDKey, rebootBoundKey   = "karpenter.sh/reboot-pre-boot-id", "karpenter.sh/reboot-termination-grace-period"
	doNotRepairKey                 = "karpenter.sh/do-not-repair"
	deletionCostKey                = "controller.kubernetes.io/pod-deletion-cost"
)

// The cluster of upstream 1.15.1 has the features of 1.15, which the values of its chart enable, and is in the middle of its
// work. Two nodes are marked for disruption, two are being rebooted, one is unhealthy and has do-not-repair, and a pod has a
// deletion cost. This project's controller takes over with the same values. It finishes the reboots, removes the marks, and
// replaces no node. When it is stopped during a reboot, its objects have what upstream needs to continue, and no other state.
// After a second takeover it finishes that reboot.
func TestTakeOverFromUpstream115(t *testing.T) {
	p := here
	values := chartValues(t)
	class := upstreamClass()
	class.Spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: false}
	p.put(t, class)
	pool := upstreamPool("default", apiv1.Budget{Nodes: "50%", Reasons: []apiv1.DisruptionReason{"Unhealthy"}}, apiv1.Budget{Nodes: "10%"})
	p.put(t, pool)
	var nodes []upstreamNode
	for _, name := range []string{"cost", "veto", "consolidated", "repaired", "requested", "issued"} {
		n := p.upstreamNode(t, pool, "default-"+name)
		p.fill(t, n)
		nodes = append(nodes, n)
	}
	cost, veto, consolidated, repaired, requested, issued := nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5]
	ranked := p.withDeletionCost(t, cost)
	p.annotate(t, veto.node, map[string]string{doNotRepairKey: "true"})
	p.setHardware(t, veto, corev1.ConditionFalse, "NvidiaXID79Error")
	p.markAsUpstream(t, consolidated, "Underutilized")
	p.markAsUpstream(t, repaired, "Unhealthy")
	p.rebootAsUpstream(t, requested, "RebootRequested", map[string]string{rebootBoundKey: "0s"})
	p.rebootAsUpstream(t, issued, "RebootIssued", map[string]string{rebootBoundKey: "5m0s", preBootIDKey: "before"})

	p.bootAfter(t, time.Hour)
	mark := p.now(t)
	stop := p.startWith(t, values)
	p.Poll(t, func(context.Context) string { return p.stamped(nodes) })
	p.Poll(t, func(context.Context) string { return p.unmarked(t, consolidated) + p.unmarked(t, repaired) })
	p.Poll(t, func(context.Context) string { return p.rebootEnded(t, issued) })
	p.Poll(t, func(context.Context) string { return p.rebootIs(t, requested, "RebootIssued") })
	p.Poll(t, func(context.Context) string { return p.noted(t, veto) })
	p.passes(t, 1)
	stop()
	p.handsOver(t, requested)

	p.stampAsUpstream(t)
	p.bootAfter(t, 0)
	p.startWith(t, values)
	p.Poll(t, func(context.Context) string { return p.rebootEnded(t, requested) })
	p.Poll(t, func(context.Context) string { return p.stamped(nodes) })
	p.passes(t, 1)
	p.kept(t, nodes, mark)
	if n := p.rebootCalls(t, mark); n != 1 {
		t.Errorf("EC2 was called for %d reboots, want the one that upstream had not called for", n)
	}
	var pod corev1.Pod
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(ranked), &pod); err != nil {
		t.Fatal(err)
	}
	if got := pod.Annotations[deletionCostKey]; got != "-3" || pod.UID != ranked.UID {
		t.Errorf("the deletion cost of upstream became %q, want -3 as before: it may as well be the user's", got)
	}
}

// chartValues returns the values of a release of upstream's chart.
func chartValues(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/values-1.15.1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// withDeletionCost creates the pod of a ReplicaSet on the node, with a deletion cost of upstream, and returns it.
func (p *place) withDeletionCost(t *testing.T, n upstreamNode) *corev1.Pod {
	t.Helper()
	labels := map[string]string{"app": "ranked"}
	template := pod("", map[string]string{"kubernetes.io/hostname": n.node.Labels["kubernetes.io/hostname"]}, "100m")
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "ranked", Namespace: "default"}}
	set.Spec = appsv1.ReplicaSetSpec{
		Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: template.Spec},
	}
	p.put(t, set)
	var found *corev1.Pod
	p.Poll(t, func(context.Context) string {
		var pods corev1.PodList
		if err := p.List(t.Context(), &pods, client.InNamespace("default"), client.MatchingLabels(labels)); err != nil {
			return err.Error()
		}
		if len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("%d pods of the ReplicaSet, want one that runs", len(pods.Items))
		}
		found = &pods.Items[0]
		return ""
	})
	p.annotate(t, found, map[string]string{deletionCostKey: "-3"})
	return found
}

// setHardware sets the condition that the node monitoring agent sets for GPUs, with a transition time one hour ago.
func (p *place) setHardware(t *testing.T, n upstreamNode, status corev1.ConditionStatus, reason string) {
	t.Helper()
	p.changeNode(t, n, func(node *corev1.Node) {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: "AcceleratedHardwareReady", Status: status, Reason: reason,
			LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)), LastHeartbeatTime: metav1.Now(),
		})
	})
}

// changeNode patches the status of a node.
func (p *place) changeNode(t *testing.T, n upstreamNode, change func(*corev1.Node)) {
	t.Helper()
	var node corev1.Node
	if err := p.Get(t.Context(), client.ObjectKey{Name: n.node.Name}, &node); err != nil {
		t.Fatal(err)
	}
	before := node.DeepCopy()
	change(&node)
	if err := p.Status().Patch(t.Context(), &node, client.StrategicMergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// taint adds a taint of upstream to the node and changes labels. An empty value removes the label.
func (p *place) taint(t *testing.T, n upstreamNode, key string, labels map[string]string) {
	t.Helper()
	var node corev1.Node
	if err := p.Get(t.Context(), client.ObjectKey{Name: n.node.Name}, &node); err != nil {
		t.Fatal(err)
	}
	before := node.DeepCopy()
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	maps.Copy(node.Labels, labels)
	maps.DeleteFunc(node.Labels, func(_, value string) bool { return value == "" })
	if err := p.Patch(t.Context(), &node, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// setConditions sets conditions of a claim as upstream does.
func (p *place) setConditions(t *testing.T, n upstreamNode, set ...metav1.Condition) {
	t.Helper()
	var claim apiv1.NodeClaim
	if err := p.Get(t.Context(), client.ObjectKey{Name: n.claim.Name}, &claim); err != nil {
		t.Fatal(err)
	}
	before := claim.DeepCopy()
	for _, c := range set {
		c.LastTransitionTime, c.ObservedGeneration = metav1.NewTime(time.Now().Truncate(time.Second)), claim.Generation
		claim.Status.Conditions = slices.DeleteFunc(claim.Status.Conditions, func(old metav1.Condition) bool { return old.Type == c.Type })
		claim.Status.Conditions = append(claim.Status.Conditions, c)
	}
	if err := p.Status().Patch(t.Context(), &claim, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// markAsUpstream marks a node for disruption as upstream does. Upstream stores only in memory which claim replaces the node.
func (p *place) markAsUpstream(t *testing.T, n upstreamNode, reason string) {
	t.Helper()
	p.setConditions(t, n, metav1.Condition{Type: "DisruptionReason", Status: "True", Reason: reason, Message: reason})
	p.taint(t, n, disruptedTaint, nil)
}

// rebootAsUpstream sets the state of a node in the middle of a reboot.
func (p *place) rebootAsUpstream(t *testing.T, n upstreamNode, reason string, annotations map[string]string) {
	t.Helper()
	p.annotate(t, n.claim, annotations)
	const why = "rebooting for AcceleratedHardwareReady/NvidiaXID48Error"
	set := []metav1.Condition{
		{Type: "DisruptionReason", Status: "True", Reason: "Unhealthy", Message: why},
		{Type: "Rebooting", Status: "True", Reason: reason, Message: why},
	}
	labels := map[string]string{}
	if reason == "RebootIssued" {
		set = append(set, metav1.Condition{Type: "Initialized", Status: "Unknown", Reason: "Rebooting", Message: why},
			metav1.Condition{Type: "Ready", Status: "Unknown", Reason: "UnhealthyDependents", Message: "Initialized=Unknown"})
		labels["karpenter.sh/initialized"] = ""
	}
	p.setConditions(t, n, set...)
	p.taint(t, n, rebootingTaint, labels)
}

// unmarked returns which of upstream's marks a node still has, "" if none.
func (p *place) unmarked(t *testing.T, n upstreamNode) string {
	t.Helper()
	claim, node := p.current(t, n)
	if condition.IsTrue(claim, "DisruptionReason") || len(node.Spec.Taints) > 0 {
		return fmt.Sprintf("node %s is still marked: %v; ", n.claim.Name, node.Spec.Taints)
	}
	return ""
}

// rebootIs returns how the reason of the node's condition Rebooting differs from reason, "" if it does not.
func (p *place) rebootIs(t *testing.T, n upstreamNode, reason string) string {
	t.Helper()
	claim, _ := p.current(t, n)
	if c := condition.Get(claim, "Rebooting"); c == nil || c.Reason != reason {
		return fmt.Sprintf("claim %s has the condition %v, want the reason %s", n.claim.Name, c, reason)
	}
	return ""
}

// rebootEnded returns what is missing until the reboot has succeeded and the node accepts pods, "" if nothing is.
func (p *place) rebootEnded(t *testing.T, n upstreamNode) string {
	t.Helper()
	claim, node := p.current(t, n)
	switch {
	case p.rebootIs(t, n, "RebootSucceeded") != "":
		return p.rebootIs(t, n, "RebootSucceeded")
	case condition.IsTrue(claim, "Rebooting", "DisruptionReason") || !condition.Ready(claim):
		return fmt.Sprintf("claim %s is not ready: %v", claim.Name, claim.Status.Conditions)
	case len(node.Spec.Taints) > 0 || node.Labels["karpenter.sh/initialized"] != "true" || claim.Annotations[preBootIDKey] != "":
		return fmt.Sprintf("node %s has taints %v, labels %v, annotations %v", node.Name, node.Spec.Taints, node.Labels, claim.Annotations)
	}
	return ""
}

// bootAfter sets how long instances take to boot, also after a reboot. Zero is the usual time of some seconds.
func (p *place) bootAfter(t *testing.T, d time.Duration) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	err := p.Steer().ClearBoot(ctx)
	if d > 0 {
		err = p.Steer().SetBoot(ctx, control.Boot{Delay: control.Duration(d)})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *place) current(t *testing.T, n upstreamNode) (*apiv1.NodeClaim, *corev1.Node) {
	t.Helper()
	claim, node, ctx := &apiv1.NodeClaim{}, &corev1.Node{}, context.WithoutCancel(t.Context())
	for o, name := range map[client.Object]string{claim: n.claim.Name, node: n.node.Name} {
		if err := p.Get(ctx, client.ObjectKey{Name: name}, o); err != nil {
			t.Fatal(err)
		}
	}
	return claim, node
}

// noted returns a text if our annotation on the claim lacks the time since which the hardware fails, otherwise "". The
// toleration of 10 minutes begins with the creation of the Node, so the node is not repaired during this test in any case.
func (p *place) noted(t *testing.T, n upstreamNode) string {
	t.Helper()
	claim, _ := p.current(t, n)
	if got := claim.Annotations[apiv1.UnhealthySinceAnnotationKey]; !strings.HasPrefix(got, "AcceleratedHardwareReady=False@") {
		return fmt.Sprintf("claim %s is unhealthy since %q", claim.Name, got)
	}
	return ""
}

// rebootCalls returns the number of calls to EC2 that reboot instances.
func (p *place) rebootCalls(t *testing.T, since int64) (n int) {
	t.Helper()
	for _, c := range p.calls(t, since) {
		if c.Action == "RebootInstances" {
			n++
		}
	}
	return n
}

// handsOver checks the state during a reboot that this project's controller has begun. The annotations and conditions are those
// with which upstream continues the reboot, and upstream's rules accept all objects.
func (p *place) handsOver(t *testing.T, rebooted upstreamNode) {
	t.Helper()
	claim, node := p.current(t, rebooted)
	if got := claim.Annotations[preBootIDKey]; got != node.Status.NodeInfo.BootID || claim.Annotations[rebootBoundKey] != "0s" {
		t.Errorf("the reboot has the annotations %v, want the boot ID %s", claim.Annotations, node.Status.NodeInfo.BootID)
	}
	initialized := condition.Get(claim, "Initialized")
	if initialized == nil || initialized.Status != metav1.ConditionUnknown || initialized.Reason != "Rebooting" {
		t.Errorf("Initialized is %v during a reboot", initialized)
	}
	if !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == rebootingTaint }) {
		t.Errorf("the node has the taints %v during a reboot", node.Spec.Taints)
	}
	known := []string{preBootIDKey, rebootBoundKey, doNotRepairKey, apiv1.UnhealthySinceAnnotationKey, apiv1.RebootCalledAnnotationKey}
	for _, o := range p.everything(t) {
		annotations := o.GetAnnotations()
		maps.DeleteFunc(annotations, func(key, _ string) bool { return slices.Contains(known, key) })
		o.SetAnnotations(annotations)
		if o.GetKind() != "Node" || o.GetName() != node.Name { // the taint of the rebooted node is expected
			p.acceptable(t, o)
		}
	}
}
