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
	"github.com/aws/aws-sdk-go-v2/service/sqs"

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
func (a *account) deleteTemplates(e Event) error {
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
func (a *account) deleteProfiles(e Event) error {
	ctx := context.Background()
	client := iam.New(iam.Options{
		Region: region, BaseEndpoint: awssdk.String(awsURL), HTTPClient: &http.Client{Transport: inProcess{a.emulator}},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	out, err := client.ListInstanceProfiles(ctx, &iam.ListInstanceProfilesInput{})
	if err != nil || len(out.InstanceProfiles) == 0 {
		return fmt.Errorf("%s: %d instance profiles, error %v", e, len(out.InstanceProfiles), err)
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

// tagImage tags the newest image of Amazon Linux 2023 for an architecture that is not tagged yet, as for node classes that select images
// by the tag of the cluster.
func (a *account) tagImage(e Event) error {
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
func (a *account) deprecateImage(e Event) error {
	images, err := a.images(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	return a.emulator.Deprecate(*images[0].ImageId)
}

// images returns the images of Amazon Linux 2023 for an architecture, newest first.
func (a *account) images(architecture string) ([]ec2types.Image, error) {
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
func (a *account) tagSubnet(e Event) error {
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

// junkMessages are bodies of messages that do not concern instances of the cluster, or are no messages at all.
var junkMessages = []string{
	"not JSON", `{"version":"0","detail":[]}`, `{}`, `[]`, `null`,
	`{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-00000000000000000"}}`,
	`{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":7}}`,
	`{"version":"0","source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{}]}}`,
}

// junk sends a number of messages to the queue that must be removed without an effect.
func (a *account) junk(e Event) error {
	n, err := e.number(0)
	if err != nil {
		return err
	}
	ctx := context.Background()
	client := sqs.New(sqs.Options{
		Region: region, BaseEndpoint: awssdk.String(awsURL), HTTPClient: &http.Client{Transport: inProcess{a.emulator}},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	queue, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: awssdk.String(clusterName)})
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	for i := range n {
		_, err := client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: awssdk.String(junkMessages[i%len(junkMessages)])})
		if err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}
