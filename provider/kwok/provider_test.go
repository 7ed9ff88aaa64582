package kwok

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/require"
)

// The node has all fields that Karpenter, kube-scheduler, kwok and eks-node-viewer use.
func TestNode(t *testing.T) {
	w := newWorld(t)
	c := claim("web-1", "3", in(apiv1.CapacityTypeLabelKey, "on-demand"), in("tier", "gold"))
	c.Spec.Resources.Requests["example.com/fuse"] = resource.MustParse("2")
	w.store(t, c)
	i, err := w.provider().Create(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	nodes := w.nodes(t)
	if len(nodes) != 1 {
		t.Fatalf("%d nodes, want 1", len(nodes))
	}
	n := nodes[0]
	if diff := cmp.Diff(map[string]string{
		"karpenter.sh/nodepool": "default", "team": "blue", "tier": "gold", "karpenter.sh/capacity-type": "on-demand",
		"topology.kubernetes.io/zone": "test-zone-a", "node.kubernetes.io/instance-type": "c-4x-amd64-linux",
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": "web-1",
		"karpenter.kwok.sh/instance-size": "4", "karpenter.kwok.sh/instance-family": "c",
		"karpenter.kwok.sh/instance-cpu": "4", "karpenter.kwok.sh/instance-memory": "8Gi",
		"kwok-partition": "a", "kwok.x-k8s.io/node": "fake", "eks-node-viewer/instance-price": "0.108590",
	}, n.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if n.Annotations["kwok.x-k8s.io/node"] != "fake" || n.Spec.ProviderID != "kwok://web-1" || i.ProviderID != "kwok://web-1" {
		t.Errorf("annotations %v, provider ids %s and %s", n.Annotations, n.Spec.ProviderID, i.ProviderID)
	}
	if want := apiv1.UnregisteredNoExecuteTaint(); len(n.Spec.Taints) != 1 || !n.Spec.Taints[0].MatchTaint(&want) {
		t.Errorf("taints are %v", n.Spec.Taints)
	}
	for name, want := range map[corev1.ResourceName]string{
		"cpu": "3900m", "memory": "8182Mi", "pods": "64", "ephemeral-storage": "20Gi", "example.com/fuse": "2",
	} {
		if got := n.Status.Allocatable[name]; got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("allocatable %s is %s, want %s", name, &got, want)
		}
	}
	if got := n.Status.Capacity.Cpu().String(); got != "4" {
		t.Errorf("capacity is %s cpu, want 4", got)
	}
	if _, told := i.Labels["kubernetes.io/hostname"]; told {
		t.Error("the claim would get the node's host name")
	}
}

func TestErrorsOfCreate(t *testing.T) {
	var capacity *cloud.InsufficientCapacityError
	var class *cloud.NodeClassNotReadyError
	var launch *cloud.LaunchError
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, w *world, c *apiv1.NodeClaim)
		want   any
	}{
		{"class is missing", func(_ *testing.T, _ *world, c *apiv1.NodeClaim) {
			c.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: kwokv1alpha1.Group, Kind: "KWOKNodeClass", Name: "none"}
		}, &capacity},
		{"class is not ready", func(t *testing.T, w *world, _ *apiv1.NodeClaim) {
			var k kwokv1alpha1.KWOKNodeClass
			if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &k); err != nil {
				t.Fatal(err)
			}
			k.Status.Conditions[0].Status = metav1.ConditionFalse
			if err := w.kube.Status().Update(t.Context(), &k); err != nil {
				t.Fatal(err)
			}
		}, &class},
		{"no type is so large", func(_ *testing.T, _ *world, c *apiv1.NodeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("256")
		}, &capacity},
		{"the name is taken", func(t *testing.T, w *world, c *apiv1.NodeClaim) {
			other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}
			if err := w.kube.Create(t.Context(), other); err != nil {
				t.Fatal(err)
			}
		}, &launch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			c := claim("a", "1")
			w.store(t, c)
			tt.change(t, w, c)
			if _, err := w.provider().Create(t.Context(), c); !errors.As(err, tt.want) {
				t.Errorf("error is %v, want a %T", err, tt.want)
			}
		})
	}
}

// A claim gets the offering that is cheapest by the prices of the overlays of its pool.
func TestOverlaysPriceTheLaunch(t *testing.T) {
	w := newWorld(t)
	p := w.provider()
	p.config.Overlay = func(_ context.Context, pool string, types []*cloud.InstanceType) ([]*cloud.InstanceType, error) {
		for i, it := range types {
			if it.Name == "m-2x-amd64-linux" && pool == "default" {
				dear := *it
				dear.Offerings = []cloud.Offering{it.Offerings[0]}
				dear.Offerings[0].Price = 0
				types = append(append(types[:i:i], &dear), types[i+1:]...)
			}
		}
		return types, nil
	}
	c := claim("a", "1")
	w.store(t, c)
	i, err := p.Create(t.Context(), c)
	if err != nil || i.Labels[corev1.LabelInstanceTypeStable] != "m-2x-amd64-linux" {
		t.Errorf("created %v, %v; want the type that costs nothing", i, err)
	}
}

