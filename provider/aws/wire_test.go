package aws_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/bootstrap"
	"github.com/karpenter-go/karpenter/provider/aws/launch"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
)

func only(key string, values ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// claimFor stores a claim for one on-demand type.
func (w *world) claimFor(t *testing.T, name, instanceType string) *apiv1.NodeClaim {
	t.Helper()
	c := w.claim(name)
	c.Spec.Requirements = append(c.Spec.Requirements,
		only(corev1.LabelInstanceTypeStable, instanceType), only(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeOnDemand))
	w.store(t, c)
	return c
}

func create(t testing.TB, p cloud.Provider, c *apiv1.NodeClaim) *cloud.Instance {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	i, err := p.Create(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// A launch that hangs does not delay the others.
func TestOneHangingLaunch(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	if err := w.control.Hang(t.Context(), control.Hang{Op: "CreateFleet", Type: "m5.large", For: forever}); err != nil {
		t.Fatal(err)
	}
	hung := w.claimFor(t, "hangs", "m5.large")
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.Create(ctx, hung)
		done <- err
	}()
	for range 3 {
		create(t, p, w.claimFor(t, "works-"+time.Now().Format("150405.000000"), "c5.large"))
	}
	giveUp()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the hanging launch gave %v", err)
	}
}

// If an offering has no capacity, the same call uses the next offering. No claim waits or fails.
func TestCapacityFallsOver(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	first := w.claim("first")
	w.store(t, first)
	best := create(t, p, first)
	pool := control.Pool{Type: best.Labels[corev1.LabelInstanceTypeStable], Zone: best.Labels[corev1.LabelTopologyZone]}
	if err := w.control.ICE(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	second := w.claim("second")
	w.store(t, second)
	next := create(t, p, second)
	if next.Labels[corev1.LabelInstanceTypeStable] == pool.Type && next.Labels[corev1.LabelTopologyZone] == pool.Zone {
		t.Errorf("launched %v, of which there is none", pool)
	}
}

func TestFleetCall(t *testing.T) {
	w := newWorldSelling(t)
	p := w.start(t)
	c := w.claim("a")
	w.store(t, c)
	create(t, p, c)
	calls := w.calls(t, "CreateFleet")
	if len(calls) != 1 {
		t.Fatalf("%d calls of CreateFleet", len(calls))
	}
	sent := calls[0].Params
	record, ok := launch.RecordOf(w.load(t, "a"))
	for key, want := range map[string]string{
		"Type": "instant",
		"TargetCapacitySpecification.TotalTargetCapacity":       "1",
		"TargetCapacitySpecification.DefaultTargetCapacityType": "spot",
		"SpotOptions.AllocationStrategy":                        "price-capacity-optimized",
		"ClientToken":                                           record.Token,
	} {
		if sent[key] != want || !ok {
			t.Errorf("%s is %q, want %q", key, sent[key], want)
		}
	}
	types := map[string]bool{}
	for key, v := range sent {
		if strings.HasSuffix(key, ".InstanceType") {
			types[v] = true
		}
	}
	if len(types) < 50 || len(types) > 60 { // a few of the 60 cheapest types have no spot offering
		t.Errorf("the fleet may choose from %d types", len(types))
	}
	for _, i := range w.alive(t) {
		for key, want := range map[string]string{
			"team": "platform", "karpenter.sh/nodepool": "default", "karpenter.k8s.aws/ec2nodeclass": "default",
			"kubernetes.io/cluster/test": "owned", "eks:eks-cluster-name": "test", launch.AnnotationLaunch: record.Token,
		} {
			if i.Tags[key] != want {
				t.Errorf("tag %s is %q, want %q", key, i.Tags[key], want)
			}
		}
	}
	if n := len(w.calls(t, "CreateLaunchTemplate")); n == 0 {
		t.Error("no launch template was made")
	}
	again := w.start(t) // the name of a template is a hash of its content
	before := len(w.calls(t, "CreateLaunchTemplate"))
	other := w.claim("b")
	w.store(t, other)
	create(t, again, other)
	if n := len(w.calls(t, "CreateLaunchTemplate")); n != before {
		t.Errorf("%d launch templates more after a restart", n-before)
	}
}

// A launch template that was deleted in EC2 is created again within the same Create.
func TestDeletedLaunchTemplate(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	create(t, p, w.claimFor(t, "a", "m5.large"))
	if err := w.control.Fail(t.Context(), control.Fail{
		Op: "CreateFleet", Code: "InvalidLaunchTemplateName.NotFoundException", Times: 1,
	}); err != nil {
		t.Fatal(err)
	}
	create(t, p, w.claimFor(t, "b", "m5.large"))
	if n := len(w.alive(t)); n != 2 {
		t.Errorf("%d instances, want 2", n)
	}
}

func TestLaunchErrors(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	c := w.claimFor(t, "a", "m5.large")
	if err := w.control.Fail(t.Context(), control.Fail{Op: "CreateFleet", Code: "UnauthorizedOperation", Times: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := p.Create(t.Context(), c)
	var failed *cloud.LaunchError
	if !errors.As(err, &failed) || failed.Reason != "Unauthorized" {
		t.Fatalf("error is %v", err)
	}
	first, _ := launch.RecordOf(w.load(t, "a"))
	create(t, p, c) // c was read before the first launch was recorded
	second, _ := launch.RecordOf(w.load(t, "a"))
	if first.Attempt != 1 || second.Attempt != 2 || first.Token == second.Token {
		t.Errorf("attempts are %+v and %+v", first, second)
	}
}

func TestDrift(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	c := w.claimFor(t, "a", "m5.large")
	w.launched(t, "a", create(t, p, c))
	c = w.load(t, "a")
	for _, tt := range []struct {
		want   cloud.DriftReason
		change func(*awsv1.EC2NodeClass)
	}{
		{"", func(*awsv1.EC2NodeClass) {}},
		{aws.DriftNodeClass, func(n *awsv1.EC2NodeClass) { n.Spec.DetailedMonitoring = ptr.To(true) }},
		{"", func(n *awsv1.EC2NodeClass) { // the annotations of an earlier spec and of an earlier version do not count
			n.Annotations[awsv1.AnnotationEC2NodeClassHash] = "other"
		}},
		{"", func(n *awsv1.EC2NodeClass) {
			n.Annotations[awsv1.AnnotationEC2NodeClassHash] = "other"
			n.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] = "v6"
		}},
		{aws.DriftAMI, func(n *awsv1.EC2NodeClass) {
			for i := range n.Status.AMIs {
				n.Status.AMIs[i].ID += "new"
			}
		}},
		{aws.DriftSecurityGroup, func(n *awsv1.EC2NodeClass) { n.Status.SecurityGroups[0].ID = "sg-other" }},
		{aws.DriftSubnet, func(n *awsv1.EC2NodeClass) {
			n.Status.Subnets = []awsv1.Subnet{{ID: "subnet-other", Zone: "us-east-1a"}}
		}},
	} {
		var class awsv1.EC2NodeClass
		if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &class); err != nil {
			t.Fatal(err)
		}
		good := class.DeepCopy()
		tt.change(&class)
		w.write(t, &class)
		if got, err := p.Drift(t.Context(), c); got != tt.want || err != nil {
			t.Errorf("drift is %q, %v; want %q", got, err, tt.want)
		}
		w.write(t, good)
	}
}

// A node that is launched from a class whose hash is not written to its annotation yet has not drifted. A hash of another
// version is not compared.
func TestNewNodeOfAChangedClass(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.DetailedMonitoring = ptr.To(true) })
	class := w.class(t)
	got := create(t, p, w.claimFor(t, "a", "m5.large"))
	w.launched(t, "a", got)
	if hash := got.Annotations[awsv1.AnnotationEC2NodeClassHash]; hash != nodeclass.Hash(class) || hash == class.Annotations[awsv1.AnnotationEC2NodeClassHash] {
		t.Errorf("the hash of the claim is %q, that of the spec %q, that of the annotation %q", hash, nodeclass.Hash(class), class.Annotations[awsv1.AnnotationEC2NodeClassHash])
	}
	for range 2 { // before and after the annotation is written
		if reason, err := p.Drift(t.Context(), w.load(t, "a")); reason != "" || err != nil {
			t.Errorf("drift is %q, %v", reason, err)
		}
		w.reconcile(t, "nodeclass.hash", "default")
	}
	former := w.load(t, "a")
	former.Annotations[awsv1.AnnotationEC2NodeClassHash], former.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] = "1", "v6"
	if reason, err := p.Drift(t.Context(), former); reason != "" || err != nil {
		t.Errorf("drift of a claim with a hash of another version is %q, %v", reason, err)
	}
}

