package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// account has instances, and records the calls for them. Instances that no claim has are surplus.
type account struct {
	list  []instances.Instance
	ended []string
	tags  map[string]string
	kept  map[types.UID]bool
	err   error
}

func (a *account) List(context.Context) ([]instances.Instance, error) { return a.list, a.err }

func (a *account) Terminate(_ context.Context, i instances.Instance) error {
	a.ended = append(a.ended, i.ID)
	if i.ID == "i-gone" {
		return fmt.Errorf("x: %w", cloud.ErrNotFound)
	}
	return nil
}

func (a *account) Owns(i instances.Instance) bool { return i.Tags["foreign"] == "" }

func (a *account) Get(_ context.Context, id string) (instances.Instance, error) {
	for _, i := range a.list {
		if i.ID == id {
			return i, a.err
		}
	}
	return instances.Instance{}, cloud.ErrNotFound
}

func (a *account) Tag(_ context.Context, _ string, tags map[string]string) error {
	a.tags = tags
	return a.err
}

func (a *account) Surplus(list []instances.Instance, claims []apiv1.NodeClaim) map[string]bool {
	out := map[string]bool{}
	for _, i := range list {
		out[i.ID] = !slices.ContainsFunc(claims, func(c apiv1.NodeClaim) bool { return c.Status.ProviderID == i.ProviderID() })
	}
	return out
}

func (a *account) Keep(claims map[types.UID]bool) { a.kept = claims }

func instance(id string, age time.Duration) instances.Instance {
	return instances.Instance{ID: id, Zone: "a", State: "running", Launched: now.Add(-age), Tags: map[string]string{
		awsv1.TagEKSClusterName: "c", awsv1.TagNodePool: "p", awsv1.TagNodeClass: "default",
	}}
}

func claim(name, instance string) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	c.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	c.Status.ProviderID, c.Status.NodeName = instances.ProviderID("a", instance), "node-"+name
	return c
}

func kube(objects ...client.Object) client.WithWatch {
	scheme := api.Scheme()
	if err := errors.Join(corev1.AddToScheme(scheme), storagev1.AddToScheme(scheme)); err != nil {
		panic(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&apiv1.NodeClaim{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithIndex(&storagev1.VolumeAttachment{}, "spec.nodeName", func(o client.Object) []string {
			return []string{o.(*storagev1.VolumeAttachment).Spec.NodeName}
		}).Build()
}

func TestCollect(t *testing.T) {
	foreign := instance("i-foreign", time.Hour)
	foreign.Tags[awsv1.TagEKSClusterName] = "another"
	poolless := instance("i-poolless", time.Hour)
	delete(poolless.Tags, awsv1.TagNodePool)
	ending := instance("i-ending", time.Hour)
	ending.State = "shutting-down"
	standalone := instance("i-standalone", time.Hour)
	standalone.Reservation.ID = "cr-1"
	standalone.Tags[awsv1.TagNodePool], standalone.Tags[instances.TagLaunch] = "", "token"
	handmade := instance("i-handmade", time.Hour)
	handmade.Tags[awsv1.TagNodePool] = ""
	a := &account{list: []instances.Instance{
		instance("i-leaked", time.Hour), instance("i-young", 29*time.Second), instance("i-old", 30*time.Second),
		instance("i-wanted", time.Hour), instance("i-gone", time.Hour), foreign, poolless, ending, handmade,
	}}
	for n := range 20 { // so many that the bound on terminations is not reached
		held := instance(fmt.Sprint("i-held-", n), time.Hour)
		held.Tags[awsv1.TagEKSClusterName] = "another"
		a.list = append(a.list, held)
	}
	a.list = append(a.list, standalone)
	node := func(name, id string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: instances.ProviderID("a", id)}}
	}
	k := kube(claim("one", "i-wanted"), node("leaked", "i-leaked"), node("wanted", "i-wanted"))
	c, _ := collector(a, k)
	if err := c.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"i-leaked", "i-old", "i-gone", "i-standalone"}; !slices.Equal(a.ended, want) {
		t.Errorf("ended %v, want %v", a.ended, want)
	}
	var n corev1.Node
	if err := k.Get(t.Context(), client.ObjectKey{Name: "leaked"}, &n); !apierrors.IsNotFound(err) {
		t.Errorf("node of the leaked instance: %v", err)
	}
	if err := k.Get(t.Context(), client.ObjectKey{Name: "wanted"}, &n); err != nil {
		t.Errorf("node of the wanted instance: %v", err)
	}
}

// events are the published events.
type events []string

func (e *events) Event(o client.Object, _, reason, message string) {
	*e = append(*e, o.GetName()+" "+reason+": "+message)
}