// With a delay, the claim is launched at once, and the node is created when it is due, unless the claim is deleted
// before.
func TestNodeComesLater(t *testing.T) {
	w := newWorld(t)
	var k kwokv1alpha1.KWOKNodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &k); err != nil {
		t.Fatal(err)
	}
	k.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: time.Minute}
	if err := w.kube.Update(t.Context(), &k); err != nil {
		t.Fatal(err)
	}
	c := claim("a", "1", in("tier", "gold"))
	w.store(t, c)
	p := w.provider()
	i, err := p.Create(t.Context(), c)
	if err != nil || i.ProviderID != "kwok://a" || len(w.nodes(t)) != 0 {
		t.Fatalf("created %v, %v, and %d nodes at once", i, err, len(w.nodes(t)))
	}
	look := func() time.Duration {
		t.Helper()
		result, err := p.Later().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	if look() != 0 || len(w.nodes(t)) != 0 {
		t.Error("a claim that is not known to be launched got a node")
	}
	w.launched(t, "a", i)
	w.clock.Step(20 * time.Second)
	if wait := look(); wait != 40*time.Second || len(w.nodes(t)) != 0 {
		t.Errorf("looks again in %v with %d nodes, want 40s and none", wait, len(w.nodes(t)))
	}
	w.clock.Step(40 * time.Second)
	look()
	nodes := w.nodes(t)
	if len(nodes) != 1 || nodes[0].Labels["tier"] != "gold" || nodes[0].Spec.ProviderID != "kwok://a" {
		t.Fatalf("nodes are %v, want the claim's", nodes)
	}
	if err := w.kube.Delete(t.Context(), &nodes[0]); err != nil {
		t.Fatal(err)
	}
	c = w.load(t, "a")
	condition.SetTrue(c, apiv1.ConditionTypeRegistered, w.clock.Now())
	if err := w.kube.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if look(); len(w.nodes(t)) != 0 {
		t.Error("a node that had registered came back")
	}
}

// An API server that refuses the node does not fail the launch. The claim is launched, so the registration timeout
// applies to it, and its instance exists while the node is missing. The node is created when the API server accepts it.
func TestNodeIsRefused(t *testing.T) {
	w := newWorld(t)
	w.refused.Store(true)
	c := claim("a", "1")
	w.store(t, c)
	p := w.provider()
	i, err := p.Create(t.Context(), c)
	if err != nil || i.ProviderID != "kwok://a" {
		t.Fatalf("created %v, %v; want an instance", i, err)
	}
	w.launched(t, "a", i)
	exists := func() {
		t.Helper()
		if got, err := p.Get(t.Context(), "kwok://a"); err != nil || got.ProviderID != "kwok://a" {
			t.Errorf("the instance is %v, %v", got, err)
		}
		if list, err := p.List(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("listed %v, %v; want one instance", list, err)
		}
	}
	exists()
	request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "a"}}
	if _, err := p.Later().Reconcile(t.Context(), request); err == nil {
		t.Error("a node that is refused again is not tried again")
	}
	w.refused.Store(false)
	if _, err := p.Later().Reconcile(t.Context(), request); err != nil || len(w.nodes(t)) != 1 {
		t.Errorf("%d nodes, %v; want the claim's", len(w.nodes(t)), err)
	}
	exists()

	// After the registration, the node alone is the instance.
	stored := w.load(t, "a")
	condition.SetTrue(stored, apiv1.ConditionTypeRegistered, w.clock.Now())
	if err := w.kube.Status().Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if err := w.kube.Delete(t.Context(), &w.nodes(t)[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get(t.Context(), "kwok://a"); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that the instance is gone", err)
	}
}