// While a class that has changed is not reconciled, drift is not known: its status belongs to the former spec.
func TestDriftOfAChangedClass(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	w.launched(t, "a", create(t, p, w.claimFor(t, "a", "m5.large")))
	c := w.load(t, "a")
	var class awsv1.EC2NodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &class); err != nil {
		t.Fatal(err)
	}
	class.Annotations[awsv1.AnnotationEC2NodeClassHash] = "other"
	for i := range class.Status.Conditions {
		class.Status.Conditions[i].ObservedGeneration = class.Generation - 1
	}
	w.write(t, &class)
	var notReady *cloud.NodeClassNotReadyError
	if reason, err := p.Drift(t.Context(), c); reason != "" || !errors.As(err, &notReady) {
		t.Errorf("drift is %q, %v; want NodeClassNotReadyError", reason, err)
	}
}

// write stores metadata and status of a class.
func (w *world) write(t *testing.T, class *awsv1.EC2NodeClass) {
	t.Helper()
	status := class.Status.DeepCopy()
	var stored awsv1.EC2NodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: class.Name}, &stored); err != nil {
		t.Fatal(err)
	}
	class.ResourceVersion = stored.ResourceVersion
	if err := w.kube.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	class.Status = *status
	if err := w.kube.Status().Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
}