// collector returns a collector of the account, and the events that it publishes.
func collector(a *account, k client.WithWatch) (*Collector, *events) {
	e := &events{}
	return &Collector{
		Instances: a, Launches: a, Cluster: "c", Client: k, Reader: k, Writer: act.Writer{Client: k}, Recorder: e,
		Breaker: bound(k, e), Clock: clocktesting.NewFakePassiveClock(now),
	}, e
}

// bound returns a breaker for the classes that k has.
func bound(k client.Reader, e *events) *withhold.Breaker {
	return withhold.New(withhold.Config{
		Provider: "aws", Kind: "EC2NodeClass", Metrics: prometheus.NewRegistry(),
		Classes: func(ctx context.Context) (out []client.Object, err error) {
			var classes awsv1.EC2NodeClassList
			err = k.List(ctx, &classes)
			for i := range classes.Items {
				out = append(out, &classes.Items[i])
			}
			return out, err
		},
		Warn: func(about client.Object, message string) {
			e.Event(about, "", telemetry.EventTerminationWithheld, message)
		},
	})
}

// When NodeClaims were lost, nothing is terminated, until the annotation of the node class allows it.
func TestCollectStopsAtMassTermination(t *testing.T) {
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	k := kube(class)
	a := &account{}
	for n := range 10 {
		a.list = append(a.list, instance(fmt.Sprint("i-", n), time.Hour))
	}
	c, told := collector(a, k)
	if err := c.Collect(t.Context()); err != nil || len(a.ended) != 0 || len(*told) != 1 {
		t.Fatalf("ended %v, events %v, error %v", a.ended, *told, err)
	}
	class.Annotations = map[string]string{apiv1.AllowMassTerminationAnnotationKey: "true"}
	if err := k.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if err := c.Collect(t.Context()); err != nil || len(a.ended) != 10 {
		t.Errorf("ended %v, error %v", a.ended, err)
	}
}

// An instance without a claim is kept while its node is Ready and runs pods, or is being deleted and volumes are attached to it.
func TestCollectKeepsNodeInUse(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: instances.ProviderID("a", "i-"+name)}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		return n
	}
	pod := func(name, node, owner string, phase corev1.PodPhase) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
		p.Status.Phase = phase
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "o", Controller: &yes}}
		return p
	}
	a := &account{list: []instances.Instance{
		instance("i-used", time.Hour), instance("i-idle", time.Hour), instance("i-lost", time.Hour), instance("i-drained", time.Hour),
	}}
	drained := node("drained", corev1.ConditionTrue)
	drained.DeletionTimestamp, drained.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"test/stays"}
	volume := func(name, node string, attached bool) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{NodeName: node},
			Status: storagev1.VolumeAttachmentStatus{Attached: attached}}
	}
	k := kube(node("used", corev1.ConditionTrue), node("idle", corev1.ConditionTrue), node("lost", corev1.ConditionUnknown),
		pod("web", "used", "ReplicaSet", corev1.PodRunning), pod("agent", "idle", "DaemonSet", corev1.PodRunning),
		pod("job", "idle", "Job", corev1.PodSucceeded), pod("other", "lost", "ReplicaSet", corev1.PodRunning),
		drained, volume("a", "drained", true), volume("b", "drained", false), volume("c", "idle", true))
	c, told := collector(a, k)
	if err := c.Collect(t.Context()); err != nil || !slices.Equal(a.ended, []string{"i-idle", "i-lost"}) {
		t.Errorf("ended %v, error %v", a.ended, err)
	}
	slices.Sort(*told)
	if len(*told) != 2 || !strings.Contains((*told)[0], "the node is Ready and volumes are attached to it (1);") ||
		!strings.HasPrefix((*told)[1], "used TerminationWithheld: ") || !strings.Contains((*told)[1], "has pods (1);") {
		t.Errorf("events %q", *told)
	}
}

// If a stored claim is missing in the cache, its instance is not terminated. Launches.Keep is called with the stored
// claims.
func TestCollectReadsClaimsAgain(t *testing.T) {
	a := &account{list: []instances.Instance{instance("i-1", time.Hour)}}
	c, _ := collector(a, kube())
	c.Reader = kube(claim("one", "i-1"))
	if err := c.Collect(t.Context()); err != nil || len(a.ended) != 0 || !a.kept["one"] || len(a.kept) != 1 {
		t.Errorf("ended %v, told of claims %v, error %v", a.ended, a.kept, err)
	}
}

