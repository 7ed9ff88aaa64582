package migration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/admission"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// upstreamKeys are the labels, annotations and finalizers of Karpenter's domains that upstream's v1.x reads or writes on pools,
// claims, classes and nodes, except for the labels of instance types.
var upstreamKeys = []string{
	"karpenter.sh/nodepool", "karpenter.sh/capacity-type", "karpenter.sh/registered", "karpenter.sh/initialized",
	"karpenter.sh/do-not-sync-taints", poolHashKey, poolHashVersionKey, classHashKey, classHashVersionKey, claimFinalizer, classFinalizer,
	"karpenter.sh/nodeclaim-min-values-relaxed", "karpenter.sh/stored-version-migrated",
	"karpenter.k8s.aws/ec2nodeclass", "karpenter.k8s.aws/tagged", "karpenter.k8s.aws/instance-profile-name",
	"compatibility.karpenter.k8s.aws/cluster-name-tagged",
}

// harmlessKeys are keys of this project that have no meaning in upstream.
var harmlessKeys = []string{"ext.karpenter.sh/launch", apiv1.NodeNameAnnotationKey, apiv1.PodsNominatedToAnnotationKey}

// The state that this project's controller leaves is valid for upstream. Upstream's schemas accept the objects. They have no
// finalizer that only this project removes. By upstream's rules, nodes and instances are managed and not drifted. Upstream sets
// its hashes on the claims. When this project's controller starts again later, it replaces no node.
func TestRollbackToUpstream(t *testing.T) {
	p := here
	class := upstreamClass()
	class.Annotations, class.Finalizers = nil, nil
	pool := upstreamPool("default")
	pool.Annotations = nil
	p.put(t, class, pool)
	stop := p.start(t)
	t.Cleanup(func() { p.start(t); p.endLaunched(t) })
	p.put(t, pod("one", nil, "1500m"), pod("two", nil, "1500m"))
	p.Poll(t, func(context.Context) string { return p.notRunning(t, "one") + p.notRunning(t, "two") })
	p.Poll(t, func(context.Context) string { return p.settled(t, 2) })
	stop()

	for _, o := range p.everything(t) {
		p.acceptable(t, o)
	}
	p.upstreamAdopts(t)
	mark := p.now(t)
	p.stampAsUpstream(t)
	before := p.names(t)
	p.start(t)
	p.Poll(t, func(context.Context) string { return p.stampedAgain(t) })
	p.passes(t, 1)
	p.noLaunchNorEnd(t, mark)
	if after := p.names(t); !slices.Equal(before, after) {
		t.Errorf("claims and nodes were %v, are %v", before, after)
	}
}

// settled returns what is missing until n claims are ready and their instances have all tags, "" if nothing is.
func (p *place) settled(t *testing.T, n int) string {
	t.Helper()
	var claims apiv1.NodeClaimList
	if err := p.List(t.Context(), &claims); err != nil {
		return err.Error()
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if !condition.Ready(c) || c.Annotations["karpenter.k8s.aws/tagged"] != "true" {
			return fmt.Sprintf("claim %s is not settled: %v %v", c.Name, c.Status.Conditions, c.Annotations)
		}
	}
	return left("claims", len(claims.Items), n)
}

