package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// Orders is the ConfigMap that makes machines fail, in the namespace of the machines. Its keys are the kinds of failure
	// below. The value of a key lists offerings as TEMPLATE/FAILURE-DOMAIN, separated by commas. Both parts may have wildcards.
	Orders = "hollow-infrastructure"
	// Machines of an offering in Exhausted get no capacity. Templates in Failing have a mistake. Machines in Hung are
	// never provisioned. Existing machines in Interrupted get a condition that the host reclaims them.
	Exhausted, Failing, Hung, Interrupted = "exhausted", "failing", "hung", "interrupted"

	finalizer = "hollow.cluster.x-k8s.io"
	// troubleEvery is the interval at which a machine that an order concerns is reconciled again.
	troubleEvery = time.Second
	// unregistered is the taint with which nodes of Karpenter join.
	unregistered = "karpenter.sh/unregistered"
	// hollowNode is the annotation of nodes that package hollow keeps alive.
	hollowNode = "kwok.x-k8s.io/node"
)

// infrastructure reconciles hollow machines.
type infrastructure struct {
	client.Client
	nodes client.Writer // of the cluster that the nodes join
	boot  time.Duration
}

// addHollow adds the controllers of the hollow providers to mgr.
func addHollow(mgr ctrl.Manager, nodes client.Writer, boot time.Duration) error {
	infra := &infrastructure{Client: mgr.GetClient(), nodes: nodes, boot: boot}
	o := controller.Options{MaxConcurrentReconciles: workers}
	toInfrastructure := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		m := o.(*clusterv1.Machine)
		if m.Spec.InfrastructureRef.Kind != hollowMachine.Kind {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}}}
	})
	return errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("hollow-machine").For(empty(hollowMachine)).Watches(&clusterv1.Machine{}, toInfrastructure).WithOptions(o).Complete(infra),
		ctrl.NewControllerManagedBy(mgr).Named("hollow-template").For(empty(hollowMachineTemplate)).WithOptions(o).Complete(reconcile.Func(infra.template)),
		ctrl.NewControllerManagedBy(mgr).Named("hollow-config").For(empty(hollowConfig)).WithOptions(o).Complete(reconcile.Func(infra.bootstrap)),
	)
}

// field returns the string at the path, empty if there is none.
func field(u *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(u.Object, path...) // another type counts as absent
	return text
}

// Reconcile provisions a machine and creates its node, or terminates the machine.
func (i *infrastructure) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	u := empty(hollowMachine)
	if err := i.Get(ctx, req.NamespacedName, u); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if u.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, i.end(ctx, u)
	}
	m, err := i.machineOf(ctx, u)
	if err != nil || m == nil || m.Spec.Bootstrap.DataSecretName == nil {
		return ctrl.Result{}, err // the Machine triggers another reconcile
	}
	before := u.DeepCopy()
	if controllerutil.AddFinalizer(u, finalizer) {
		return ctrl.Result{}, i.Patch(ctx, u, client.MergeFrom(before))
	}
	order, err := i.order(ctx, u, m.Spec.FailureDomain)
	if err != nil {
		return ctrl.Result{}, err
	}
	provisioned := field(u, "spec", "providerID") != ""
	switch {
	case order == Interrupted && provisioned:
		return ctrl.Result{RequeueAfter: troubleEvery}, i.ready(ctx, u, "False", "SpotInstanceInterrupted", "The host reclaims the machine")
	case provisioned:
	case order == Hung:
		return ctrl.Result{RequeueAfter: troubleEvery}, nil
	case order == Exhausted:
		return ctrl.Result{RequeueAfter: troubleEvery}, i.ready(ctx, u, "False", "InsufficientCapacity", "There is no host for the machine")
	case order == Failing:
		return ctrl.Result{RequeueAfter: troubleEvery}, i.ready(ctx, u, "False", "InvalidImage", "The image does not exist")
	default:
		if err := i.provision(ctx, u); err != nil {
			return ctrl.Result{}, err
		}
	}
	if left := i.boot - time.Since(u.GetCreationTimestamp().Time); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	return ctrl.Result{RequeueAfter: 10 * troubleEvery}, i.join(ctx, u, m.Spec.FailureDomain)
}

// machineOf returns the Machine that owns the object, nil if there is none yet.
func (i *infrastructure) machineOf(ctx context.Context, u *unstructured.Unstructured) (*clusterv1.Machine, error) {
	for _, o := range u.GetOwnerReferences() {
		if o.Kind != "Machine" {
			continue
		}
		m := &clusterv1.Machine{}
		err := i.Get(ctx, client.ObjectKey{Namespace: u.GetNamespace(), Name: o.Name}, m)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return m, err
	}
	return nil, nil
}

// order returns the order that concerns a machine, empty if there is none.
func (i *infrastructure) order(ctx context.Context, u *unstructured.Unstructured, domain string) (string, error) {
	var orders corev1.ConfigMap
	err := i.Get(ctx, client.ObjectKey{Namespace: u.GetNamespace(), Name: Orders}, &orders)
	if err != nil {
		return "", client.IgnoreNotFound(err)
	}
	offering := u.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation] + "/" + domain
	for _, order := range []string{Exhausted, Failing, Hung, Interrupted} {
		for pattern := range strings.SplitSeq(orders.Data[order], ",") {
			if ok, err := path.Match(strings.TrimSpace(pattern), offering); err == nil && ok {
				return order, nil
			}
		}
	}
	return "", nil
}