// If the cache lacks the pods of a node, its instance is not terminated.
func TestCollectReadsPodsAgain(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "used"}, Spec: corev1.NodeSpec{ProviderID: instances.ProviderID("a", "i-used")}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "web"}, Spec: corev1.PodSpec{NodeName: "used"}}
	a := &account{list: []instances.Instance{instance("i-used", time.Hour)}}
	c, told := collector(a, kube(node))
	c.Reader = kube(pod)
	if err := c.Collect(t.Context()); err != nil || len(a.ended) != 0 || len(*told) != 1 {
		t.Errorf("ended %v, events %q, error %v", a.ended, *told, err)
	}
}

func TestCollectSlowsDown(t *testing.T) {
	a := &account{}
	k := kube()
	c, _ := collector(a, k)
	task := c.Task()
	for round := range 25 {
		want := 10 * time.Second
		if round >= 20 {
			want = 20 * time.Second
		}
		if next, err := task.Run(t.Context()); next != want || err != nil {
			t.Fatalf("round %d: next in %v, %v", round, next, err)
		}
	}
	a.err = errors.New("down")
	if _, err := task.Run(t.Context()); err == nil {
		t.Error("an error is hidden")
	}
}

func TestTagger(t *testing.T) {
	named := instance("i-1", time.Hour)
	named.Tags[awsv1.TagName] = "mine"
	foreign := instance("i-3", time.Hour)
	foreign.Tags["foreign"] = "yes"
	a := &account{list: []instances.Instance{named, foreign}}
	c := claim("one", "i-1")
	young := claim("young", "i-3")
	condition.SetTrue(young, apiv1.ConditionTypeLaunched, now)
	k := kube(c, claim("lost", "i-2"), claim("forged", "i-3"), young)
	tagger := &Tagger{Client: k, Writer: act.Writer{Client: k}, Instances: a, Cluster: "c", Clock: clocktesting.NewFakePassiveClock(now)}
	reconcile := func(name string) *apiv1.NodeClaim {
		t.Helper()
		if _, err := tagger.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
			t.Fatal(err)
		}
		var got apiv1.NodeClaim
		if err := k.Get(t.Context(), client.ObjectKey{Name: name}, &got); err != nil {
			t.Fatal(err)
		}
		return &got
	}
	got := reconcile("one")
	if len(a.tags) != 1 || a.tags[awsv1.TagNodeClaim] != "one" {
		t.Errorf("tags set are %v; a name that is there stays", a.tags)
	}
	if got.Annotations[awsv1.AnnotationInstanceTagged] != "true" || due(got) {
		t.Errorf("annotations are %v", got.Annotations)
	}
	a.tags = nil
	if reconcile("one"); a.tags != nil {
		t.Error("tagged twice")
	}
	// An instance that was just launched is read again, because EC2 may not return its tags yet.
	again, err := tagger.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "young"}})
	if err != nil || again.RequeueAfter == 0 || a.tags != nil {
		t.Errorf("an instance without tags: again after %v, error %v, tags set %v", again.RequeueAfter, err, a.tags)
	}
	if got := reconcile("lost"); !due(got) {
		t.Error("a claim whose instance is gone was annotated")
	}
	if got := reconcile("forged"); !due(got) || a.tags != nil {
		t.Errorf("an instance of another cluster was tagged with %v", a.tags)
	}
}

// sweeper records the names that are not used.
type sweeper struct{ names, swept []string }

func (s *sweeper) Sweep(_ context.Context, used func(string) bool) error {
	for _, n := range s.names {
		if !used(n) {
			s.swept = append(s.swept, n)
		}
	}
	return nil
}

func TestSweepProfiles(t *testing.T) {
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Status.InstanceProfile = "of-class"
	c := claim("one", "i-1")
	c.Annotations = map[string]string{awsv1.AnnotationInstanceProfile: "of-claim"}
	s := &sweeper{names: []string{"of-class", "of-claim", "of-nobody"}}
	if next, err := SweepProfiles(kube(class, c), s).Run(t.Context()); next != sweepEvery || err != nil {
		t.Errorf("next in %v, %v", next, err)
	}
	if !slices.Equal(s.swept, []string{"of-nobody"}) {
		t.Errorf("swept %v", s.swept)
	}
}

// shop is a fake of Types: it returns its types for the class named ready.
type shop struct{ types []*model.InstanceType }

func (s *shop) Types(class *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	if class.Name != "ready" {
		return nil, errors.New("not ready")
	}
	return s.types, nil
}

func (s *shop) Machines() []catalog.Machine {
	return []catalog.Machine{{Name: "m5.large", VCPU: 2, MemoryMiB: 8192}}
}

