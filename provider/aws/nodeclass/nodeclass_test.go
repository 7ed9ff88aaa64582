package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/go-logr/logr/funcr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/provider/aws/network"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
	"github.com/karpenter-go/karpenter/provider/aws/profiles"
)

// account implements all services that the controller calls, with responses that tests set.
type account struct {
	images  []awsv1.AMI
	subnets []network.Subnet
	groups  []awsv1.SecurityGroup
	version string
	errs    map[string]error
	removed []string
	events  []string
	finding Finding
}

func newAccount() *account {
	return &account{
		images: []awsv1.AMI{{ID: "ami-1"}}, version: "1.36", errs: map[string]error{},
		subnets: []network.Subnet{{ID: "subnet-1", Zone: "a", ZoneID: "1"}}, groups: []awsv1.SecurityGroup{{ID: "sg-1"}},
	}
}

type images struct{ *account }

func (a images) Resolve(context.Context, *awsv1.EC2NodeClass, string) ([]awsv1.AMI, error) {
	return a.account.images, a.errs["images"]
}

type subnets struct{ *account }

func (a subnets) Resolve(context.Context, *awsv1.EC2NodeClass) ([]network.Subnet, error) {
	return a.account.subnets, a.errs["subnets"]
}

type groups struct{ *account }

func (a groups) Resolve(context.Context, *awsv1.EC2NodeClass) ([]awsv1.SecurityGroup, error) {
	return a.account.groups, a.errs["groups"]
}

type reservations struct{ *account }

func (a reservations) Resolve(context.Context, *awsv1.EC2NodeClass) ([]awsv1.CapacityReservation, error) {
	return nil, a.errs["reservations"]
}

type groupsOfHosts struct{ *account }

func (a groupsOfHosts) Resolve(context.Context, *awsv1.EC2NodeClass) (*placement.Group, error) {
	return nil, a.errs["group"]
}

func (groupsOfHosts) Last(*awsv1.EC2NodeClass) *placement.Group { return nil }

func (a *account) Ensure(context.Context, *awsv1.EC2NodeClass) (string, error) {
	return "profile", a.errs["profile"]
}

func (a *account) RemoveOf(_ context.Context, class *awsv1.EC2NodeClass) error {
	a.removed = append(a.removed, "profiles of "+class.Name)
	return a.errs["remove"]
}

type templates struct{ *account }

func (a templates) RemoveOf(_ context.Context, class string) error {
	a.removed = append(a.removed, "templates of "+class)
	return nil
}

func (a *account) Kubernetes(context.Context) (string, error) { return a.version, nil }
func (a *account) CIDR(context.Context) (string, error)       { return "10.0.0.0/16", a.errs["cidr"] }

func (a *account) Event(_ client.Object, _, reason, _ string) { a.events = append(a.events, reason) }

func class() *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "u", Generation: 1}}
	c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	c.Spec.Role = "role"
	return c
}

type bench struct {
	*account
	status *Status
	kube   client.Client
}

func newBench(objects ...client.Object) *bench {
	a := newAccount()
	kube := fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(objects...).
		WithStatusSubresource(&awsv1.EC2NodeClass{}, &apiv1.NodeClaim{}).Build()
	return &bench{account: a, kube: kube, status: &Status{Config: Config{
		Client: kube, Reader: kube, Images: images{a}, Subnets: subnets{a}, Groups: groups{a}, Profiles: a, Cluster: a,
		Templates: templates{a}, Reservations: reservations{a}, Placements: groupsOfHosts{a}, Recorder: a, Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)),
		Check: func(context.Context, *awsv1.EC2NodeClass) (Finding, error) { return a.finding, a.errs["check"] },
	}}}
}

func (b *bench) reconcile(t *testing.T) (*awsv1.EC2NodeClass, ctrl.Result, error) {
	t.Helper()
	result, err := b.status.Reconcile(t.Context(), request())
	var c awsv1.EC2NodeClass
	if getErr := b.kube.Get(t.Context(), request().NamespacedName, &c); client.IgnoreNotFound(getErr) != nil {
		t.Fatal(getErr)
	}
	return &c, result, err
}

func request() ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}}
}

func TestReady(t *testing.T) {
	b := newBench(class())
	c, result, err := b.reconcile(t)
	if err != nil || result.RequeueAfter != time.Minute {
		t.Errorf("again in %v, %v; want a minute, for the subnets", result.RequeueAfter, err)
	}
	if !condition.Ready(c) || c.Status.InstanceProfile != "profile" || len(c.Status.Subnets) != 1 || len(c.Finalizers) != 1 {
		t.Errorf("status is %+v, finalizers %v", c.Status, c.Finalizers)
	}
	version := c.ResourceVersion
	if c, _, _ = b.reconcile(t); c.ResourceVersion != version {
		t.Error("the class was written although nothing changed")
	}
}

