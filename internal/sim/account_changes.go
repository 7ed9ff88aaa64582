package sim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// changeGroups removes all but one of the security groups of random instances, as a user does in the console of AWS.
func (a *account) changeGroups(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	ctx := context.Background()
	groups, err := a.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
	if err != nil || len(groups.SecurityGroups) == 0 {
		return fmt.Errorf("%s: %d security groups, %w", e, len(groups.SecurityGroups), err)
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
func (a *account) deleteTemplates(e Event) error {
	ctx := context.Background()
	out, err := a.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(out.LaunchTemplates) == 0 {
		return fmt.Errorf("%s: %d launch templates, %w", e, len(out.LaunchTemplates), err)
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
func (a *account) deleteProfiles(e Event) error {
	ctx := context.Background()
	client := iam.New(iam.Options{
		Region: region, BaseEndpoint: awssdk.String(awsURL), HTTPClient: &http.Client{Transport: inProcess{a.emulator}},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	out, err := client.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{})
	if err != nil || len(out.InstanceProfiles) == 0 {
		return fmt.Errorf("%s: %d instance profiles, %w", e, len(out.InstanceProfiles), err)
	}
	for _, p := range out.InstanceProfiles {
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

// shift begins a zonal shift away from a zone. A user cancels it after a while, an hour before it would expire.
func (a *account) shift(e Event) error {
	ctx := context.Background()
	a.driver.After(e.For, func() { _ = a.control().ShiftBack(ctx, e.Args[0]) }) // in memory: it cannot fail
	return a.control().ShiftAway(ctx, control.Shift{Zone: e.Args[0], For: control.Duration(e.For + time.Hour)})
}

// place makes a placement group with a number of partitions.
func (a *account) place(e Event) error {
	n, err := e.number(1)
	if err != nil {
		return err
	}
	_, err = a.emulator.Place(control.Placement{Name: e.Args[0], Strategy: "partition", Partitions: n})
	return err
}

// reclaim interrupts all spot instances of a type that run in any zone.
func (a *account) reclaim(e Event) error {
	for _, i := range a.emulator.Instances() {
		if i.Type == e.Args[0] && i.Capacity == apiv1.CapacityTypeSpot && i.State == "running" {
			if _, err := a.emulator.Interrupt(control.Interrupt{Instance: i.ID}); err != nil {
				return fmt.Errorf("%s: %w", e, err)
			}
			a.noticed[i.ID] = time.Now()
		}
	}
	return nil
}

// impair lets the status checks of random instances fail for a while.
func (a *account) impair(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.advised[id] = true
		if err := a.emulator.Event(control.Event{Instance: id, Kind: "impaired"}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
		a.driver.After(e.For, func() { _ = a.emulator.Event(control.Event{Instance: id, Kind: "healthy"}) }) // fails if the instance has ended
	}
	return nil
}

// rebalance sends rebalance recommendations for random instances.
func (a *account) rebalance(e Event) error {
	ids, err := a.some(e)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a.advised[id] = true
		if err := a.emulator.Event(control.Event{Instance: id, Kind: "rebalance"}); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// tagImage tags the newest image of Amazon Linux 2023 for an architecture, as for node classes that select images by the tag of the cluster.
func (a *account) tagImage(e Event) error {
	ctx := context.Background()
	images, err := a.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("architecture"), Values: []string{e.Args[0]}},
		{Name: awssdk.String("name"), Values: []string{"amazon-eks-node-al2023-*-standard-1.36-*"}},
	}})
	if err != nil || len(images.Images) == 0 {
		return fmt.Errorf("%s: %d images, %w", e, len(images.Images), err)
	}
	newest := slices.MaxFunc(images.Images, func(a, b ec2types.Image) int { return strings.Compare(*a.CreationDate, *b.CreationDate) })
	_, err = a.ec2.CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: []string{*newest.ImageId}, Tags: []ec2types.Tag{{Key: awssdk.String("karpenter.sh/discovery"), Value: awssdk.String(clusterName)}},
	})
	return err
}
