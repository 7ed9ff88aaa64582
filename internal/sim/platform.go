package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/admission"
	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
	"github.com/karpenter-go/karpenter/internal/sim/cluster"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A platform is a Kubernetes cluster without the operator: the API server, kubelets, workloads and the scheduler.
type platform struct {
	// ahead is how far the clock of the API server is ahead, as its answers say.
	ahead  time.Duration
	server *kubeapi.Server
	// client reads and writes without delay or faults.
	client  client.Client
	cluster *cluster.Cluster
	driver  *Driver
	judge   *judge
	actors  []*actorState
	// dark are the nodes whose kubelet was killed.
	dark map[string]bool
}

// actorState is when an actor is called next.
type actorState struct {
	Actor
	due time.Time // zero: not scheduled
}

// schemas compiles the schemas of our CRDs once for all simulations of the process.
var schemas = sync.OnceValues(admission.New)

// newPlatform makes the API server, with the Service of the cluster's DNS.
func newPlatform(w *World, scheme *runtime.Scheme) (*platform, error) {
	checker, err := schemas()
	if err != nil {
		return nil, fmt.Errorf("read CRDs: %w", err)
	}
	p := &platform{driver: w.driver, judge: w.judge, dark: map[string]bool{}}
	p.server = kubeapi.New(kubeapi.Config{
		Scheme: scheme, Now: time.Now, Seed: w.scenario.Seed, Admission: checker, Kinds: append(kubeapi.BuiltIn(), ownKinds()...),
	})
	p.server.OnWrite(func(before, after client.Object) {
		if !ignored(after) {
			p.written()
		}
		w.judge.written(before, after)
	})
	if p.client, err = p.server.Client(); err != nil {
		return nil, err
	}
	dns := "10.100.0.10"
	if w.scenario.IPv6 {
		dns = "fd30:1c53:5f8a::a"
	}
	return p, p.client.Create(context.Background(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}, Spec: corev1.ServiceSpec{ClusterIP: dns},
	})
}

// ignored reports whether no actor needs to see an object, which is nil if it was deleted. A Lease is written every two seconds.
func ignored(o client.Object) bool {
	switch o.(type) {
	case *corev1.Event, *coordinationv1.Lease:
		return true
	}
	return false
}

// ownKinds are the kinds of our CRDs.
func ownKinds() []kubeapi.Kind {
	own := func(k kubeapi.Kind) kubeapi.Kind {
		k.Status, k.Generation, k.Custom = true, true, true
		return k
	}
	return []kubeapi.Kind{
		own(kubeapi.Kind{GroupVersionKind: apiv1.GroupVersion.WithKind("NodePool"), Plural: "nodepools"}),
		own(kubeapi.Kind{GroupVersionKind: apiv1.GroupVersion.WithKind("NodeClaim"), Plural: "nodeclaims"}),
		own(kubeapi.Kind{GroupVersionKind: awsv1.GroupVersion.WithKind("EC2NodeClass"), Plural: "ec2nodeclasses"}),
		own(kubeapi.Kind{GroupVersionKind: kwokv1alpha1.GroupVersion.WithKind("KWOKNodeClass"), Plural: "kwoknodeclasses"}),
		own(kubeapi.Kind{GroupVersionKind: overlayv1alpha1.GroupVersion.WithKind("NodeOverlay"), Plural: "nodeoverlays"}),
		own(kubeapi.Kind{
			GroupVersionKind: autoscalingv1beta1.GroupVersion.WithKind("CapacityBuffer"), Plural: "capacitybuffers", Namespaced: true,
		}),
	}
}