func TestConditions(t *testing.T) {
	kubelet := func(text string) func(*bench, *awsv1.EC2NodeClass) {
		return func(_ *bench, c *awsv1.EC2NodeClass) {
			k, v, _ := strings.Cut(text, "=")
			c.Spec.Kubelet = map[string]apiextensionsv1.JSON{k: {Raw: []byte(v)}}
		}
	}
	validation := awsv1.ConditionTypeValidationSucceeded
	for _, tt := range []struct {
		name         string
		change       func(*bench, *awsv1.EC2NodeClass)
		kind, reason string
		status       metav1.ConditionStatus
		again        time.Duration
	}{
		{"no image", func(b *bench, _ *awsv1.EC2NodeClass) { b.account.images = nil },
			awsv1.ConditionTypeAMIsReady, awsv1.ReasonAMINotFound, "False", time.Minute},
		{"AL2 on a new Kubernetes", func(_ *bench, c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "al2@latest" },
			awsv1.ConditionTypeAMIsReady, awsv1.ReasonUnsupportedAlias, "False", time.Minute},
		{"no subnet", func(b *bench, _ *awsv1.EC2NodeClass) { b.account.subnets = nil },
			awsv1.ConditionTypeSubnetsReady, awsv1.ReasonSubnetsNotFound, "False", time.Minute},
		{"no group", func(b *bench, _ *awsv1.EC2NodeClass) { b.account.groups = nil },
			awsv1.ConditionTypeSecurityGroupsReady, awsv1.ReasonSecurityGroupsNotFound, "False", time.Minute},
		{"no role", func(b *bench, _ *awsv1.EC2NodeClass) { b.errs["profile"] = fmt.Errorf("x: %w", profiles.ErrNoRole) },
			awsv1.ConditionTypeInstanceProfileReady, "RoleNotFound", "False", time.Minute},
		{"no CIDR", func(b *bench, _ *awsv1.EC2NodeClass) { b.errs["cidr"] = errors.New("no") },
			validation, awsv1.ReasonClusterCIDRResolutionFailed, "False", time.Minute},
		{"a CIDR that EKS does not tell now", func(b *bench, _ *awsv1.EC2NodeClass) {
			b.errs["cidr"] = &smithy.GenericAPIError{Code: "ServerException", Fault: smithy.FaultServer}
		}, validation, awsv1.ReasonNotResolved, "Unknown", 10 * time.Second},
		{"what it builds on is missing", func(b *bench, _ *awsv1.EC2NodeClass) { b.account.groups = nil },
			validation, awsv1.ReasonDependenciesNotReady, "False", time.Minute},
		{"a kubelet field that is none", kubelet("maxPod=5"), validation, awsv1.ReasonInvalidKubeletConfiguration, "False", time.Minute},
		{"an expression", kubelet(`maxPods="vcpus * 5"`), validation, awsv1.ReasonKubeletExpressionsDisabled, "False", time.Minute},
		{"an expression that cannot be read and is off", kubelet(`maxPods="vcpus *"`), validation, awsv1.ReasonKubeletExpressionsDisabled, "False", time.Minute},
		{"a kubelet field that Bottlerocket has not", func(b *bench, c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms[0].Alias = "bottlerocket@latest"
			kubelet("serializeImagePulls=false")(b, c)
		}, validation, awsv1.ReasonUnsupportedKubeletConfiguration, "False", time.Minute},
		{"podsPerCore on Bottlerocket", func(b *bench, c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms[0].Alias = "bottlerocket@latest"
			kubelet("podsPerCore=2")(b, c)
		}, validation, awsv1.ReasonUnsupportedKubeletConfiguration, "False", time.Minute},
		{"a reserved tag", func(_ *bench, c *awsv1.EC2NodeClass) { c.Spec.Tags = map[string]string{"karpenter.sh/nodepool": "x"} },
			validation, awsv1.ReasonTagValidationFailed, "False", time.Minute},
		{"a reserved tag while a security group is missing", func(b *bench, c *awsv1.EC2NodeClass) {
			c.Spec.Tags, b.account.groups = map[string]string{"karpenter.sh/nodepool": "x"}, nil
		}, validation, awsv1.ReasonDependenciesNotReady, "False", time.Minute},
		{"a reserved tag and an expression without a value", func(b *bench, c *awsv1.EC2NodeClass) {
			b.status.Expressions, c.Spec.Tags = true, map[string]string{"karpenter.sh/nodepool": "x"}
			b.status.Evaluate = func(*awsv1.EC2NodeClass) error { return errors.New("division by zero") }
		}, validation, awsv1.ReasonKubeletExpressionEvaluationFailed, "False", time.Minute},
		{"not allowed", func(b *bench, _ *awsv1.EC2NodeClass) {
			b.finding = Finding{Reason: "CreateFleetAuthCheckFailed", Message: "no"}
		},
			validation, "CreateFleetAuthCheckFailed", "False", time.Minute},
		{"asked too soon", func(b *bench, _ *awsv1.EC2NodeClass) { b.finding = Finding{Again: 5 * time.Second, Message: "soon"} },
			validation, awsv1.ReasonNotResolved, "Unknown", 5 * time.Second},
		{"AWS is silent", func(b *bench, _ *awsv1.EC2NodeClass) { b.errs["images"] = errors.New("HTTP 500") },
			awsv1.ConditionTypeAMIsReady, awsv1.ReasonNotResolved, "Unknown", 10 * time.Second},
		{"reservations that are not listed", func(b *bench, _ *awsv1.EC2NodeClass) {
			b.status.ReservedCapacity, b.errs["reservations"] = true, errors.New("HTTP 500")
		}, awsv1.ConditionTypeCapacityReservationsReady, awsv1.ReasonReservationsNotListed, "True", time.Minute},
		{"no placement group of that name", func(_ *bench, c *awsv1.EC2NodeClass) {
			c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "x"}
		}, awsv1.ConditionTypePlacementGroupReady, awsv1.ReasonPlacementGroupNotFound, "False", time.Minute},
		{"placement groups that are not listed", func(b *bench, c *awsv1.EC2NodeClass) {
			c.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "x"}
			b.errs["group"] = errors.New("HTTP 500")
		}, awsv1.ConditionTypePlacementGroupReady, awsv1.ReasonPlacementGroupResolutionFailed, "False", time.Minute},
		{"an expression that cannot be read", func(b *bench, c *awsv1.EC2NodeClass) {
			b.status.Expressions = true
			kubelet(`maxPods="vcpus *"`)(b, c)
		}, validation, awsv1.ReasonKubeletExpressionInvalid, "False", time.Minute},
		{"an expression that has no value somewhere", func(b *bench, c *awsv1.EC2NodeClass) {
			b.status.Expressions = true
			b.status.Evaluate = func(*awsv1.EC2NodeClass) error { return errors.New("division by zero") }
			kubelet(`maxPods="10 / (vcpus - 2)"`)(b, c)
		}, validation, awsv1.ReasonKubeletExpressionEvaluationFailed, "False", time.Minute},
		{"no placement group selector", func(*bench, *awsv1.EC2NodeClass) {},
			awsv1.ConditionTypePlacementGroupReady, "PlacementGroupReady", "True", time.Minute},
		{"reservations are off", func(*bench, *awsv1.EC2NodeClass) {},
			awsv1.ConditionTypeCapacityReservationsReady, awsv1.ReasonReservedCapacityDisabled, "True", time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := class()
			b := newBench()
			tt.change(b, c)
			if err := b.kube.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			got, result, err := b.reconcile(t)
			if err != nil || result.RequeueAfter != tt.again {
				t.Errorf("again in %v, %v; want %v", result.RequeueAfter, err, tt.again)
			}
			cond := condition.Get(got, tt.kind)
			if cond == nil || cond.Status != tt.status || cond.Reason != tt.reason {
				t.Errorf("condition is %+v, want %s %s", cond, tt.status, tt.reason)
			}
			if cond.Status == metav1.ConditionFalse && (cond.Message == "" || condition.Ready(got)) {
				t.Errorf("message is %q, ready %v", cond.Message, condition.Ready(got))
			}
		})
	}
}

