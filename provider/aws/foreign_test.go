package aws_test

import (
	"context"
	"os"
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
	"github.com/karpenter-go/karpenter/provider/aws"
)

// foreign is an account of some other implementation of the same APIs, at the URL in KARPENTER_FOREIGN_AWS.
type foreign struct {
	world
	config awssdk.Config
}

func newForeign(t *testing.T) *foreign {
	t.Helper()
	url := os.Getenv("KARPENTER_FOREIGN_AWS")
	if url == "" {
		t.Skip("set KARPENTER_FOREIGN_AWS to the URL of an implementation of AWS's APIs")
	}
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
	p, err := aws.New(t.Context(), aws.Config{
		AWS: f.config, Client: kube, Reader: kube, Discovery: kubernetes{}, Clock: clock.RealClock{}, Settings: *settings,
		Ledger: ledger{kube}, Metrics: prometheus.NewRegistry(), Recorder: recorder{t},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.provider = p
	return f
}

// class makes a node class of what the account holds: any image for x86, all subnets, all default groups.
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
	_, _ = identity.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: awssdk.String("{}")}) // may be there
	if err := f.kube.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
}

// Discovery, launch templates, fleets, describe and terminate work against whatever speaks the APIs; what it lacks degrades
// with one message.
func TestForeignImplementation(t *testing.T) {
	f := newForeign(t)
	f.makeClass(t)
	lines := 0
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines++; t.Log(line) }, funcr.Options{}))
	controllers := f.provider.Controllers()
	run := func(name, object string) {
		t.Helper()
		for _, c := range controllers {
			if c.Name() == name {
				result, err := c.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: object}})
				t.Logf("%s: again in %v, %v", name, result.RequeueAfter, err)
			}
		}
	}
	run("nodeclass.hash", "default")
	run("nodeclass", "default")
	for _, task := range []string{"providers.pricing", "interruption.instancestatus", "cloudprovider.metrics"} {
		run(task, "")
	}
	class := f.class(t)
	if !condition.Ready(class) {
		t.Fatalf("the class is %+v", class.Status.Conditions)
	}
	offered, err := f.provider.InstanceTypes(t.Context(), pool())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d types on offer", len(offered))
	var names []string
	for _, name := range []string{"a", "b", "c"} {
		c := f.claim(name)
		f.store(t, c)
		names = append(names, name)
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		i, err := f.provider.Create(limited, c)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("launched %s: %v", i.ProviderID, i.Labels)
		f.launched(t, name, i)
		if got, err := f.provider.Get(t.Context(), i.ProviderID); err != nil || got.ProviderID != i.ProviderID || got.Labels[corev1.LabelInstanceTypeStable] != i.Labels[corev1.LabelInstanceTypeStable] {
			t.Errorf("get gives %+v, %v", got, err)
		}
		if why, err := f.provider.Drift(t.Context(), f.load(t, name)); err != nil || why != "" {
			t.Errorf("drift of what was just launched: %q, %v", why, err)
		}
	}
	list, err := f.provider.List(t.Context())
	if err != nil || len(list) != len(names) {
		t.Errorf("list has %d, %v; want %d", len(list), err, len(names))
	}
	for _, name := range names {
		claim := f.load(t, name)
		for range 3 { // until it is gone
			if err = f.provider.Delete(t.Context(), claim); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("the instance of %s does not end", name)
		}
	}
	class.Spec.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "rack"}
	class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
	class.Generation++
	if err := f.kube.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	before := lines
	for range 3 {
		run("nodeclass", "default")
	}
	for _, c := range f.class(t).Status.Conditions {
		t.Logf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	if lines > before+1 {
		t.Errorf("%d lines about one trouble", lines-before)
	}
}
