package doctor

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/karpenter-go/karpenter/internal/finding"
	"github.com/karpenter-go/karpenter/provider/aws/prices"
)

// A try is a permission with a call that needs the permission and changes nothing.
type try struct {
	action string
	call   func(context.Context) error
}

// permissions makes the call of each try, and adds a finding for each that fails.
func (d *doctor) permissions(ctx context.Context) {
	all := append(d.reads(), d.writes()...)
	switch {
	case d.Isolated:
		d.found("permissions", finding.Note, "", "pricing:GetProducts is not checked: the controller does not call it in an isolated VPC")
	case !prices.Served(d.AWS.Region):
		d.found("permissions", finding.Note, "", "pricing:GetProducts is not checked: the Pricing API is not offered for %s", d.AWS.Region)
	default:
		all = append(all, d.pricingRead())
	}
	bad := 0
	for _, t := range all {
		err := t.call(ctx)
		if err == nil || harmless(code(err)) {
			continue
		}
		bad++
		d.failed("permissions", t.action, err)
	}
	if bad == 0 {
		d.found("permissions", finding.OK, "", "all %d checked permissions are granted", len(all))
	}
}

// harmless reports whether the error code proves that the caller has the permission: the dry run succeeded, or AWS
// checked the permission and then found that a name in the call does not exist or is malformed.
func harmless(code string) bool {
	switch code {
	case "DryRunOperation", "NoSuchEntity", "ParameterNotFound":
		return true
	}
	return strings.HasSuffix(code, ".NotFound") || strings.HasSuffix(code, ".Malformed") || strings.HasSuffix(code, ".NotFoundException")
}

// reads returns the permissions for calls that change nothing, without pricingRead.
func (d *doctor) reads() []try {
	five := awssdk.Int32(5)
	name := "doctor-" + d.Cluster
	return []try{
		{"ec2:DescribeCapacityReservations", func(ctx context.Context) error {
			_, err := d.ec2.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{MaxResults: five})
			return err
		}},
		{"ec2:DescribeImages", func(ctx context.Context) error {
			_, err := d.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"self"}})
			return err
		}},
		{"ec2:DescribeInstances", func(ctx context.Context) error {
			_, err := d.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{MaxResults: five})
			return err
		}},
		{"ec2:DescribeInstanceStatus", func(ctx context.Context) error {
			_, err := d.ec2.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{MaxResults: five})
			return err
		}},
		{"ec2:DescribeInstanceTypeOfferings", func(ctx context.Context) error {
			_, err := d.ec2.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{MaxResults: five})
			return err
		}},
		{"ec2:DescribeInstanceTypes", func(ctx context.Context) error {
			_, err := d.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{MaxResults: five})
			return err
		}},
		{"ec2:DescribeLaunchTemplates", func(ctx context.Context) error {
			_, err := d.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{MaxResults: five})
			return err
		}},
		{"ec2:DescribePlacementGroups", func(ctx context.Context) error {
			_, err := d.ec2.DescribePlacementGroups(ctx, &ec2.DescribePlacementGroupsInput{})
			return err
		}},
		{"ec2:DescribeSpotPriceHistory", func(ctx context.Context) error {
			_, err := d.ec2.DescribeSpotPriceHistory(ctx, &ec2.DescribeSpotPriceHistoryInput{MaxResults: five})
			return err
		}},
		{"ssm:GetParameter", func(ctx context.Context) error {
			_, err := d.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: awssdk.String("/aws/service/eks/optimized-ami/" + name)})
			return err
		}},
		{"iam:GetInstanceProfile", func(ctx context.Context) error {
			_, err := d.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
			return err
		}},
	}
}

// pricingRead is the permission to read prices, at the endpoint that the controller uses for the region.
func (d *doctor) pricingRead() try {
	return try{"pricing:GetProducts", func(ctx context.Context) error {
		_, err := d.pricing.GetProducts(ctx, &pricing.GetProductsInput{ServiceCode: awssdk.String("AmazonEC2"), MaxResults: awssdk.Int32(1)},
			func(o *pricing.Options) { o.Region = prices.Endpoint(d.AWS.Region) })
		return err
	}}
}

// writes returns the permissions for calls that change resources. Their calls are dry runs with the
// tags that the policies require.
func (d *doctor) writes() []try {
	dry := awssdk.Bool(true)
	tags := func(kind ec2types.ResourceType) ec2types.TagSpecification {
		return ec2types.TagSpecification{ResourceType: kind, Tags: []ec2types.Tag{
			{Key: awssdk.String("kubernetes.io/cluster/" + d.Cluster), Value: awssdk.String("owned")},
			{Key: awssdk.String("eks:eks-cluster-name"), Value: &d.Cluster},
			{Key: awssdk.String("karpenter.sh/nodepool"), Value: awssdk.String("")},
		}}
	}
	return []try{
		{"ec2:CreateLaunchTemplate", func(ctx context.Context) error {
			_, err := d.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
				DryRun: dry, LaunchTemplateName: awssdk.String("karpenter.k8s.aws/doctor"),
				LaunchTemplateData: &ec2types.RequestLaunchTemplateData{},
				TagSpecifications:  []ec2types.TagSpecification{tags(ec2types.ResourceTypeLaunchTemplate)},
			})
			return err
		}},
		{"ec2:RunInstances", func(ctx context.Context) error {
			if d.subnet == "" {
				return nil // reported by the check of subnets
			}
			_, err := d.ec2.RunInstances(ctx, &ec2.RunInstancesInput{
				SubnetId: &d.subnet,
				DryRun:   dry, MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
				ImageId: awssdk.String("ami-00000000000000000"), InstanceType: ec2types.InstanceTypeM5Large,
				TagSpecifications: []ec2types.TagSpecification{tags(ec2types.ResourceTypeInstance), tags(ec2types.ResourceTypeVolume)},
			})
			return err
		}},
	}
}