// run adds kubelets, workloads and the scheduler.
func (p *platform) run(seed uint64, scheduler func(*kubeapi.Server, uint64) (Actor, error)) error {
	types, err := catalog.Load()
	if err != nil {
		return fmt.Errorf("load catalog: %w", err)
	}
	p.cluster = cluster.New(p.server, cluster.Options{Seed: seed, LocalDisks: func(name string) int {
		if t, ok := types.Type(name); ok {
			return t.Disks
		}
		return 0
	}})
	for _, a := range p.cluster.Actors() {
		p.add(a)
	}
	s, err := scheduler(p.server, seed)
	if err != nil {
		return fmt.Errorf("make scheduler: %w", err)
	}
	p.add(s)
	return nil
}

// add adds an actor.
func (p *platform) add(a Actor) { p.actors = append(p.actors, &actorState{Actor: a}) }

// changed schedules a Step of every actor within the time reaction.
func (p *platform) changed() {
	p.called()
	p.written()
}

// written schedules a Step of the actors that read objects, after one was written.
func (p *platform) written() {
	for _, a := range p.actors {
		if _, boots := a.Actor.(*machines); !boots {
			p.wake(a)
		}
	}
}

// wake schedules a Step of an actor within the time reaction.
func (p *platform) wake(a *actorState) {
	if a.due.IsZero() || a.due.After(time.Now().Add(reaction)) {
		p.schedule(a, time.Now().Add(p.driver.Dice(a.Name()).Between(5*time.Millisecond, reaction)))
	}
}

// called schedules a Step of the actor that boots machines, after a call that may have launched or terminated instances. It
// reads no objects.
func (p *platform) called() {
	for _, a := range p.actors {
		if _, boots := a.Actor.(*machines); boots {
			p.wake(a)
		}
	}
}

// reaction is the longest time from a change to the next Step of an actor.
const reaction = 50 * time.Millisecond

// schedule plans a Step of an actor at the given time, unless an earlier one is planned.
func (p *platform) schedule(a *actorState, at time.Time) {
	if !a.due.IsZero() && !at.Before(a.due) {
		return
	}
	a.due = at
	p.driver.At(at, func() {
		if a.due != at {
			return
		}
		a.due = time.Time{}
		next, err := a.Step(time.Now())
		if err != nil {
			p.judge.violate("simulation", "actor %s: %v", a.Name(), err)
			return
		}
		if !next.IsZero() {
			p.schedule(a, next)
		}
	})
}

// apply creates objects, or changes those that exist.
func (p *platform) apply(text string) error {
	docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := docs.Decode(&o.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read manifests: %w", err)
		}
		if len(o.Object) == 0 {
			continue
		}
		if err := p.applyObject(o); err != nil {
			return err
		}
	}
}