// ready sets the condition Ready, unless it already has this reason.
func (i *infrastructure) ready(ctx context.Context, u *unstructured.Unstructured, status, reason, message string) error {
	before := u.DeepCopy()
	condition := map[string]any{
		"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
	old, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions") // absent is none
	if len(old) == 1 && old[0].(map[string]any)["reason"] == reason {
		return nil
	}
	if err := unstructured.SetNestedSlice(u.Object, []any{condition}, "status", "conditions"); err != nil {
		return err
	}
	return i.Status().Patch(ctx, u, client.MergeFrom(before))
}

// provision gives the machine a provider ID, and reports in its status that it is provisioned and ready.
func (i *infrastructure) provision(ctx context.Context, u *unstructured.Unstructured) error {
	before := u.DeepCopy()
	id := fmt.Sprintf("hollow:///%s/%s", u.GetNamespace(), u.GetName())
	if err := unstructured.SetNestedField(u.Object, id, "spec", "providerID"); err != nil {
		return err
	}
	if err := i.Patch(ctx, u, client.MergeFrom(before)); err != nil {
		return err
	}
	before = u.DeepCopy()
	if err := unstructured.SetNestedField(u.Object, true, "status", "initialization", "provisioned"); err != nil {
		return err
	}
	if err := i.Status().Patch(ctx, u, client.MergeFrom(before)); err != nil {
		return err
	}
	return i.ready(ctx, u, "True", "Ready", "")
}

// join creates the node of a machine. Its taints are those with which a kubelet joins a cluster that Cluster API and
// Karpenter manage.
func (i *infrastructure) join(ctx context.Context, u *unstructured.Unstructured, domain string) error {
	capacity, err := resources(u)
	if err != nil {
		return err
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Annotations: map[string]string{hollowNode: "fake"},
			Labels: map[string]string{
				corev1.LabelHostname: u.GetName(), corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", corev1.LabelTopologyZone: domain,
			},
		},
		Spec: corev1.NodeSpec{ProviderID: field(u, "spec", "providerID"), Taints: []corev1.Taint{
			clusterv1.NodeUninitializedTaint, {Key: unregistered, Effect: corev1.TaintEffectNoExecute},
		}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	err = i.nodes.Create(ctx, node)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// resources returns the resources in the spec of a machine.
func resources(u *unstructured.Unstructured) (corev1.ResourceList, error) {
	told, _, err := unstructured.NestedStringMap(u.Object, "spec", "resources")
	if err != nil {
		return nil, fmt.Errorf("read resources of %s: %w", u.GetName(), err)
	}
	out := corev1.ResourceList{}
	for name, text := range told {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("parse %s of %s: %w", name, u.GetName(), err)
		}
		out[corev1.ResourceName(name)] = q
	}
	return out, nil
}

// end terminates a machine: it removes the finalizer. Its node is not changed. Karpenter and Cluster API delete the node.
func (i *infrastructure) end(ctx context.Context, u *unstructured.Unstructured) error {
	before := u.DeepCopy()
	if !controllerutil.RemoveFinalizer(u, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(i.Patch(ctx, u, client.MergeFrom(before)))
}

// template copies the resources of a machine template to its status.capacity. There, infrastructure providers report the
// capacity of the machines, so that autoscalers can scale from zero.
func (i *infrastructure) template(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	u := empty(hollowMachineTemplate)
	if err := i.Get(ctx, req.NamespacedName, u); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	told, _, err := unstructured.NestedMap(u.Object, "spec", "template", "spec", "resources")
	if err != nil {
		return ctrl.Result{}, reconcile.TerminalError(err)
	}
	before := u.DeepCopy()
	if err := unstructured.SetNestedMap(u.Object, told, "status", "capacity"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, i.Status().Patch(ctx, u, client.MergeFrom(before))
}

// bootstrap creates the Secret with bootstrap data, and writes its name to the status of the config.
func (i *infrastructure) bootstrap(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	u := empty(hollowConfig)
	if err := i.Get(ctx, req.NamespacedName, u); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	m, err := i.machineOf(ctx, u)
	if err != nil || m == nil || u.GetDeletionTimestamp() != nil || field(u, "status", "dataSecretName") != "" {
		return ctrl.Result{}, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: u.GetNamespace(), Name: u.GetName() + "-bootstrap", Labels: map[string]string{clusterv1.ClusterNameLabel: m.Spec.ClusterName},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(u, schema.GroupVersionKind(hollowConfig))},
		},
		Type: clusterv1.ClusterSecretType, StringData: map[string]string{"value": "join the cluster"},
	}
	if err := i.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, err
	}
	before := u.DeepCopy()
	err = errors.Join(unstructured.SetNestedField(u.Object, secret.Name, "status", "dataSecretName"),
		unstructured.SetNestedField(u.Object, true, "status", "initialization", "dataSecretCreated"))
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, i.Status().Patch(ctx, u, client.MergeFrom(before))
}
