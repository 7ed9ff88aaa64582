package kwok

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// held is a finalizer that keeps a deleted pod until release removes it.
const held = "e2e.example.com/held"

func hold(t *corev1.PodTemplateSpec) { t.Finalizers = append(t.Finalizers, held) }

// alone creates a pod without an owner, which is not created again after its eviction.
func (c *corner) alone(app string, change ...func(*corev1.PodTemplateSpec)) {
	c.t.Helper()
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: c.name, Labels: map[string]string{"app": app}}, Spec: c.podSpec("100m")}
	for _, do := range change {
		do(&t)
	}
	c.put(&corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec})
}

// release removes the finalizer of the deleted pods of an app, or of all apps if app is empty.
func (c *corner) release(app string) (left int) {
	c.t.Helper()
	for _, p := range c.pods() {
		if app != "" && p.Labels["app"] != app {
			continue
		}
		left++
		if i := slices.Index(p.Finalizers, held); i >= 0 {
			p.Finalizers = slices.Delete(p.Finalizers, i, i+1)
			if err := c.Update(context.WithoutCancel(c.t.Context()), &p); client.IgnoreNotFound(err) != nil {
				c.t.Logf("release %s: %v", p.Name, err)
			}
		}
	}
	return left
}

func (c *corner) pods() []corev1.Pod {
	c.t.Helper()
	var list corev1.PodList
	c.list(&list, c.here())
	return list.Items
}

// leaving returns the names of the apps with pods on the node that are being deleted, sorted.
func (c *corner) leaving(node string) string {
	var apps []string
	for _, p := range c.pods() {
		if p.DeletionTimestamp != nil && p.Spec.NodeName == node {
			apps = append(apps, p.Labels["app"])
		}
	}
	slices.Sort(apps)
	return strings.Join(apps, " ")
}

func critical(class string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { t.Spec.PriorityClassName = class }
}

// Pods are evicted from a node in four tiers, one after another. The drain does not wait for pods that tolerate the disruption
// taint.
func TestOrderOfLeaving(t *testing.T) {
	shownBy(t, "deleted_nodes_leave_in_order")
	t.Parallel()
	c := newCorner(t, "tiers")
	c.pool()
	c.alone("web", hold)
	c.alone("vital", hold, critical("system-cluster-critical"))
	c.daemon("agent", "100m", hold)
	c.daemon("vital-agent", "100m", hold, critical("system-node-critical"))
	c.daemon("stays", "100m", func(t *corev1.PodTemplateSpec) {
		t.Spec.Tolerations = append(t.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
	})
	t.Cleanup(func() {
		if err := shared.DeleteAllOf(context.WithoutCancel(t.Context()), &appsv1.DaemonSet{}, client.InNamespace(c.name)); err != nil {
			t.Logf("delete daemons: %v", err)
		}
		c.release("")
	})
	for _, app := range []string{"web", "vital", "agent", "vital-agent", "stays"} {
		c.awaitRunning(app, 1)
	}
	node := c.awaitNodes(1)[0]
	if err := c.Delete(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	for _, app := range []string{"web", "agent", "vital", "vital-agent"} {
		c.poll(func() string {
			return missing(c.leaving(node.Name) == app, "%q leave, want %s", c.leaving(node.Name), app)
		})
		for _, p := range c.pods() {
			if p.Labels["app"] == "stays" && p.Spec.NodeName == node.Name && p.DeletionTimestamp != nil {
				t.Error("a pod that tolerates that the node goes was evicted")
			}
		}
		c.release(app)
	}
	c.awaitGone(node.Name)
}

// A pod whose grace period is longer than the remaining time of its node is deleted with a shorter grace period that ends with
// that time. This happens despite do-not-disrupt and PodDisruptionBudgets.
func TestLongGraceIsCut(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "long-grace")
	c.pool(func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: 40 * time.Second}
	})
	c.alone("web", hold, func(t *corev1.PodTemplateSpec) {
		long := int64(3600)
		t.Spec.TerminationGracePeriodSeconds = &long
		t.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
	})
	t.Cleanup(func() { c.release("") })
	c.awaitRunning("web", 1)
	node := c.awaitNodes(1)[0]
	claim := c.claims()[0]
	if err := c.Delete(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	c.poll(func() string { return missing(c.leaving(node.Name) == "web", "the pod is not told to end") })
	c.poll(func() string {
		return missing(c.Get(t.Context(), clientKey(&claim), &claim) != nil || claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] != "", "the claim does not say when it ends")
	})
	p := c.pods()[0]
	if p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds > 40 {
		t.Errorf("the pod has %v seconds to end, its node only 40", p.DeletionGracePeriodSeconds)
	}
	c.release("web")
	c.awaitGone(node.Name)
}
