package aws_test

import (
	"context"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/limit"
)

// foreign is an account of another implementation of the AWS APIs.
type foreign struct {
	world
	config      awssdk.Config
	controllers []aws.Controller
}

// hasty is the controller's limiter without the long pauses of the SDK.
type hasty struct{ *limit.Limiter }

func (hasty) RetryDelay(int, error) (time.Duration, error) { return time.Millisecond, nil }

func newForeign(t *testing.T, url string) *foreign {
	t.Helper()
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&awsv1.EC2NodeClass{}, &apiv1.NodeClaim{}).Build()
	f := &foreign{world: world{url: url, kube: kube, clock: clock.RealClock{}}}
	f.config = awssdk.Config{
		Region: "us-east-1", BaseEndpoint: awssdk.String(url), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	settings := aws.AddFlags(fs)
	if err := fs.Parse([]string{"--cluster-name=" + clusterName, "--cluster-endpoint=https://api.test", "--cluster-ca-bundle=Q0E="}); err != nil {
		t.Fatal(err)
	}
	if err := settings.Validate(); err != nil {
		t.Fatal(err)
	}
	limiter := hasty{limit.New(nil, clock.RealClock{})}
	f.config.Retryer = func() awssdk.Retryer { return limiter }
	p, err := aws.New(t.Context(), aws.Config{
		AWS: f.config, Client: kube, Reader: kube, Writer: act.Writer{Client: kube}, Discovery: kubernetes{}, Clock: clock.RealClock{}, Settings: *settings,
		Ledger: ledger{kube}, Metrics: prometheus.NewRegistry(), Recorder: recorder{t},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.provider, f.controllers = p, controllersOf(t, p, kube, clock.RealClock{})
	return f
}

// makeClass creates a node class with resources of the account: any image for x86, all subnets, and all default
// security groups.
func (f *foreign) makeClass(t *testing.T) {
	t.Helper()
	compute, identity := ec2.NewFromConfig(f.config), iam.NewFromConfig(f.config)
	images, err := compute.DescribeImages(t.Context(), &ec2.DescribeImagesInput{})
	if err != nil {
		t.Fatal(err)
	}
	class := nodeClass()
	class.Spec.AMIFamily, class.Spec.AMISelectorTerms = ptr.To(awsv1.AMIFamilyCustom), nil
	for _, i := range images.Images {
		if i.Architecture == "x86_64" && len(class.Spec.AMISelectorTerms) == 0 {
			class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: *i.ImageId}}
		}
	}
	class.Spec.SubnetSelectorTerms = nil
	subnets, err := compute.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range subnets.Subnets {
		class.Spec.SubnetSelectorTerms = append(class.Spec.SubnetSelectorTerms, awsv1.SubnetSelectorTerm{ID: *n.SubnetId})
	}
	class.Spec.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{Name: "default"}}
	role := class.Spec.Role
	_, _ = identity.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: awssdk.String("{}")}) // it may exist
	if err := f.kube.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
}

// Discovery, launch templates, fleets, descriptions and terminations work with the implementation of the APIs at the
// URL in KARPENTER_FOREIGN_AWS.
func TestForeignImplementation(t *testing.T) {
	url := os.Getenv("KARPENTER_FOREIGN_AWS")
	if url == "" {
		t.Skip("set KARPENTER_FOREIGN_AWS to the URL of an implementation of AWS's APIs")
	}
	f := newForeign(t, url)
	l := f.works(t)
	f.tellsOnce(l.context(t), t, l)
}

// Discovery, launch templates, fleets, descriptions and terminations work with an EC2-compatible API of another vendor, see
// stranger. It offers instance types that our table does not have.
func TestStranger(t *testing.T) {
	t.Parallel()
	emulator, err := awsemu.New(awsemu.Config{
		Cluster: awsemu.Cluster{Name: clusterName, Endpoint: "https://api.test:6443", CA: "Q0E="}, Timing: awsemu.Timing{Pending: -1, Shutdown: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(stranger{emulator})
	t.Cleanup(server.Close)
	f := newForeign(t, server.URL)
	l := f.works(t)
	offered, err := f.provider.InstanceTypes(t.Context(), pool())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strangeTypes[:2] {
		if !slices.ContainsFunc(offered, func(it *cloud.InstanceType) bool { return it.Name == name }) {
			t.Errorf("%s, which our table does not know, is not on offer", name)
		}
	}
	f.tellsOnce(l.context(t), t, l)
	for _, i := range emulator.Instances() {
		if i.State == "running" {
			t.Errorf("%s runs on: a dry run launched it", i.ID)
		}
	}
}

// told collects log lines, and the errors that tasks return, because their wrapper logs each error once.
type told struct{ lines []string }

func (l *told) context(t *testing.T) context.Context {
	return log.IntoContext(t.Context(), funcr.New(func(_, line string) {
		l.lines = append(l.lines, line)
		t.Log(line)
	}, funcr.Options{}))
}

// about returns the log lines about an operation.
func (l *told) about(operation string) (out []string) {
	for _, line := range l.lines {
		if strings.Contains(line, operation) {
			out = append(out, line)
		}
	}
	return out
}

// run runs a controller once, as its manager does.
func (f *foreign) run(ctx context.Context, t *testing.T, name, object string, l *told) {
	t.Helper()
	for _, c := range f.controllers {
		if c.Name() != name {
			continue
		}
		_, err := c.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: object}})
		if err == nil {
			return
		}
		if text := fault.Brief(err); !slices.Contains(l.lines, text) {
			l.lines = append(l.lines, text)
			t.Log(text)
		}
	}
}

