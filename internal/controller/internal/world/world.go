package world

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Start is the time at which the clock of each World begins.
var Start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A World is the environment of a controller under test.
type World struct {
	Client   client.WithWatch
	Clock    *clocktesting.FakeClock
	Cloud    *fakecloud.Cloud
	Events   *Events
	Metrics  *telemetry.Metrics
	Registry *prometheus.Registry

	t *testing.T
}

// New returns a World with these objects.
func New(t *testing.T, objects ...client.Object) *World {
	t.Helper()
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	return &World{
		Client: fake.NewClientBuilder().WithScheme(scheme).
			WithStatusSubresource(&apiv1.NodeClaim{}, &apiv1.NodePool{}).
			WithIndex(&corev1.Node{}, lookup.IndexNodeProviderID, func(o client.Object) []string {
				return []string{o.(*corev1.Node).Spec.ProviderID}
			}).
			WithIndex(&apiv1.NodeClaim{}, lookup.IndexClaimProviderID, func(o client.Object) []string {
				return []string{o.(*apiv1.NodeClaim).Status.ProviderID}
			}).
			WithIndex(&apiv1.NodeClaim{}, lookup.IndexClaimNodeClass, func(o client.Object) []string {
				return []string{o.(*apiv1.NodeClaim).Spec.NodeClassRef.Name}
			}).
			WithIndex(&corev1.Pod{}, lookup.IndexPodNodeName, func(o client.Object) []string {
				return []string{o.(*corev1.Pod).Spec.NodeName}
			}).
			WithObjects(objects...).Build(),
		Clock:    clocktesting.NewFakeClock(Start),
		Cloud:    &fakecloud.Cloud{},
		Events:   &Events{},
		Metrics:  telemetry.NewMetrics(registry, nil),
		Registry: registry,
		t:        t,
	}
}

// Manager returns a manager for tests of Register. It is never started.
func Manager(t *testing.T) ctrl.Manager {
	t.Helper()
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1"}, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		// Names of controllers must be unique in a process, but a test may run more than once in it.
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// Claim returns a claim of pool "default", created at Start, that no controller has reconciled yet.
func Claim(name string) *apiv1.NodeClaim {
	return &apiv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(Start),
			Labels: map[string]string{apiv1.NodePoolLabelKey: "default"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: apiv1.GroupVersion.String(), Kind: "NodePool", Name: "default", UID: "uid-pool",
			}},
		},
		Spec: apiv1.NodeClaimSpec{NodeClassRef: fakecloud.Ref("default")},
	}
}

// Joined returns a claim whose node has joined: launched, registered and initialized at Start, with the provider ID of
// an instance that c makes for it. The name of its node is "node-" followed by the name of the claim.
func Joined(c *fakecloud.Cloud, name string) *apiv1.NodeClaim {
	claim := Claim(name)
	claim.Finalizers = []string{apiv1.TerminationFinalizer}
	instance := c.Launch(claim)
	for k, v := range instance.Labels {
		claim.Labels[k] = v
	}
	claim.Status.ProviderID = instance.ProviderID
	claim.Status.NodeName = "node-" + name
	claim.Status.Capacity, claim.Status.Allocatable = instance.Capacity, instance.Allocatable
	for _, t := range claim.StatusConditions().Dependents {
		condition.SetTrue(claim, t, Start)
	}
	return claim
}

// Node returns a ready node with this provider ID, in the state in which a node joins the cluster.
func Node(name, providerID string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.NodeSpec{
			ProviderID: providerID,
			Taints:     []corev1.Taint{apiv1.UnregisteredNoExecuteTaint()},
		},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// Add creates the objects.
func (w *World) Add(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		status := o.DeepCopyObject().(client.Object)
		if err := w.Client.Create(context.Background(), o); err != nil {
			w.t.Fatal(err)
		}
		if claim, ok := status.(*apiv1.NodeClaim); ok {
			stored := o.(*apiv1.NodeClaim)
			stored.Status = claim.Status
			if err := w.Client.Status().Update(context.Background(), stored); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// GetClaim returns the current claim, nil if it does not exist.
func (w *World) GetClaim(name string) *apiv1.NodeClaim {
	w.t.Helper()
	o := &apiv1.NodeClaim{}
	if !w.get(name, o) {
		return nil
	}
	return o
}

// GetNode returns the current node, nil if it does not exist.
func (w *World) GetNode(name string) *corev1.Node {
	w.t.Helper()
	o := &corev1.Node{}
	if !w.get(name, o) {
		return nil
	}
	return o
}

func (w *World) get(name string, o client.Object) bool {
	w.t.Helper()
	err := w.Client.Get(context.Background(), types.NamespacedName{Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return err == nil
}

// Condition returns "Status Reason" of the claim's condition t. It returns "" if the claim does not have the condition, and
// "claim gone" if there is no claim with the name.
func (w *World) Condition(claim, t string) string {
	w.t.Helper()
	o := w.GetClaim(claim)
	if o == nil {
		return "claim gone"
	}
	c := condition.Get(o, t)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

// Count returns the value of a counter, or the number of observations of a histogram. values are all its labels in the form
// name=value, in the order of the names.
func (w *World) Count(name string, values ...string) float64 {
	w.t.Helper()
	families, err := w.Registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetName()+"="+l.GetValue())
			}
			if slices.Equal(got, values) {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

// Events records published events.
type Events struct {
	mu   sync.Mutex // guards told
	told []string
}

// Publish implements telemetry.Recorder.
func (e *Events) Publish(events ...telemetry.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range events {
		name := event.Object.(client.Object).GetName()
		e.told = append(e.told, event.Type+" "+event.Reason+" "+name)
	}
}

// Told returns all events so far, one per line: type, reason and name of the object.
func (e *Events) Told() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.told, "\n")
}
