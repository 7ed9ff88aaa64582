package kwok

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// cornerKey is the key of a label and a taint that reserve nodes for the pods of one corner.
const cornerKey = "e2e.example.com/corner"

// patience is how long a test waits for one condition, possibly on a busy machine. The tests do not check speed.
const patience = 4 * time.Minute

// A corner is one test's part of the cluster: a namespace, and pools whose nodes only the pods of the test tolerate. When the
// test ends, all of that is deleted.
type corner struct {
	client.WithWatch
	t     *testing.T
	name  string
	pools []string
}

func newCorner(t *testing.T, name string) *corner {
	t.Helper()
	c := &corner{WithWatch: shared, t: t, name: name}
	t.Cleanup(c.leave)
	c.poll(func() string { // the namespace of an earlier run of the test may still be terminating
		err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		return missing(err == nil, "namespace %s: %v", name, err)
	})
	c.poll(func() string {
		var accounts corev1.ServiceAccountList
		c.list(&accounts, c.here())
		return missing(len(accounts.Items) > 0, "namespace %s has no service account", name)
	})
	return c
}

func missing(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// here selects objects in the corner's namespace, and mine its claims and nodes.
func (c *corner) here() client.ListOption { return client.InNamespace(c.name) }
func (c *corner) mine() client.ListOption { return client.MatchingLabels{cornerKey: c.name} }

func (c *corner) put(objects ...client.Object) {
	c.t.Helper()
	for _, o := range objects {
		if err := c.Create(c.t.Context(), o); err != nil {
			c.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// change updates an object, and tries again after a conflict.
func (c *corner) change(o client.Object, do func()) {
	c.t.Helper()
	for {
		if err := c.Get(c.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			c.t.Fatalf("get %T %s: %v", o, o.GetName(), err)
		}
		do()
		err := c.Update(c.t.Context(), o)
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			c.t.Fatalf("update %T %s: %v", o, o.GetName(), err)
		}
	}
}

func (c *corner) list(list client.ObjectList, opts ...client.ListOption) {
	c.t.Helper()
	if err := c.List(context.WithoutCancel(c.t.Context()), list, opts...); err != nil {
		c.t.Fatal(err)
	}
}

// poll waits until done returns "". It may also be used during clean-up.
func (c *corner) poll(done func() string) {
	c.t.Helper()
	c.pollFor(patience, done)
}

// pollFor is poll with another time limit.
func (c *corner) pollFor(limit time.Duration, done func() string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), limit)
	defer cancel()
	lacks := "nothing seen"
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		lacks = done()
		return lacks == "", nil
	})
	if err != nil {
		c.t.Fatalf("%s (%v)", lacks, err)
	}
}

// holds checks repeatedly, for the time d, that problem returns "". It is needed only to check that something does not happen.
func (c *corner) holds(d time.Duration, problem func() string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), d)
	defer cancel()
	said := ""
	_ = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		said = problem()
		return said != "", nil
	})
	if said != "" {
		c.t.Fatal(said)
	}
}

func (c *corner) nodes() []corev1.Node {
	c.t.Helper()
	var list corev1.NodeList
	c.list(&list, c.mine())
	return list.Items
}

func (c *corner) claims() []apiv1.NodeClaim {
	c.t.Helper()
	var list apiv1.NodeClaimList
	c.list(&list, c.mine())
	return list.Items
}

// awaitNodes waits until there are exactly n nodes, all of them initialized, and returns them.
func (c *corner) awaitNodes(n int) (nodes []corev1.Node) {
	c.t.Helper()
	c.poll(func() string {
		nodes = c.nodes()
		up := 0
		for i := range nodes {
			if nodes[i].Labels[apiv1.NodeInitializedLabelKey] == "true" {
				up++
			}
		}
		return missing(len(nodes) == n && up == n, "%d nodes, %d initialized; want %d", len(nodes), up, n)
	})
	return nodes
}

// awaitGone waits until the node is gone.
func (c *corner) awaitGone(node string) {
	c.t.Helper()
	c.poll(func() string {
		for _, n := range c.nodes() {
			if n.Name == node {
				return "node " + node + " is still there"
			}
		}
		return ""
	})
}

// awaitRunning waits until there are exactly n pods of an app, all of them running, and returns them.
func (c *corner) awaitRunning(app string, n int) (pods []corev1.Pod) {
	c.t.Helper()
	c.poll(func() string {
		var list corev1.PodList
		c.list(&list, c.here(), client.MatchingLabels{"app": app})
		pods = list.Items
		running := 0
		for _, p := range pods {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				running++
			}
		}
		return missing(running == n && len(pods) == n, "%d of %d pods of %s run, want %d", running, len(pods), app, n)
	})
	return pods
}

// pool creates a pool for Linux on amd64. Its empty nodes stay, unless change says otherwise.
func (c *corner) pool(change ...func(*apiv1.NodePool)) *apiv1.NodePool {
	c.t.Helper()
	p := c.poolObject(change...)
	c.put(p)
	c.pools = append(c.pools, p.Name)
	return p
}

func (c *corner) poolObject(change ...func(*apiv1.NodePool)) *apiv1.NodePool {
	p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", c.name, len(c.pools))}}
	p.Spec.Template.Labels = map[string]string{cornerKey: c.name}
	p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: cornerKey, Value: c.name, Effect: corev1.TaintEffectNoSchedule}}
	p.Spec.Template.Spec.NodeClassRef = classRef("default")
	p.Spec.Template.Spec.Requirements = needs{in(corev1.LabelOSStable, "linux"), in(corev1.LabelArchStable, "amd64")}
	p.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("Never")
	for _, do := range change {
		do(p)
	}
	return p
}