// everything returns all of Karpenter's objects and the nodes, as they are stored.
func (p *place) everything(t *testing.T) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, gvk := range []schema.GroupVersionKind{
		apiv1.GroupVersion.WithKind("NodePoolList"), apiv1.GroupVersion.WithKind("NodeClaimList"),
		awsv1.GroupVersion.WithKind("EC2NodeClassList"), corev1.SchemeGroupVersion.WithKind("NodeList"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := p.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			t.Errorf("there is nothing in %s to look at", gvk.Kind)
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

// acceptable checks one object: the schema accepts it with its status, and all its keys of Karpenter's domains are those of
// upstream or harmless.
func (p *place) acceptable(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	name := o.GetKind() + " " + o.GetName()
	if o.GetKind() != "Node" {
		checker, err := admission.New()
		if err != nil {
			t.Fatal(err)
		}
		if _, errs := checker.Create(t.Context(), o); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs.ToAggregate())
		}
	}
	keys := slices.Concat(slices.Collect(maps.Keys(o.GetLabels())), slices.Collect(maps.Keys(o.GetAnnotations())), o.GetFinalizers())
	taints, _, err := unstructured.NestedSlice(o.Object, "spec", "taints")
	if err != nil {
		t.Fatal(err)
	}
	for _, taint := range taints {
		if o.GetKind() == "Node" {
			keys = append(keys, "taint "+fmt.Sprint(taint))
		}
	}
	for _, key := range keys {
		known := slices.Contains(upstreamKeys, key) || strings.HasPrefix(key, "karpenter.k8s.aws/instance-")
		if strings.Contains(key, "karpenter") && !known && !slices.Contains(harmlessKeys, key) {
			t.Errorf("%s has %s, which upstream does not know", name, key)
		}
	}
	for key := range o.GetLabels() {
		if slices.Contains(harmlessKeys, key) {
			t.Errorf("%s has %s as a label: pods could select it", name, key)
		}
	}
}

// upstreamAdopts checks the state by upstream's rules for managed, garbage-collected and drifted nodes.
func (p *place) upstreamAdopts(t *testing.T) {
	t.Helper()
	var claims apiv1.NodeClaimList
	var nodes corev1.NodeList
	var class awsv1.EC2NodeClass
	pool := &apiv1.NodePool{}
	for _, err := range []error{
		p.List(t.Context(), &claims), p.List(t.Context(), &nodes),
		p.Get(t.Context(), client.ObjectKey{Name: "default"}, &class), p.Get(t.Context(), client.ObjectKey{Name: "default"}, pool),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	claimed := map[string]string{}
	for i := range claims.Items {
		c := &claims.Items[i]
		claimed[c.Status.ProviderID] = c.Name
		p.notDrifted(t, c, pool, &class)
	}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; claimed[n.Spec.ProviderID] != "" {
			nodeOf(t, n, claimed[n.Spec.ProviderID])
		}
	}
	for _, i := range p.instancesOf(t, "default") {
		if claimed["aws:///"+i.Zone+"/"+i.ID] == "" {
			t.Errorf("upstream would end instance %s: no claim has it", i.ID)
		}
		for _, tag := range []string{"karpenter.k8s.aws/ec2nodeclass", "karpenter.sh/nodeclaim", "kubernetes.io/cluster/" + cluster.Name, "eks:eks-cluster-name", "Name"} {
			if i.Tags[tag] == "" {
				t.Errorf("upstream would not know instance %s: it has no tag %s", i.ID, tag)
			}
		}
	}
}