// works runs everything that a class without special features needs, and returns what was logged.
func (f *foreign) works(t *testing.T) *told {
	t.Helper()
	f.makeClass(t)
	l := &told{}
	ctx := l.context(t)
	f.run(ctx, t, "nodeclass.hash", "default", l)
	for range 3 {
		f.run(ctx, t, "nodeclass", "default", l)
		for _, task := range []string{"providers.pricing", "interruption.instancestatus", "cloudprovider.metrics", "providers.instancetype", "instance.garbagecollection"} {
			f.run(ctx, t, task, "", l)
		}
	}
	class := f.class(t)
	if !condition.Ready(class) {
		t.Fatalf("the class is %+v", class.Status.Conditions)
	}
	for _, operation := range []string{"DescribeCapacityReservations", "DescribePlacementGroups"} {
		if lines := l.about(operation); len(lines) > 0 {
			t.Errorf("logged although not requested: %v", lines)
		}
	}
	f.launchesAndEnds(ctx, t)
	return l
}

// launchesAndEnds launches three claims, reads their instances by all methods, and terminates them.
func (f *foreign) launchesAndEnds(ctx context.Context, t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, name := range names {
		c := f.claim(name)
		f.store(t, c)
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		i, err := f.provider.Create(limited, c)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("launched %s: %v", i.ProviderID, i.Labels)
		f.launched(t, name, i)
		got, err := f.provider.Get(t.Context(), i.ProviderID)
		if err != nil || got.ProviderID != i.ProviderID || got.Labels[corev1.LabelInstanceTypeStable] != i.Labels[corev1.LabelInstanceTypeStable] {
			t.Errorf("get gives %+v, %v", got, err)
		}
		if why, err := f.provider.Drift(t.Context(), f.load(t, name)); err != nil || why != "" {
			t.Errorf("drift of what was just launched: %q, %v", why, err)
		}
	}
	list, err := f.provider.List(t.Context())
	if err != nil || len(list) != len(names) {
		t.Errorf("list has %d, %v; want %d: what a dry run launched would be more", len(list), err, len(names))
	}
	for _, name := range names {
		claim := f.load(t, name)
		for range 3 { // until the instance is terminated
			if err = f.provider.Delete(t.Context(), claim); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("the instance of %s does not end", name)
		}
	}
}

// tellsOnce makes the class select a reservation and a placement group that do not exist. Without the reservation, the
// class stays ready. Without the placement group, it is not ready. Each problem is reported once, in its condition and
// in the log.
func (f *foreign) tellsOnce(ctx context.Context, t *testing.T, l *told) {
	class := f.class(t)
	class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
	f.change(ctx, t, class, l)
	class = f.class(t)
	if !condition.Ready(class) || condition.Get(class, awsv1.ConditionTypeCapacityReservationsReady).Reason != awsv1.ReasonReservationsNotListed {
		t.Errorf("without reservations the class is %+v", class.Status.Conditions)
	}
	class.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "rack"}
	f.change(ctx, t, class, l)
	class = f.class(t)
	if c := condition.Get(class, awsv1.ConditionTypePlacementGroupReady); condition.Ready(class) || !strings.Contains(c.Message, "DescribePlacementGroups: unexpected HTTP ") {
		t.Errorf("without placement groups the class is %+v", class.Status.Conditions)
	}
	for _, operation := range []string{"DescribeCapacityReservations", "DescribePlacementGroups"} {
		lines := l.about(operation)
		if len(lines) != 1 {
			t.Errorf("%s is told %d times: %v", operation, len(lines), lines)
		}
		for _, line := range lines {
			if len(line) > 500 || strings.Contains(line, "<html") {
				t.Errorf("the message is %q", line)
			}
		}
	}
	if lines := l.about("GetProducts"); len(lines) > 1 {
		t.Errorf("prices are told %d times: %v", len(lines), lines)
	}
}

// change stores the class and reconciles it three times.
func (f *foreign) change(ctx context.Context, t *testing.T, class *awsv1.EC2NodeClass, l *told) {
	t.Helper()
	class.Generation++
	if err := f.kube.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.run(ctx, t, "nodeclass", "default", l)
	}
}