// If one step fails, the results of the others are still written to the status.
func TestOneErrorDoesNotStopTheOthers(t *testing.T) {
	b := newBench(class())
	b.errs["subnets"] = errors.New("throttled")
	c, result, err := b.reconcile(t)
	if err != nil || result.RequeueAfter != errorAgain || len(c.Status.SecurityGroups) != 1 || !condition.IsTrue(c, awsv1.ConditionTypeAMIsReady) {
		t.Errorf("again in %v, error %v, status %+v", result.RequeueAfter, err, c.Status)
	}
	if got := condition.Get(c, awsv1.ConditionTypeSubnetsReady); !strings.Contains(got.Message, "throttled") {
		t.Errorf("the condition says %q", got.Message)
	}
	b.errs["subnets"] = nil
	if c, _, err = b.reconcile(t); err != nil || !condition.Ready(c) {
		t.Errorf("afterwards: %v, ready %v", err, condition.Ready(c))
	}
	b.errs["subnets"], b.errs["check"] = errors.New("down"), errors.New("down")
	if c, _, err = b.reconcile(t); err != nil || !condition.Ready(c) {
		t.Errorf("a class that was ready stops launching because AWS does not answer: %v, %+v", err, c.Status.Conditions)
	}
}

// A problem is logged once, and its end is logged once.
func TestTroubleIsToldOnce(t *testing.T) {
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	b := newBench(class())
	b.errs["subnets"] = errors.New("down")
	for range 3 {
		if _, err := b.status.Reconcile(ctx, request()); err != nil {
			t.Fatal(err)
		}
	}
	b.errs["subnets"] = nil
	for range 2 {
		if _, err := b.status.Reconcile(ctx, request()); err != nil {
			t.Fatal(err)
		}
	}
	if len(lines) != 2 {
		t.Errorf("logged %v", lines)
	}
}

