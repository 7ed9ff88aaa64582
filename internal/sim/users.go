package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/sim/cluster"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// users are the people who deploy workloads and configure the operator.
type users struct {
	*platform
	scenario *Scenario
}

// applyFile creates the objects of a file, or replaces their specs.
func (u users) applyFile(e Event) error {
	text, ok := u.scenario.file(e.Args[0])
	if !ok {
		return fmt.Errorf("%s: the scenario has no such file", e)
	}
	return u.apply(text)
}

// deployment returns the Deployment with a name in any namespace.
func (u users) deployment(name string) (*appsv1.Deployment, error) {
	for _, d := range kubeapi.List[*appsv1.Deployment](u.server) {
		if d.Name == name {
			return d.DeepCopy(), nil
		}
	}
	return nil, fmt.Errorf("there is no Deployment %s", name)
}

func (u users) scale(e Event) error {
	d, err := u.deployment(e.Args[0])
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(e.Args[1], 10, 32)
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	replicas := int32(n)
	d.Spec.Replicas = &replicas
	_, err = kubeapi.Update(u.server, d)
	return err
}

func (u users) rollout(e Event) error {
	d, err := u.deployment(e.Args[0])
	if err != nil {
		return err
	}
	if d.Spec.Template.Annotations == nil {
		d.Spec.Template.Annotations = map[string]string{}
	}
	d.Spec.Template.Annotations["rollout"] = e.At.String()
	_, err = kubeapi.Update(u.server, d)
	return err
}

// setReplicas changes the number of nodes of a static NodePool.
func (u users) setReplicas(e Event) error {
	n, err := e.number(1)
	if err != nil {
		return err
	}
	return u.editPool(e.Args[0], func(p *apiv1.NodePool) {
		p.Spec.Replicas = new(int64(n))
	})
}

// relabel changes a label of the nodes of a NodePool, so that its nodes drift.
func (u users) relabel(e Event) error {
	return u.editPool(e.Args[0], func(p *apiv1.NodePool) {
		p.Spec.Template.Labels = maps.Clone(p.Spec.Template.Labels)
		if p.Spec.Template.Labels == nil {
			p.Spec.Template.Labels = map[string]string{}
		}
		p.Spec.Template.Labels["example.com/edition"] = e.Args[1]
	})
}

// editPool changes a NodePool, if it exists.
func (u users) editPool(name string, edit func(*apiv1.NodePool)) error {
	pool, ok := kubeapi.Find[*apiv1.NodePool](u.server, "", name)
	if !ok || pool.DeletionTimestamp != nil {
		return nil
	}
	pool = pool.DeepCopy()
	edit(pool)
	_, err := kubeapi.Update(u.server, pool)
	return err
}

// setBuffer changes the number of pods that a CapacityBuffer has headroom for.
func (u users) setBuffer(e Event) error {
	n, err := e.number(1)
	if err != nil {
		return err
	}
	b, ok := kubeapi.Find[*autoscalingv1beta1.CapacityBuffer](u.server, metav1.NamespaceDefault, e.Args[0])
	if !ok {
		return fmt.Errorf("%s: there is no such CapacityBuffer", e)
	}
	b = b.DeepCopy()
	b.Spec.Replicas = new(int32(n))
	_, err = kubeapi.Update(u.server, b)
	return err
}

// load lets a Deployment follow a demand that changes around a number of replicas, as a HorizontalPodAutoscaler does, for a while.
func (u users) load(e Event) error {
	d, err := u.deployment(e.Args[0])
	if err != nil {
		return err
	}
	n, err := e.number(1)
	if err != nil {
		return err
	}
	u.cluster.Load.Scale(d.Namespace, d.Name, cluster.Curve{
		Base: float64(n), Amplitude: 0.8, Period: 20 * time.Minute, Noise: 0.2, Max: int32(2*n + 1), Stabilize: 2 * time.Minute,
	})
	u.driver.After(e.For, func() { u.cluster.Load.Stop(d.Namespace, d.Name) })
	return nil
}

