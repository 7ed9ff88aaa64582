package awsemu

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

func TestIAM(t *testing.T) {
	l := newLab(t)
	name, role := aws.String("demo_1"), aws.String("KarpenterNodeRole-demo")
	_, err := l.iam.GetInstanceProfile(bg(), &iam.GetInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, err, "NoSuchEntity")
	var missing *iamtypes.NoSuchEntityException
	if !errors.As(err, &missing) {
		t.Errorf("error is %T, want NoSuchEntityException", err)
	}
	made := must[*iam.CreateInstanceProfileOutput](t)(l.iam.CreateInstanceProfile(bg(), &iam.CreateInstanceProfileInput{
		InstanceProfileName: name, Path: aws.String("/karpenter/us-east-1/demo/uid/"),
		Tags: []iamtypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	})).InstanceProfile
	if *made.Arn != "arn:aws:iam::123456789012:instance-profile/karpenter/us-east-1/demo/uid/demo_1" {
		t.Errorf("profile is %s", *made.Arn)
	}
	_, err = l.iam.CreateInstanceProfile(bg(), &iam.CreateInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, err, "EntityAlreadyExists")
	_, err = l.iam.AddRoleToInstanceProfile(bg(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("none")})
	wantCode(t, err, "NoSuchEntity")
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorMessage() != "The role with name none cannot be found." {
		t.Errorf("message is %q, want one about the role", api.ErrorMessage())
	}
	must[*iam.AddRoleToInstanceProfileOutput](t)(l.iam.AddRoleToInstanceProfile(bg(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: role}))
	_, err = l.iam.AddRoleToInstanceProfile(bg(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: role})
	wantCode(t, err, "LimitExceeded")
	must[*iam.TagInstanceProfileOutput](t)(l.iam.TagInstanceProfile(bg(), &iam.TagInstanceProfileInput{
		InstanceProfileName: name, Tags: []iamtypes.Tag{{Key: aws.String("k2"), Value: aws.String("v2")}},
	}))
	got := must[*iam.GetInstanceProfileOutput](t)(l.iam.GetInstanceProfile(bg(), &iam.GetInstanceProfileInput{InstanceProfileName: name})).InstanceProfile
	if len(got.Roles) != 1 || *got.Roles[0].RoleName != *role || len(got.Tags) != 2 {
		t.Errorf("profile has roles %+v, tags %+v", got.Roles, got.Tags)
	}
	if r := must[*iam.GetRoleOutput](t)(l.iam.GetRole(bg(), &iam.GetRoleInput{RoleName: role})).Role; *r.Arn != "arn:aws:iam::123456789012:role/KarpenterNodeRole-demo" {
		t.Errorf("role is %s", *r.Arn)
	}
	_, err = l.iam.DeleteInstanceProfile(bg(), &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, err, "DeleteConflict")
	must[*iam.RemoveRoleFromInstanceProfileOutput](t)(l.iam.RemoveRoleFromInstanceProfile(bg(), &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: role}))
	must[*iam.DeleteInstanceProfileOutput](t)(l.iam.DeleteInstanceProfile(bg(), &iam.DeleteInstanceProfileInput{InstanceProfileName: name}))
}

func TestListInstanceProfiles(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{"c", "a", "b"} {
		must[*iam.CreateInstanceProfileOutput](t)(l.iam.CreateInstanceProfile(bg(), &iam.CreateInstanceProfileInput{
			InstanceProfileName: aws.String("p-" + name), Path: aws.String("/karpenter/"),
		}))
	}
	l.profile("elsewhere")
	pages := iam.NewListInstanceProfilesPaginator(l.iam, &iam.ListInstanceProfilesInput{PathPrefix: aws.String("/karpenter/"), MaxItems: aws.Int32(2)})
	names := ""
	for pages.HasMorePages() {
		for _, p := range must[*iam.ListInstanceProfilesOutput](t)(pages.NextPage(bg())).InstanceProfiles {
			names += *p.InstanceProfileName + " "
		}
	}
	if names != "p-a p-b p-c " {
		t.Errorf("profiles are %s", names)
	}
}

func TestSSM(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/arm64/nvidia/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/neuron/amazon-eks-node-al2023-x86_64-neuron-1.36-v20260820/image_id",
		"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.31/amazon-linux-2-arm64/amazon-eks-arm64-node-1.31-v20261029/image_id",
		"/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id",
		"/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/1.49.1/image_id",
		"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.35/image_id",
		"arn:aws:ssm:us-east-1::parameter/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id",
	} {
		out := must[*ssm.GetParameterOutput](t)(l.ssm.GetParameter(bg(), &ssm.GetParameterInput{Name: &name}))
		if len(*out.Parameter.Value) != len("ami-0123456789abcdef0") {
			t.Errorf("%s is %q, want an image id", name, *out.Parameter.Value)
		}
	}
	for _, name := range []string{
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2/recommended/image_id", // there are no AL2 images after 1.32
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/neuron/recommended/image_id",
		"/nothing",
	} {
		_, err := l.ssm.GetParameter(bg(), &ssm.GetParameterInput{Name: &name})
		wantCode(t, err, "ParameterNotFound")
	}
	many := must[*ssm.GetParametersOutput](t)(l.ssm.GetParameters(bg(), &ssm.GetParametersInput{
		Names: []string{"/nothing", "/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id"},
	}))
	if len(many.Parameters) != 1 || len(many.InvalidParameters) != 1 || many.InvalidParameters[0] != "/nothing" {
		t.Errorf("parameters are %+v, invalid %v", many.Parameters, many.InvalidParameters)
	}
}