// If services of AWS fail, the class reports that, and recovers without a restart.
func TestServicesThatFail(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	if err := w.control.Fail(t.Context(), control.Fail{Op: "pricing:*", Code: "html"}); err != nil {
		t.Fatal(err)
	}
	if result := w.reconcile(t, "providers.pricing", ""); result.RequeueAfter <= 0 {
		t.Errorf("prices are asked for again in %v", result.RequeueAfter)
	}
	c := w.claim("a")
	w.store(t, c)
	create(t, w.provider, c)
}

// An independent parser reads the expected settings from the user data of each family.
func TestUserDataIsUnderstood(t *testing.T) {
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "web"}}}
	for _, family := range []string{awsv1.AMIFamilyAL2023, awsv1.AMIFamilyAL2, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyWindows2022} {
		text, err := bootstrap.UserData(bootstrap.Input{
			Family: family, MaxPods: 29, Labels: bootstrap.ClaimLabels(claim, "spot", family), Taints: bootstrap.ClaimTaints(claim),
			Cluster: bootstrap.Cluster{Name: "c", Endpoint: "https://e", CABundle: "Q0E=", CIDR: "10.100.0.0/16", DNS: "10.100.0.10"},
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := machine.Decode(strings.TrimSuffix(family, "2022"), encode(text))
		if err != nil {
			t.Errorf("%s: %v", family, err)
			continue
		}
		if read.Cluster != "c" || read.Endpoint != "https://e" || read.CA != "Q0E=" || read.Kubelet.MaxPods != 29 ||
			read.Labels["team"] != "web" || read.Labels[apiv1.CapacityTypeLabelKey] != "spot" || len(read.Taints) != 1 ||
			read.Taints[0].Key != apiv1.UnregisteredTaintKey {
			t.Errorf("%s is read as %+v", family, read)
		}
	}
}

func TestReadiness(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	var class awsv1.EC2NodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &class); err != nil {
		t.Fatal(err)
	}
	if !condition.Ready(&class) {
		t.Fatalf("class is not ready: %+v", class.Status.Conditions)
	}
	c := w.claimFor(t, "a", "m5.large")
	ready := class.DeepCopy()
	condition.SetFalse(&class, awsv1.ConditionTypeSubnetsReady, "SubnetsNotFound", "none", time.Now())
	w.write(t, &class)
	var notReady *cloud.NodeClassNotReadyError
	if _, err := p.Create(t.Context(), c); !errors.As(err, &notReady) {
		t.Errorf("with a class that is not ready: %v", err)
	}
	gone := w.claim("gone")
	gone.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "missing"}
	var none *cloud.InsufficientCapacityError
	if _, err := p.Create(t.Context(), gone); !errors.As(err, &none) {
		t.Errorf("with a class that does not exist: %v", err)
	}
	class = *ready.DeepCopy()
	class.Status.Conditions = nil
	w.write(t, &class)
	var failed *cloud.LaunchError
	if _, err := p.Create(t.Context(), c); !errors.As(err, &failed) || failed.Reason != apiv1.ReasonNodeClassReadinessUnknown {
		t.Errorf("with a class that was not reconciled: %v", err)
	}
	if n := len(w.alive(t)); n != 0 {
		t.Errorf("%d instances were launched", n)
	}
}