// deletable are the kinds that the verb delete knows.
var deletable = map[string]schema.GroupVersionKind{
	"ec2nodeclass": awsv1.GroupVersion.WithKind("EC2NodeClass"),
	"nodepool":     apiv1.GroupVersion.WithKind("NodePool"),
	"nodeoverlay":  overlayv1alpha1.GroupVersion.WithKind("NodeOverlay"),
	"deployment":   appsv1.SchemeGroupVersion.WithKind("Deployment"),
	"daemonset":    appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	"pod":          corev1.SchemeGroupVersion.WithKind("Pod"),
}

func (u users) delete(e Event) error {
	gvk, ok := deletable[e.Args[0]]
	if !ok {
		return fmt.Errorf("%s: the kind is none of %v", e, slices.Sorted(maps.Keys(deletable)))
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetName(e.Args[1])
	if !slices.Contains([]string{"ec2nodeclass", "nodepool", "nodeoverlay"}, e.Args[0]) {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	return client.IgnoreNotFound(u.client.Delete(context.Background(), o))
}

// protectPods gives some running pods the annotation do-not-disrupt for a while.
func (u users) protectPods(e Event) error {
	return u.some(e, u.pods(), func(o client.Object) error { return u.protect(o, e.For) })
}

// pods returns the pods that are bound and have not ended, without those of DaemonSets.
func (u users) pods() (out []client.Object) {
	for _, p := range kubeapi.List[*corev1.Pod](u.server) {
		if p.Spec.NodeName != "" && !ended(p) && !ofDaemonSet(p) {
			out = append(out, p)
		}
	}
	return out
}

// protectNodes gives some nodes the annotation do-not-disrupt for a while.
func (u users) protectNodes(e Event) error {
	return u.some(e, u.nodes(), func(o client.Object) error { return u.protect(o, e.For) })
}

// protect sets the annotation do-not-disrupt of an object, and removes it after a while.
func (u users) protect(o client.Object, d time.Duration) error {
	// If the object does not exist any more, another of its name has no annotation.
	u.driver.After(d, func() { _ = u.setAnnotation(o, apiv1.DoNotDisruptAnnotationKey, nil) })
	return u.setAnnotation(o, apiv1.DoNotDisruptAnnotationKey, "true")
}

// setAnnotation sets an annotation of an object, if the object still exists. The value nil removes the annotation.
func (u users) setAnnotation(o client.Object, key string, value any) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(u.client.Patch(context.Background(), o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, data)))
}

// annotate sets an annotation of some nodes, NodeClaims, NodePools or running pods.
func (u users) annotate(e Event) error {
	var all []client.Object
	switch e.Args[0] {
	case "node":
		all = u.nodes()
	case "nodeclaim":
		all = u.claims()
	case "nodepool":
		all = u.pools()
	case "pod":
		all = u.pods()
	default:
		return fmt.Errorf("%s: the kind is none of node, nodeclaim, nodepool and pod", e)
	}
	key, value, _ := strings.Cut(e.Args[1], "=")
	return u.some(e, all, func(o client.Object) error { return u.setAnnotation(o, key, value) })
}

// pools returns all NodePools.
func (u users) pools() (out []client.Object) {
	for _, p := range kubeapi.List[*apiv1.NodePool](u.server) {
		out = append(out, p)
	}
	return out
}

// cordon marks some nodes as unschedulable for a while.
func (u users) cordon(e Event) error {
	return u.changeNodes(e, func(n *corev1.Node, begins bool) { n.Spec.Unschedulable = begins })
}

// taint gives some nodes a taint with a key for a while, as an agent does that starts again.
func (u users) taint(e Event) error {
	return u.changeNodes(e, func(n *corev1.Node, begins bool) {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == e.Args[0] })
		if begins {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: e.Args[0], Effect: corev1.TaintEffectNoSchedule})
		}
	})
}

// changeNodes changes some nodes when the event begins, and changes them back when it ends. A node that was deleted in
// the meantime is left out.
func (u users) changeNodes(e Event, change func(n *corev1.Node, begins bool)) error {
	set := func(name string, begins bool) error {
		n, ok := kubeapi.Find[*corev1.Node](u.server, "", name)
		if !ok {
			return nil
		}
		n = n.DeepCopy()
		change(n, begins)
		_, err := kubeapi.Update(u.server, n)
		return err
	}
	return u.some(e, u.nodes(), func(o client.Object) error {
		u.driver.After(e.For, func() { _ = set(o.GetName(), false) }) // a conflict is not possible: the server is in memory
		return set(o.GetName(), true)
	})
}