// notDrifted checks that a claim is not drifted by upstream's rules, and that its conditions are of the current generation.
func (p *place) notDrifted(t *testing.T, c *apiv1.NodeClaim, pool *apiv1.NodePool, class *awsv1.EC2NodeClass) {
	t.Helper()
	for _, want := range []string{"Launched", "Registered", "Initialized", "Ready"} {
		if got := condition.Get(c, want); got == nil || got.Status != metav1.ConditionTrue || got.ObservedGeneration != c.Generation {
			t.Errorf("claim %s: condition %s is %v, want True of generation %d", c.Name, want, got, c.Generation)
		}
	}
	if c.Annotations[poolHashVersionKey] != "v3" || pool.Annotations[poolHashVersionKey] != "v3" || pool.Annotations[poolHashKey] != defaultHash ||
		c.Annotations[poolHashKey] != defaultHash {
		t.Errorf("claim %s and its pool have the hashes %v and %v, want upstream's %s", c.Name, c.Annotations, pool.Annotations, defaultHash)
	}
	// Hashes of different versions are never compared. The version of this project must differ from upstream's.
	if v := c.Annotations[classHashVersionKey]; v == classVersion || v != class.Annotations[classHashVersionKey] {
		t.Errorf("claim %s has the class hash version %q, its class %q", c.Name, v, class.Annotations[classHashVersionKey])
	}
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if !slices.Contains(r.Values, c.Labels[r.Key]) {
			t.Errorf("claim %s has %s=%q, its pool requires %v", c.Name, r.Key, c.Labels[r.Key], r.Values)
		}
	}
	if !slices.ContainsFunc(class.Status.AMIs, func(a awsv1.AMI) bool { return a.ID == c.Status.ImageID }) {
		t.Errorf("claim %s has image %q, which is not the class's", c.Name, c.Status.ImageID)
	}
	if owner := metav1.GetControllerOf(c); owner != nil || len(c.OwnerReferences) != 1 || c.OwnerReferences[0].UID != pool.UID {
		t.Errorf("claim %s is owned by %v, want its pool", c.Name, c.OwnerReferences)
	}
	if !slices.Equal(c.Finalizers, []string{claimFinalizer}) {
		t.Errorf("claim %s has finalizers %v", c.Name, c.Finalizers)
	}
}

// nodeOf checks that a node is managed by upstream's rules.
func nodeOf(t *testing.T, n *corev1.Node, claim string) {
	t.Helper()
	for key, want := range map[string]string{
		"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true", "karpenter.sh/nodepool": "default", "karpenter.k8s.aws/ec2nodeclass": "default",
	} {
		if n.Labels[key] != want {
			t.Errorf("node %s has %s=%q, want %q", n.Name, key, n.Labels[key], want)
		}
	}
	if !slices.Equal(n.Finalizers, []string{claimFinalizer}) || len(n.OwnerReferences) != 1 || n.OwnerReferences[0].Name != claim {
		t.Errorf("node %s has finalizers %v and owners %v", n.Name, n.Finalizers, n.OwnerReferences)
	}
}

// stampAsUpstream acts as upstream's hash controllers at their start. A class with another hash version gets their hash, and so
// do its claims, because none of them has drifted.
func (p *place) stampAsUpstream(t *testing.T) {
	t.Helper()
	stamp := map[string]string{classHashKey: classHash, classHashVersionKey: classVersion}
	var claims apiv1.NodeClaimList
	if err := p.List(t.Context(), &claims); err != nil {
		t.Fatal(err)
	}
	for i := range claims.Items {
		p.annotate(t, &claims.Items[i], stamp)
	}
	var class awsv1.EC2NodeClass
	if err := p.Get(t.Context(), client.ObjectKey{Name: "default"}, &class); err != nil {
		t.Fatal(err)
	}
	p.annotate(t, &class, stamp)
}

// stampedAgain returns a claim that still has upstream's hash, "" if there is none.
func (p *place) stampedAgain(t *testing.T) string {
	t.Helper()
	var claims apiv1.NodeClaimList
	if err := p.List(t.Context(), &claims); err != nil {
		return err.Error()
	}
	for _, c := range claims.Items {
		if c.Annotations[classHashVersionKey] == classVersion {
			return "claim " + c.Name + " still has upstream's stamp"
		}
	}
	return ""
}

// names returns the names and UIDs of the claims and nodes, in order.
func (p *place) names(t *testing.T) (out []string) {
	t.Helper()
	for _, list := range []client.ObjectList{&apiv1.NodeClaimList{}, &corev1.NodeList{}} {
		if err := p.List(context.WithoutCancel(t.Context()), list); err != nil {
			t.Fatal(err)
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
		if err != nil {
			t.Fatal(err)
		}
		items, _, err := unstructured.NestedSlice(content, "items")
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			o := &unstructured.Unstructured{Object: item.(map[string]any)}
			out = append(out, fmt.Sprintf("%s %s", o.GetName(), o.GetUID()))
		}
	}
	slices.Sort(out)
	return out
}