func (p *platform) applyObject(o *unstructured.Unstructured) error {
	ctx := context.Background()
	old := &unstructured.Unstructured{}
	old.SetGroupVersionKind(o.GroupVersionKind())
	err := p.client.Get(ctx, client.ObjectKeyFromObject(o), old)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if err != nil {
		if err := p.client.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		return nil
	}
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode %s: %w", o.GetName(), err)
	}
	if err := p.client.Patch(ctx, old, client.RawPatch(types.MergePatchType, data)); err != nil {
		return fmt.Errorf("change %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// claimOf returns the claim of a node, nil if it has none. The claim may not have the name of the node yet.
func (p *platform) claimOf(node string) *apiv1.NodeClaim {
	n, ok := kubeapi.Find[*corev1.Node](p.server, "", node)
	for _, c := range kubeapi.List[*apiv1.NodeClaim](p.server) {
		if c.Status.NodeName == node || ok && c.Status.ProviderID != "" && c.Status.ProviderID == n.Spec.ProviderID {
			return c
		}
	}
	return nil
}

// nodes returns the nodes that are not being deleted.
func (p *platform) nodes() (out []client.Object) {
	for _, n := range kubeapi.List[*corev1.Node](p.server) {
		if n.DeletionTimestamp == nil {
			out = append(out, n)
		}
	}
	return out
}

// claims returns the claims that are not being deleted.
func (p *platform) claims() (out []client.Object) {
	for _, c := range kubeapi.List[*apiv1.NodeClaim](p.server) {
		if c.DeletionTimestamp == nil {
			out = append(out, c)
		}
	}
	return out
}

// some calls do for n of the objects, where n is the last argument of the event. The seed decides which ones.
func (p *platform) some(e Event, all []client.Object, do func(client.Object) error) error {
	n, err := e.number(len(e.Args) - 1)
	if err != nil {
		return err
	}
	d := p.driver.Dice(e.Verb)
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, o := range all[:min(n, len(all))] {
		if err := do(o); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// deleteSome deletes some of the objects.
func (p *platform) deleteSome(e Event, all []client.Object) error {
	return p.some(e, all, func(o client.Object) error { return p.client.Delete(context.Background(), o) })
}

// killKubelets stops the kubelets of some nodes.
func (p *platform) killKubelets(e Event) error {
	return p.some(e, p.nodes(), p.killKubelet)
}

// killDrainedKubelets stops the kubelets of some nodes that are being deleted. It returns an error if there is no such
// node.
func (p *platform) killDrainedKubelets(e Event) error {
	var drained []client.Object
	for _, n := range kubeapi.List[*corev1.Node](p.server) {
		if n.DeletionTimestamp != nil {
			drained = append(drained, n)
		}
	}
	if len(drained) == 0 {
		return fmt.Errorf("%s: no node is being deleted", e)
	}
	return p.some(e, drained, p.killKubelet)
}

func (p *platform) killKubelet(node client.Object) error {
	p.dark[node.GetName()] = true
	return p.cluster.Kubelets.Kill(node.GetName())
}

// makeNotReady makes some nodes not ready for a while.
func (p *platform) makeNotReady(e Event) error {
	return p.report(e, corev1.NodeReady, corev1.ConditionFalse, "")
}

// setCondition lets an agent on some nodes report a condition for a while.
func (p *platform) setCondition(e Event) error {
	kind, status, _ := strings.Cut(e.Args[0], "=")
	status, reason, _ := strings.Cut(status, "/")
	return p.report(e, corev1.NodeConditionType(kind), corev1.ConditionStatus(status), reason)
}

// report lets some nodes have a condition for a while, with a usual reason if it is empty.
func (p *platform) report(e Event, kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) error {
	return p.some(e, p.nodes(), func(o client.Object) error {
		name := o.GetName()
		p.driver.After(e.For, func() {
			_ = p.cluster.Kubelets.Restore(name) // fails if the node was removed meanwhile
			p.changed()
		})
		if err := p.cluster.Kubelets.SetReason(name, kind, reason); err != nil {
			return err
		}
		return p.cluster.Kubelets.SetCondition(name, kind, status)
	})
}

// registerDevices lets a device plugin register a number of devices on the nodes that do not have any yet.
func (p *platform) registerDevices(e Event) error {
	n, err := resource.ParseQuantity(e.Args[1])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	for _, node := range kubeapi.List[*corev1.Node](p.server) {
		name := corev1.ResourceName(e.Args[0])
		if have := node.Status.Allocatable[name]; !have.IsZero() {
			continue
		}
		node = node.DeepCopy()
		node.Status.Capacity[name], node.Status.Allocatable[name] = n, n
		if _, err := kubeapi.UpdateStatus(p.server, node); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// statuses returns the status of the objects that users configure, by KIND/NAME.
func (p *platform) statuses() map[string]map[string]any {
	out := map[string]map[string]any{}
	p.server.Each(func(o client.Object) {
		switch o.(type) {
		case *apiv1.NodePool, *awsv1.EC2NodeClass, *overlayv1alpha1.NodeOverlay, *autoscalingv1beta1.CapacityBuffer:
			if content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o); err == nil {
				status, _ := content["status"].(map[string]any)
				out[o.GetObjectKind().GroupVersionKind().Kind+"/"+o.GetName()] = status
			}
		}
	})
	return out
}