func claim(name, class string) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: class}
	return c
}

func TestDeletion(t *testing.T) {
	c := class()
	c.Finalizers = []string{awsv1.TerminationFinalizer}
	user := claim("user", "default")
	b := newBench(c, user, claim("other", "another"))
	if err := b.kube.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, result, err := b.reconcile(t)
	if err != nil || result.RequeueAfter != 10*time.Minute || len(b.removed) != 0 {
		t.Errorf("in use: again in %v, %v, removed %v", result.RequeueAfter, err, b.removed)
	}
	if len(b.events) != 1 || b.events[0] != "WaitingOnNodeClaimTermination" {
		t.Errorf("events are %v", b.events)
	}
	if err := b.kube.Delete(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	b.errs["remove"] = errors.New("denied")
	if _, _, err = b.reconcile(t); err == nil {
		t.Error("a profile that cannot be deleted is not told")
	}
	b.errs["remove"], b.removed = nil, nil
	if _, _, err = b.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.removed); got != "[profiles of default templates of default]" {
		t.Errorf("removed %s", got)
	}
	if err := b.kube.Get(t.Context(), request().NamespacedName, c); !apierrors.IsNotFound(err) {
		t.Errorf("the class is still there: %v", err)
	}
}

// staleCache is a client whose cache has no claims yet.
type staleCache struct{ client.Client }

func (c staleCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*apiv1.NodeClaimList); ok {
		return nil
	}
	return c.Client.List(ctx, list, options...)
}

// A class that is being deleted keeps its profiles while a claim uses it, although the cache of a new leader lacks the claim.
func TestDeletionWithStaleCache(t *testing.T) {
	c := class()
	c.Finalizers = []string{awsv1.TerminationFinalizer}
	b := newBench(c, claim("user", "default"))
	b.status.Client = staleCache{b.kube}
	if err := b.kube.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, result, err := b.reconcile(t); err != nil || result.RequeueAfter != deletionRecheck || len(b.removed) != 0 {
		t.Errorf("in use: again in %v, %v, removed %v", result.RequeueAfter, err, b.removed)
	}
}