func TestPricing(t *testing.T) {
	l := newLab(t)
	if err := l.SetPrice(control.Price{Pool: control.Pool{Type: "c5.large"}, USD: 0.5}); err != nil {
		t.Fatal(err)
	}
	prices := func(region, tenancy, family string) map[string]string {
		in := &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(100)}
		for field, value := range map[string]string{
			"regionCode": region, "serviceCode": "AmazonEC2", "preInstalledSw": "NA", "operatingSystem": "Linux", "capacitystatus": "Used",
			"marketoption": "OnDemand", "tenancy": tenancy, "productFamily": family,
		} {
			in.Filters = append(in.Filters, pricingtypes.Filter{Field: &field, Value: &value, Type: pricingtypes.FilterTypeTermMatch})
		}
		out := map[string]string{}
		pages := pricing.NewGetProductsPaginator(l.pricing, in)
		for pages.HasMorePages() {
			for _, text := range must[*pricing.GetProductsOutput](t)(pages.NextPage(bg())).PriceList {
				var item struct {
					Product struct{ Attributes struct{ InstanceType string } }
					Terms   struct {
						OnDemand map[string]struct {
							PriceDimensions map[string]struct{ PricePerUnit map[string]string }
						}
					}
				}
				if err := json.Unmarshal([]byte(text), &item); err != nil {
					t.Fatal(err)
				}
				for _, term := range item.Terms.OnDemand {
					for _, d := range term.PriceDimensions {
						out[item.Product.Attributes.InstanceType] = d.PricePerUnit["USD"]
					}
				}
			}
		}
		return out
	}
	shared := prices("us-east-1", "Shared", "Compute Instance")
	if shared["m5.large"] != "0.0960000000" || shared["c5.large"] != "0.5000000000" || shared["m5.metal"] != "" || len(shared) < 750 {
		t.Errorf("m5.large costs %q, c5.large %q, m5.metal %q, of %d", shared["m5.large"], shared["c5.large"], shared["m5.metal"], len(shared))
	}
	metal := prices("us-east-1", "Dedicated", "Compute Instance (bare metal)")
	if metal["m5.metal"] != "4.6080000000" || metal["m5.large"] != "" {
		t.Errorf("m5.metal costs %q, m5.large %q", metal["m5.metal"], metal["m5.large"])
	}
	if ireland := prices("eu-west-1", "Shared", "Compute Instance"); ireland["m5.large"] != "0.1070000000" {
		t.Errorf("in Ireland m5.large costs %q", ireland["m5.large"])
	}
}

func TestEKS(t *testing.T) {
	l := newLab(t)
	c := must[*eks.DescribeClusterOutput](t)(l.eks.DescribeCluster(bg(), &eks.DescribeClusterInput{Name: aws.String("demo")})).Cluster
	if *c.Version != "1.36" || *c.KubernetesNetworkConfig.ServiceIpv4Cidr != "10.100.0.0/16" || *c.Endpoint != "https://127.0.0.1:6443" ||
		*c.CertificateAuthority.Data != "cGVt" || c.Status != "ACTIVE" || *c.Arn != "arn:aws:eks:us-east-1:123456789012:cluster/demo" {
		t.Errorf("cluster is %+v", c)
	}
	_, err := l.eks.DescribeCluster(bg(), &eks.DescribeClusterInput{Name: aws.String("other")})
	wantCode(t, err, "ResourceNotFoundException")
}

func TestSTS(t *testing.T) {
	l := newLab(t)
	if who := must[*sts.GetCallerIdentityOutput](t)(l.sts.GetCallerIdentity(bg(), &sts.GetCallerIdentityInput{})); *who.Account != "123456789012" {
		t.Errorf("account is %s", *who.Account)
	}
	role := must[*sts.AssumeRoleWithWebIdentityOutput](t)(l.sts.AssumeRoleWithWebIdentity(bg(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String("arn:aws:iam::123456789012:role/controller"), RoleSessionName: aws.String("s"), WebIdentityToken: aws.String("jwt"),
	}))
	if !role.Credentials.Expiration.Equal(start.Add(time.Hour)) || *role.AssumedRoleUser.Arn != "arn:aws:sts::123456789012:assumed-role/controller/s" {
		t.Errorf("credentials are %+v for %s", role.Credentials, *role.AssumedRoleUser.Arn)
	}
}