// A missing permission is reported in the class's condition, nothing is launched, and a fix needs no restart.
func TestPermissions(t *testing.T) {
	for _, tt := range []struct{ op, reason string }{
		{"CreateLaunchTemplate", awsv1.ReasonCreateLaunchTemplateAuthCheckFailed},
		{"CreateFleet", awsv1.ReasonCreateFleetAuthCheckFailed},
		{"RunInstances", awsv1.ReasonRunInstancesAuthCheckFailed},
	} {
		t.Run(tt.op, func(t *testing.T) {
			w := newWorld(t)
			w.afterNew = func() {
				if err := w.control.Fail(t.Context(), control.Fail{Op: tt.op, Code: "UnauthorizedOperation"}); err != nil {
					t.Fatal(err)
				}
			}
			p := w.start(t)
			c := w.validation(t)
			if c.Status != metav1.ConditionFalse || c.Reason != tt.reason || c.Message == "" {
				t.Errorf("condition is %+v, want %s", c, tt.reason)
			}
			var notReady *cloud.NodeClassNotReadyError
			if _, err := p.Create(t.Context(), w.claimFor(t, "a", "m5.large")); !errors.As(err, &notReady) {
				t.Errorf("create: %v", err)
			}
			if err := w.control.ClearFaults(t.Context(), "*"); err != nil {
				t.Fatal(err)
			}
			w.reconcile(t, "nodeclass", "default")
			if c := w.validation(t); c.Status != metav1.ConditionTrue {
				t.Errorf("afterwards the condition is %+v", c)
			}
			if n := len(w.alive(t)); n != 0 {
				t.Errorf("%d instances were launched", n)
			}
		})
	}
}

// validation returns the class's condition ValidationSucceeded.
func (w *world) validation(t *testing.T) metav1.Condition {
	t.Helper()
	var class awsv1.EC2NodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &class); err != nil {
		t.Fatal(err)
	}
	c := condition.Get(&class, awsv1.ConditionTypeValidationSucceeded)
	if c == nil {
		t.Fatal("the class has no condition ValidationSucceeded")
	}
	return *c
}

// Prices of overlays decide which type is launched: the EC2 call has them as priorities.
func TestOverlayPricesTheLaunch(t *testing.T) {
	w := newWorld(t)
	p := w.startWith(t, func(c *aws.Config) {
		c.Overlay = func(_ context.Context, pool string, types []*cloud.InstanceType) ([]*cloud.InstanceType, error) {
			out := make([]*cloud.InstanceType, len(types))
			for n, it := range types {
				changed := *it
				changed.Offerings = slices.Clone(it.Offerings)
				for k := range changed.Offerings {
					if it.Name == "m5.4xlarge" && pool == "default" {
						changed.Offerings[k].Price = 0.0001
					}
				}
				out[n] = &changed
			}
			return out, nil
		}
	})
	c := w.claim("a")
	c.Annotations = map[string]string{apiv1.PriceOverlayAppliedAnnotationKey: "true"}
	w.store(t, c)
	i := create(t, p, c)
	if got := i.Labels[corev1.LabelInstanceTypeStable]; got != "m5.4xlarge" {
		t.Errorf("launched %s, want what the overlay makes cheap", got)
	}
	if s := w.calls(t, "CreateFleet")[0].Params["SpotOptions.AllocationStrategy"]; s != "capacity-optimized-prioritized" {
		t.Errorf("strategy is %q", s)
	}
}