func TestHash(t *testing.T) {
	full := func() *awsv1.EC2NodeClass {
		c := class()
		c.Spec.Tags = map[string]string{"a": "1", "b": "2"}
		c.Spec.Kubelet = map[string]apiextensionsv1.JSON{"kubeReserved": {Raw: []byte(`{"cpu":"1","memory":"1Gi"}`)}}
		for _, d := range []string{"/dev/xvda", "/dev/xvdb"} {
			c.Spec.BlockDeviceMappings = append(c.Spec.BlockDeviceMappings, &awsv1.BlockDeviceMapping{
				DeviceName: ptr.To(d), EBS: &awsv1.BlockDevice{VolumeSize: ptr.To(resource.MustParse("20Gi"))},
			})
		}
		return c
	}
	base := Hash(full())
	for _, tt := range []struct {
		name   string
		change func(*awsv1.EC2NodeClassSpec)
		same   bool
	}{
		{"nothing", func(*awsv1.EC2NodeClassSpec) {}, true},
		{"the order of disks", func(s *awsv1.EC2NodeClassSpec) {
			s.BlockDeviceMappings[0], s.BlockDeviceMappings[1] = s.BlockDeviceMappings[1], s.BlockDeviceMappings[0]
		}, true},
		{"the family that the alias means", func(s *awsv1.EC2NodeClassSpec) { s.AMIFamily = ptr.To("AL2023") }, true},
		{"another family", func(s *awsv1.EC2NodeClassSpec) { s.AMIFamily = ptr.To("Custom") }, false},
		{"selectors", func(s *awsv1.EC2NodeClassSpec) {
			s.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}}
			s.AMISelectorTerms[0].Alias = "al2023@v20260101"
		}, true},
		{"the order of kubelet's keys", func(s *awsv1.EC2NodeClassSpec) {
			s.Kubelet["kubeReserved"] = apiextensionsv1.JSON{Raw: []byte(`{"memory": "1Gi", "cpu": "1"}`)}
		}, true},
		{"kubelet", func(s *awsv1.EC2NodeClassSpec) { s.Kubelet["maxPods"] = apiextensionsv1.JSON{Raw: []byte("5")} }, false},
		{"the size of a disk", func(s *awsv1.EC2NodeClassSpec) {
			s.BlockDeviceMappings[0].EBS.VolumeSize = ptr.To(resource.MustParse("21Gi"))
		}, false},
		{"the same size in other words", func(s *awsv1.EC2NodeClassSpec) {
			s.BlockDeviceMappings[0].EBS.VolumeSize = ptr.To(resource.MustParse("20480Mi"))
		}, true},
		{"user data", func(s *awsv1.EC2NodeClassSpec) { s.UserData = ptr.To("x") }, false},
		{"role", func(s *awsv1.EC2NodeClassSpec) { s.Role = "other" }, false},
		{"tags", func(s *awsv1.EC2NodeClassSpec) { s.Tags["c"] = "3" }, false},
		{"metadata", func(s *awsv1.EC2NodeClassSpec) {
			s.MetadataOptions = &awsv1.MetadataOptions{HTTPTokens: ptr.To("optional")}
		}, false},
		{"enclaves", func(s *awsv1.EC2NodeClassSpec) { s.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} }, false},
		{"prefixes", func(s *awsv1.EC2NodeClassSpec) { s.IPPrefixCount = ptr.To[int32](1) }, true},
	} {
		c := full()
		tt.change(&c.Spec)
		if same := Hash(c) == base; same != tt.same {
			t.Errorf("%s: same hash is %v, want %v", tt.name, same, tt.same)
		}
	}
}

// After a change between upstream's hash and this one, in either direction, no node drifts that had not drifted before.
func TestStampMigrates(t *testing.T) {
	c := class()
	c.Annotations = map[string]string{awsv1.AnnotationEC2NodeClassHash: "upstream", awsv1.AnnotationEC2NodeClassHashVersion: "v6"}
	with := func(name, version string, conditions ...metav1.Condition) *apiv1.NodeClaim {
		n := claim(name, "default")
		n.Annotations = map[string]string{awsv1.AnnotationEC2NodeClassHash: "upstream", awsv1.AnnotationEC2NodeClassHashVersion: version}
		n.Status.Conditions = conditions
		return n
	}
	drifted := metav1.Condition{Type: apiv1.ConditionTypeDrifted, Status: "True", Reason: "AMIDrift"}
	foreign := with("foreign", "v6")
	foreign.Spec.NodeClassRef.Name = "another"
	kube := fake.NewClientBuilder().WithScheme(api.Scheme()).WithStatusSubresource(&apiv1.NodeClaim{}).
		WithObjects(c, with("fine", "v6"), with("drifted", "v6", drifted), foreign, with("new", HashVersion)).Build()
	s := &Stamp{Client: kube, Claims: act.Writer{Client: kube}}
	if _, err := s.Reconcile(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	want := Hash(c)
	for name, w := range map[string][2]string{
		"fine": {want, HashVersion}, "drifted": {"upstream", HashVersion}, "foreign": {"upstream", "v6"}, "new": {"upstream", HashVersion},
	} {
		var n apiv1.NodeClaim
		if err := kube.Get(t.Context(), client.ObjectKey{Name: name}, &n); err != nil {
			t.Fatal(err)
		}
		got := [2]string{n.Annotations[awsv1.AnnotationEC2NodeClassHash], n.Annotations[awsv1.AnnotationEC2NodeClassHashVersion]}
		if got != w {
			t.Errorf("claim %s has %v, want %v", name, got, w)
		}
	}
	var stamped awsv1.EC2NodeClass
	if err := kube.Get(t.Context(), request().NamespacedName, &stamped); err != nil {
		t.Fatal(err)
	}
	if stamped.Annotations[awsv1.AnnotationEC2NodeClassHash] != want {
		t.Errorf("class has %v", stamped.Annotations)
	}
}