// If the cache has the deletion of a node, the API server is not read, because a deletion is never undone.
func TestDeletedNodeIsNotReadLive(t *testing.T) {
	w := newWorld(t)
	c := claim("a", "1")
	w.store(t, c)
	p := w.provider()
	if _, err := p.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	node := w.nodes(t)[0]
	node.Finalizers = []string{apiv1.TerminationFinalizer}
	if err := w.kube.Update(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	if err := w.kube.Delete(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	c.Status.ProviderID = "kwok://a"
	p.config.Reader = nil // a live read would panic
	if err := p.Delete(t.Context(), c); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that the instance is gone", err)
	}
}

func TestGenericTypes(t *testing.T) {
	types := GenericTypes()
	if len(types) != 144 {
		t.Fatalf("%d types, want 144", len(types))
	}
	byName := map[string]*cloud.InstanceType{}
	for _, it := range types {
		byName[it.Name] = it
		if len(it.Offerings) != 8 {
			t.Errorf("%s has %d offerings, want 8", it.Name, len(it.Offerings))
		}
	}
	for _, tt := range []struct {
		name   string
		price  float64
		pods   int64
		memory string
	}{
		{"c-1x-amd64-linux", 0.027147, 16, "2Gi"},
		{"m-8x-arm64-windows", 0.268719, 128, "64Gi"},
		{"s-256x-amd64-linux", 7.499512, 1024, "1Ti"},
	} {
		it := byName[tt.name]
		if it == nil {
			t.Fatalf("there is no %s", tt.name)
		}
		o, _ := it.Cheapest(require.FromLabels(map[string]string{"karpenter.sh/capacity-type": "on-demand"}))
		spot, _ := it.Cheapest(require.Set{})
		if !near(o.Price, tt.price) || !near(spot.Price, 0.7*tt.price) || spot.CapacityType != "spot" {
			t.Errorf("%s costs %f, spot %f; want %f", tt.name, o.Price, spot.Price, tt.price)
		}
		memory, _ := it.Requirements.Get(kwokv1alpha1.InstanceMemoryLabelKey)
		if it.Capacity["pods"] != tt.pods || !memory.Has(tt.memory) {
			t.Errorf("%s takes %d pods and has %v", tt.name, it.Capacity["pods"], memory)
		}
		if kept := it.Capacity["cpu"] - it.Allocatable["cpu"]; kept != 100 {
			t.Errorf("%s keeps %dm cpu", tt.name, kept)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-5 && b-a < 1e-5 }

func TestFile(t *testing.T) {
	const offerings = `[{"Price":0.1,"Available":false,"Requirements":[
		{"key":"karpenter.sh/capacity-type","operator":"In","values":["reserved"]},
		{"key":"topology.kubernetes.io/zone","operator":"In","values":["z"]}],"ReservationCapacity":3}]`
	entry := func(name, rest string) string { return `{"name":"` + name + `",` + rest + `}` }
	const good = `"architecture":"arm64","operatingSystems":["linux","windows"],"resources":{"cpu":"4","memory":"16Gi"},"offerings":` + offerings
	types, err := parse([]byte("[" + entry("m5.xlarge", good) + "]"))
	if err != nil {
		t.Fatal(err)
	}
	it := types[0]
	labels := it.Requirements.Labels()
	if labels[kwokv1alpha1.InstanceSizeLabelKey] != "xlarge" || labels[kwokv1alpha1.InstanceFamilyLabelKey] != "m5" {
		t.Errorf("labels are %v", labels)
	}
	o := it.Offerings[0]
	if !o.Available || o.ReservationCapacity != 3 || o.ReservationID == "" || o.Zone != "z" || it.Capacity["pods"] != 110 {
		t.Errorf("offering %+v, %d pods", o, it.Capacity["pods"])
	}
	for _, tt := range []struct{ name, text, want string }{
		{"no array", `{}`, "want a JSON array"},
		{"empty", `[]`, "no instance type"},
		{"quantity", "[" + entry("a", strings.Replace(good, "16Gi", "lots", 1)) + "]", "quantities"},
		{"no memory", "[" + entry("a", strings.Replace(good, "memory", "mem", 1)) + "]", `[0] "a": resources.memory is 0`},
		{"no zone", "[" + entry("a", strings.Replace(good, "topology.kubernetes.io/zone", "zone", 1)) + "]",
			`[0] "a": offerings[0].Requirements must have topology.kubernetes.io/zone`},
		{"twice", "[" + entry("a", good) + "," + entry("a", good) + "]", `[1] "a": an earlier type has this name`},
	} {
		if _, err := parse([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Load("no/such/file.json"); err == nil || !strings.Contains(err.Error(), "no/such/file.json") {
		t.Errorf("error is %v, want the file's name", err)
	}
}

// The flag takes precedence over its variable. Errors name both.
func TestSettings(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s := AddFlags(fs)
	if types, err := s.Types(); err != nil || len(types) != 144 {
		t.Errorf("%d types, %v; want the generic ones", len(types), err)
	}
	t.Setenv("INSTANCE_TYPES_FILE_PATH", "of-variable.json")
	for _, want := range []string{"of-variable.json", "of-flag.json"} {
		_, err := s.Types()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "(INSTANCE_TYPES_FILE_PATH)") {
			t.Errorf("error is %v, want one of %s", err, want)
		}
		if err := fs.Parse([]string{"--instance-types-file-path=of-flag.json"}); err != nil {
			t.Fatal(err)
		}
	}
}