func classRef(name string) *apiv1.NodeClassReference {
	return &apiv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: name}
}

type needs = []apiv1.NodeSelectorRequirementWithMinValues

func in(key string, values ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// podSpec returns a pod that requests CPU and selects only the nodes of the corner.
func (c *corner) podSpec(cpu string) corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To(int64(0)),
		NodeSelector:                  map[string]string{cornerKey: c.name},
		Tolerations: []corev1.Toleration{{
			Key: cornerKey, Operator: corev1.TolerationOpEqual, Value: c.name, Effect: corev1.TaintEffectNoSchedule,
		}},
		Containers: []corev1.Container{{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}},
	}
}

// deploy creates a Deployment with the given number of pods.
func (c *corner) deploy(name string, replicas int32, cpu string, change ...func(*corev1.PodTemplateSpec)) *appsv1.Deployment {
	c.t.Helper()
	labels := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: c.podSpec(cpu)}
	for _, do := range change {
		do(&template)
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template,
		},
	}
	c.put(d)
	return d
}

func (c *corner) scale(d *appsv1.Deployment, n int32) {
	c.t.Helper()
	c.change(d, func() { d.Spec.Replicas = &n })
}

// apart adds anti-affinity, so that pods of one app run on different nodes.
func apart(t *corev1.PodTemplateSpec) {
	t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: t.Labels},
		}},
	}}
}

// leave deletes the objects of the test and waits until they are gone.
func (c *corner) leave() {
	if c.t.Failed() {
		c.tell()
	}
	ctx := context.WithoutCancel(c.t.Context())
	remove := func(err error) {
		if client.IgnoreNotFound(err) != nil {
			c.t.Error(err)
		}
	}
	for _, kind := range []client.Object{
		&autoscalingv1beta1.CapacityBuffer{}, &appsv1.Deployment{}, &appsv1.DaemonSet{}, &policyv1.PodDisruptionBudget{},
	} {
		remove(c.DeleteAllOf(ctx, kind, client.InNamespace(c.name), client.PropagationPolicy("Background")))
	}
	remove(c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(c.name), client.GracePeriodSeconds(0)))
	remove(c.DeleteAllOf(ctx, &overlayv1alpha1.NodeOverlay{}, client.MatchingLabels{cornerKey: c.name}))
	for _, pool := range c.pools {
		remove(c.Delete(ctx, &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool}}, client.PropagationPolicy("Background")))
	}
	remove(c.DeleteAllOf(ctx, &apiv1.NodeClaim{}, client.MatchingLabels{cornerKey: c.name}))
	c.poll(func() string {
		claims, nodes := len(c.claims()), len(c.nodes())
		return missing(claims+nodes == 0, "%d claims and %d nodes are left", claims, nodes)
	})
	remove(c.Delete(ctx, &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: c.name}})) // few tests have one
	remove(c.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.name}}))
}

// tell logs the objects of the corner and the controller's events about them, after the test has failed.
func (c *corner) tell() {
	var b strings.Builder
	for _, o := range c.claims() {
		fmt.Fprintf(&b, "claim %s, deleted %v: %v\n", o.Name, o.DeletionTimestamp, o.Status.Conditions)
	}
	for _, o := range c.nodes() {
		fmt.Fprintf(&b, "node %s, deleted %v, taints %v\n", o.Name, o.DeletionTimestamp, o.Spec.Taints)
	}
	var pods corev1.PodList
	c.list(&pods, c.here())
	for _, o := range pods.Items {
		fmt.Fprintf(&b, "pod %s %s on %q\n", o.Name, o.Status.Phase, o.Spec.NodeName)
	}
	log, err := os.ReadFile(local.Dir().Log(cluster.ControllerName))
	if err != nil {
		log = []byte(err.Error())
	}
	lines := slices.DeleteFunc(strings.Split(string(log), "\n"), func(line string) bool { return !strings.Contains(line, c.name) })
	c.t.Logf("what is there:\n%s\nthe controller's last words on %s:\n%s",
		b.String(), c.name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
}

func clientKey(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

// awaitDrifted waits until exactly n claims have the condition Drifted, with the reason if it is not empty.
func (c *corner) awaitDrifted(n int, reason string) {
	c.t.Helper()
	c.poll(func() string {
		drifted, said := 0, ""
		for _, claim := range c.claims() {
			if d := condition.Get(&claim, apiv1.ConditionTypeDrifted); d != nil && d.Status == metav1.ConditionTrue {
				drifted++
				said = d.Reason
			}
		}
		return missing(drifted == n && (reason == "" || said == reason), "%d claims have drifted, for %q; want %d for %q", drifted, said, n, reason)
	})
}

// keeps checks for the time d that exactly the nodes in before exist and none of them is being deleted.
func (c *corner) keeps(before map[string]bool, d time.Duration) {
	c.t.Helper()
	c.holds(d, func() string {
		nodes := c.nodes()
		for _, n := range nodes {
			if !before[n.Name] || n.DeletionTimestamp != nil {
				return fmt.Sprintf("node %s was launched, or goes", n.Name)
			}
		}
		return missing(len(nodes) == len(before), "%d nodes of %d are left", len(nodes), len(before))
	})
}