// taintNew gives each node that joins within a while a taint with a key, as an agent does that has found a defect.
func (u users) taintNew(e Event) error {
	key, old := e.Args[0], map[string]bool{}
	for _, n := range kubeapi.List[*corev1.Node](u.server) {
		old[n.Name] = true
	}
	ends := time.Now().Add(e.For)
	var look func()
	look = func() {
		for _, n := range kubeapi.List[*corev1.Node](u.server) {
			if !old[n.Name] {
				old[n.Name] = true
				n = n.DeepCopy()
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
				_, _ = kubeapi.Update(u.server, n) // a conflict is not possible: the server is in memory
			}
		}
		if time.Now().Before(ends) {
			u.driver.After(100*time.Millisecond, look)
		}
	}
	look()
	return nil
}

// untaint removes a taint from all nodes. It returns an error if no node has it, because then the event comes at the wrong time.
func (u users) untaint(e Event) error {
	found := false
	for _, n := range kubeapi.List[*corev1.Node](u.server) {
		left := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == e.Args[0] })
		if len(left) == len(n.Spec.Taints) {
			continue
		}
		found = true
		n = n.DeepCopy()
		n.Spec.Taints = left
		if _, err := kubeapi.Update(u.server, n); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	if !found {
		return fmt.Errorf("%s: no node has this taint", e)
	}
	return nil
}

// formerHashes gives all NodeClaims, and then all NodePools and node classes, the hashes that an older release of the operator would have
// written.
func (u users) formerHashes(e Event) error {
	configured := u.pools()
	for _, c := range kubeapi.List[*awsv1.EC2NodeClass](u.server) {
		configured = append(configured, c)
	}
	u.driver.After(5*time.Second, func() {
		for _, o := range configured {
			_ = u.formerHash(o) // a class or pool that was changed meanwhile has a new hash anyway
		}
	})
	for _, o := range u.claims() {
		if err := u.formerHash(o); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

func (u users) formerHash(o client.Object) error {
	o = o.DeepCopyObject().(client.Object)
	annotations := o.GetAnnotations()
	for key := range annotations {
		switch key {
		case apiv1.NodePoolHashAnnotationKey, awsv1.AnnotationEC2NodeClassHash:
			annotations[key] = "1234567890"
		case apiv1.NodePoolHashVersionAnnotationKey, awsv1.AnnotationEC2NodeClassHashVersion:
			annotations[key] = "former"
		}
	}
	return u.client.Update(context.Background(), o)
}

// breakPool gives a pool requirements that no instance type meets, and its own again after a while.
func (u users) breakPool(e Event) error {
	pool, ok := kubeapi.Find[*apiv1.NodePool](u.server, "", e.Args[0])
	if !ok {
		return nil
	}
	const none = "none.such"
	before := slices.DeleteFunc(slices.Clone(pool.Spec.Template.Spec.Requirements), func(r apiv1.NodeSelectorRequirementWithMinValues) bool {
		return slices.Equal(r.Values, []string{none}) // it is broken already
	})
	set := func(rs []apiv1.NodeSelectorRequirementWithMinValues) {
		_ = u.editPool(e.Args[0], func(p *apiv1.NodePool) { p.Spec.Template.Spec.Requirements = rs }) // it was valid when it was made
	}
	set(append(slices.Clone(before), apiv1.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{none},
	}))
	u.driver.After(e.For, func() { set(before) })
	return nil
}

// breakClass gives a node class subnets that do not exist, and its own again after a while.
func (u users) breakClass(e Event) error {
	set := func(value string) error {
		patch := fmt.Sprintf(`{"spec":{"subnetSelectorTerms":[{"tags":{"karpenter.sh/discovery":%q}}]}}`, value)
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "karpenter.k8s.aws", Version: "v1", Kind: "EC2NodeClass"})
		o.SetName(e.Args[0])
		return client.IgnoreNotFound(u.client.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(patch))))
	}
	u.driver.After(e.For, func() { _ = set(clusterName) }) // it was valid when it was made
	return set("none-such")
}