func TestOffers(t *testing.T) {
	s := &shop{types: []*model.InstanceType{{Name: "m5.large", Offerings: []model.Offering{
		{Zone: "a", CapacityType: "spot", Price: 0.03, Available: true}, {Zone: "b", CapacityType: "spot", Price: 0.04},
	}}}}
	reg := prometheus.NewPedanticRegistry()
	o := NewOffers(kube(
		&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}, &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "ready"}},
	), s, false, reg)
	check := func(want string) {
		t.Helper()
		if _, err := o.Task().Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want),
			"karpenter_cloudprovider_instance_type_offering_available",
			"karpenter_cloudprovider_instance_type_offering_price_estimate",
			"karpenter_cloudprovider_instance_type_cpu_cores", "karpenter_cloudprovider_instance_type_memory_bytes",
		); err != nil {
			t.Error(err)
		}
	}
	const fixed = `
# HELP karpenter_cloudprovider_instance_type_cpu_cores vCPUs of the type.
# TYPE karpenter_cloudprovider_instance_type_cpu_cores gauge
karpenter_cloudprovider_instance_type_cpu_cores{instance_type="m5.large"} 2
# HELP karpenter_cloudprovider_instance_type_memory_bytes Memory of the type, nothing subtracted.
# TYPE karpenter_cloudprovider_instance_type_memory_bytes gauge
karpenter_cloudprovider_instance_type_memory_bytes{instance_type="m5.large"} 8.589934592e+09
`
	const offers = `
# HELP karpenter_cloudprovider_instance_type_offering_available 1 if the offering can be had by any node class, else 0.
# TYPE karpenter_cloudprovider_instance_type_offering_available gauge
karpenter_cloudprovider_instance_type_offering_available{capacity_type="spot",instance_type="m5.large",zone="a"} 1
karpenter_cloudprovider_instance_type_offering_available{capacity_type="spot",instance_type="m5.large",zone="b"} 0
# HELP karpenter_cloudprovider_instance_type_offering_price_estimate Estimated price of the offering in dollars per hour.
# TYPE karpenter_cloudprovider_instance_type_offering_price_estimate gauge
karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="spot",instance_type="m5.large",zone="a"} 0.03
karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="spot",instance_type="m5.large",zone="b"} 0.04
`
	check(fixed + offers)
	// If there are too many offerings, only those of types that NodeClaims have keep their metrics.
	for i := range 500 {
		s.types = append(s.types, &model.InstanceType{Name: fmt.Sprint("m6.", i), Offerings: s.types[0].Offerings})
	}
	check("")
	c := claim("one", "i-1")
	c.Labels = map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}
	if err := o.reader.(client.Client).Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	check(fixed + offers)
	s.types = nil
	check(fixed) // offerings that no longer exist have no metrics
}

// With the gate ReservedCapacity, reserved capacity that does not exist is not available, so that a query finds a value of 0. It
// has no price.
func TestUnreservedOffers(t *testing.T) {
	s := &shop{types: []*model.InstanceType{{Name: "m5.large", Offerings: []model.Offering{
		{Zone: "a", CapacityType: "on-demand", Price: 0.1, Available: true}, {Zone: "b", CapacityType: "on-demand", Price: 0.1, Available: true},
		{Zone: "b", CapacityType: "reserved", Price: 1e-8, Available: true},
	}}}}
	reg := prometheus.NewPedanticRegistry()
	o := NewOffers(kube(&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "ready"}}), s, true, reg)
	if err := o.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP karpenter_cloudprovider_instance_type_offering_available 1 if the offering can be had by any node class, else 0.
# TYPE karpenter_cloudprovider_instance_type_offering_available gauge
karpenter_cloudprovider_instance_type_offering_available{capacity_type="on-demand",instance_type="m5.large",zone="a"} 1
karpenter_cloudprovider_instance_type_offering_available{capacity_type="on-demand",instance_type="m5.large",zone="b"} 1
karpenter_cloudprovider_instance_type_offering_available{capacity_type="reserved",instance_type="m5.large",zone="a"} 0
karpenter_cloudprovider_instance_type_offering_available{capacity_type="reserved",instance_type="m5.large",zone="b"} 1
# HELP karpenter_cloudprovider_instance_type_offering_price_estimate Estimated price of the offering in dollars per hour.
# TYPE karpenter_cloudprovider_instance_type_offering_price_estimate gauge
karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="on-demand",instance_type="m5.large",zone="a"} 0.1
karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="on-demand",instance_type="m5.large",zone="b"} 0.1
karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="reserved",instance_type="m5.large",zone="b"} 1e-08
`), "karpenter_cloudprovider_instance_type_offering_available", "karpenter_cloudprovider_instance_type_offering_price_estimate"); err != nil {
		t.Error(err)
	}
}
