package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// administrators are the people who change the account by hand or by scripts.
type administrators struct{ *account }

// endInstances terminates instances without the operator, as a user does in the console of AWS.
func (a administrators) endInstances(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := a.emulator.Terminate(id); err != nil { // a call of the API could be throttled
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// stopInstances stops random instances that are not spot instances, as a user does in the console of AWS. It returns an error if
// fewer run, because then the event comes at the wrong time.
func (a administrators) stopInstances(e Event) error {
	n, err := e.number(0)
	if err != nil {
		return err
	}
	ids := slices.DeleteFunc(a.running(e), func(id string) bool { return a.instances()[id].Capacity == apiv1.CapacityTypeSpot })
	if len(ids) < n {
		return fmt.Errorf("%s: only %d instances run that can be stopped", e, len(ids))
	}
	for _, id := range ids[:n] {
		if _, err := a.emulator.Stop(id); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
		a.noticed[id] = time.Now()
	}
	return nil
}

// startInstances starts all stopped instances.
func (a administrators) startInstances(e Event) error {
	if _, err := a.emulator.Start("*"); err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	return nil
}

// changeGroups removes all but one of the security groups of random instances, as a user does in the console of AWS.
func (a administrators) changeGroups(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	ctx := context.Background()
	groups, err := a.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
	if err != nil || len(groups.SecurityGroups) == 0 {
		return fmt.Errorf("%s: %d security groups, error %v", e, len(groups.SecurityGroups), err)
	}
	for _, id := range ids {
		_, err := a.ec2.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
			InstanceId: awssdk.String(id), Groups: []string{awssdk.ToString(groups.SecurityGroups[0].GroupId)},
		})
		if err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// deleteTemplates deletes all launch templates of the cluster, as a script does that cleans up the account. It returns an error if there
// is none, because then the event comes at the wrong time.
func (a administrators) deleteTemplates(e Event) error {
	ctx := context.Background()
	out, err := a.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(out.LaunchTemplates) == 0 {
		return fmt.Errorf("%s: %d launch templates, error %v", e, len(out.LaunchTemplates), err)
	}
	for _, t := range out.LaunchTemplates {
		if _, err := a.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: t.LaunchTemplateId}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// deleteProfiles deletes all instance profiles, as a script does that cleans up the account. It returns an error if there is none, because
// then the event comes at the wrong time.
func (a administrators) deleteProfiles(e Event) error {
	ctx := context.Background()
	client, profiles := iam.NewFromConfig(a.aws), a.profiles()
	if len(profiles) == 0 {
		return fmt.Errorf("%s: there is no instance profile", e)
	}
	for _, p := range profiles {
		for _, r := range p.Roles {
			in := &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: p.InstanceProfileName, RoleName: r.RoleName}
			if _, err := client.RemoveRoleFromInstanceProfile(ctx, in); err != nil {
				return fmt.Errorf("%s: %w", e, err)
			}
		}
		if _, err := client.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: p.InstanceProfileName}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// deny denies an action of a service to all callers for a while, as a change of the policies of an organization does.
func (a administrators) deny(e Event) error {
	a.driver.After(e.For, func() { _ = a.emulator.SetPolicy() }) // without documents there is no error
	return a.emulator.SetPolicy(fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": %q, "Resource": "*"}]}`, e.Args[0]))
}

// shift begins a zonal shift away from a zone. A user cancels it after a while, an hour before it would expire.
func (a administrators) shift(e Event) error {
	ctx := context.Background()
	how := append(e.Args, "")[1]
	if how != "" && how != "unapplied" && how != "unlisted" {
		return fmt.Errorf("%s: %q is neither unapplied nor unlisted", e, how)
	}
	a.driver.After(e.For, func() { _ = a.control().ShiftBack(ctx, e.Args[0]) }) // in memory: it cannot fail
	return a.control().ShiftAway(ctx, control.Shift{
		Zone: e.Args[0], For: control.Duration(e.For + time.Hour), NotApplied: how == "unapplied", Unlisted: how == "unlisted",
	})
}

// place makes a placement group with a number of partitions.
func (a administrators) place(e Event) error {
	n, err := e.number(1)
	if err != nil {
		return err
	}
	_, err = a.emulator.Place(control.Placement{Name: e.Args[0], Strategy: "partition", Partitions: n})
	return err
}

// copyImage publishes a copy of the newest image of Amazon Linux 2023 for x86_64 in another account, under a name.
func (a administrators) copyImage(e Event) error {
	images, err := a.images("x86_64")
	if err != nil {
		return err
	}
	_, err = a.emulator.CopyImage(*images[0].ImageId, e.Args[0], e.Args[1])
	return err
}

// tagImage tags the newest image of Amazon Linux 2023 for an architecture that is not tagged yet, as for node classes that select images
// by the tag of the cluster.
func (a administrators) tagImage(e Event) error {
	images, err := a.images(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	for _, i := range images {
		if len(i.Tags) > 0 {
			continue
		}
		_, err := a.ec2.CreateTags(context.Background(), &ec2.CreateTagsInput{
			Resources: []string{*i.ImageId}, Tags: []ec2types.Tag{{Key: awssdk.String("karpenter.sh/discovery"), Value: awssdk.String(clusterName)}},
		})
		return err
	}
	return fmt.Errorf("%s: no image is left", e)
}

// deprecateImage deprecates the newest image of Amazon Linux 2023 for an architecture.
func (a administrators) deprecateImage(e Event) error {
	images, err := a.images(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	return a.emulator.Deprecate(*images[0].ImageId)
}

// images returns the images of Amazon Linux 2023 for an architecture, newest first.
func (a administrators) images(architecture string) ([]ec2types.Image, error) {
	out, err := a.ec2.DescribeImages(context.Background(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("architecture"), Values: []string{architecture}},
		{Name: awssdk.String("name"), Values: []string{"amazon-eks-node-al2023-*-standard-1.36-*"}},
	}})
	if err != nil || len(out.Images) == 0 {
		return nil, fmt.Errorf("%d images, error %v", len(out.Images), err)
	}
	slices.SortFunc(out.Images, func(a, b ec2types.Image) int { return strings.Compare(*b.CreationDate, *a.CreationDate) })
	return out.Images, nil
}

// tagSubnet gives the subnets of a zone that the cluster uses the tag "chosen".
func (a administrators) tagSubnet(e Event) error {
	ctx := context.Background()
	subnets, err := a.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("availability-zone"), Values: e.Args}, {Name: awssdk.String("tag:karpenter.sh/discovery"), Values: []string{clusterName}},
	}})
	if err != nil || len(subnets.Subnets) == 0 {
		return fmt.Errorf("%s: %d subnets, error %v", e, len(subnets.Subnets), err)
	}
	var ids []string
	for _, s := range subnets.Subnets {
		ids = append(ids, *s.SubnetId)
	}
	_, err = a.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids, Tags: []ec2types.Tag{{Key: awssdk.String("chosen"), Value: awssdk.String("yes")}}})
	return err
}
