package doctor

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/karpenter-go/karpenter/internal/finding"
)

// tagged returns a filter by the discovery tag.
func (d *doctor) tagged() []ec2types.Filter {
	return []ec2types.Filter{{Name: awssdk.String("tag:" + d.Discovery), Values: []string{d.Cluster}}}
}

func (d *doctor) tagFix(what string) string {
	return fmt.Sprintf("aws ec2 create-tags --resources <%s ids> --tags Key=%s,Value=%s", what, d.Discovery, d.Cluster)
}

// fewAddresses is the number of free addresses of a subnet below which a warning is reported. A node uses dozens with
// the VPC CNI.
const fewAddresses = 64

// subnets checks that subnets with the discovery tag exist. It warns of few free addresses, and of subnets in one
// zone only.
func (d *doctor) subnets(ctx context.Context) {
	out, err := d.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: d.tagged()})
	if err != nil {
		d.failed("subnets", "ec2:DescribeSubnets", err)
		return
	}
	if len(out.Subnets) == 0 {
		d.found("subnets", finding.Error, d.tagFix("subnet"), "no subnet has the tag %s=%s", d.Discovery, d.Cluster)
		return
	}
	d.subnet = awssdk.ToString(out.Subnets[0].SubnetId)
	zones := map[string]bool{}
	for _, s := range out.Subnets {
		zones[awssdk.ToString(s.AvailabilityZone)] = true
		if free := awssdk.ToInt32(s.AvailableIpAddressCount); free < fewAddresses {
			d.found("subnets", finding.Warning, "add a subnet, or a secondary CIDR block", "subnet %s (%s) has %d free addresses",
				awssdk.ToString(s.SubnetId), awssdk.ToString(s.AvailabilityZone), free)
		}
	}
	if len(zones) < 2 {
		d.found("subnets", finding.Warning, d.tagFix("subnet"), "all tagged subnets are in one zone: a shortage there affects every node")
	}
	d.found("subnets", finding.OK, "", "%s in %s", many(len(out.Subnets), "subnet"), strings.Join(slices.Sorted(maps.Keys(zones)), ", "))
}

// securityGroups checks that security groups with the discovery tag exist, and that at most one has the tag of the
// cluster.
func (d *doctor) securityGroups(ctx context.Context) {
	out, err := d.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: d.tagged()})
	if err != nil {
		d.failed("security-groups", "ec2:DescribeSecurityGroups", err)
		return
	}
	if len(out.SecurityGroups) == 0 {
		d.found("security-groups", finding.Error, d.tagFix("security group"), "no security group has the tag %s=%s", d.Discovery, d.Cluster)
		return
	}
	owned := 0
	for _, g := range out.SecurityGroups {
		for _, t := range g.Tags {
			if awssdk.ToString(t.Key) == "kubernetes.io/cluster/"+d.Cluster {
				owned++
			}
		}
	}
	if owned > 1 {
		d.found("security-groups", finding.Warning, "remove the tag kubernetes.io/cluster/"+d.Cluster+" from all but one",
			"%d of the security groups have the tag kubernetes.io/cluster/%s: load balancers require exactly one per node", owned, d.Cluster)
	}
	d.found("security-groups", finding.OK, "", "%s", many(len(out.SecurityGroups), "security group"))
}

// expected are the detail types of the events that must be sent to the queue.
var expected = []string{
	"EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
	"EC2 Instance State-change Notification", "AWS Health Event",
}

// reservationEvent is the detail type of the event for instances of a capacity reservation. Only clusters that use such
// reservations need it.
const reservationEvent = "EC2 Capacity Reservation Instance Interruption Warning"

// queue checks that the interruption queue exists, and that rules send events to it.
func (d *doctor) queue(ctx context.Context) {
	if d.Queue == "" {
		d.found("queue", finding.Note, "create a queue (deploy/cloudformation) and pass --interruption-queue", "no interruption queue: spot nodes are interrupted without a drain")
		return
	}
	out, err := d.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &d.Queue})
	if c := code(err); strings.HasSuffix(c, "NonExistentQueue") || c == "QueueDoesNotExist" {
		d.found("queue", finding.Error, "create it (deploy/cloudformation), or correct --interruption-queue: it takes a name, not a URL",
			"queue %s not found in %s", d.Queue, d.AWS.Region)
		return
	}
	if err != nil {
		d.failed("queue", "sqs:GetQueueUrl", err)
		return
	}
	d.found("queue", finding.OK, "", "%s", awssdk.ToString(out.QueueUrl))
	d.rules(ctx, awssdk.ToString(out.QueueUrl))
}

// rules checks that EventBridge rules send the events to the queue.
func (d *doctor) rules(ctx context.Context, queue string) {
	u, err := url.Parse(queue)
	if err != nil {
		return
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	arn := fmt.Sprintf("arn:%s:sqs:%s:%s:%s", partition(d.AWS.Region), d.AWS.Region, parts[0], d.Queue)
	names, err := d.events.ListRuleNamesByTarget(ctx, &eventbridge.ListRuleNamesByTargetInput{TargetArn: &arn})
	if err != nil {
		d.skipped("rules", "events:ListRuleNamesByTarget", "check", err)
		return
	}
	patterns := ""
	for _, name := range names.RuleNames {
		rule, err := d.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: &name})
		if err != nil {
			d.skipped("rules", "events:DescribeRule", "check of rule "+name, err)
			return
		}
		if rule.State == "DISABLED" {
			d.found("rules", finding.Error, "aws events enable-rule --name "+name, "rule %s is disabled", name)
		}
		patterns += awssdk.ToString(rule.EventPattern)
	}
	missing := slices.DeleteFunc(slices.Clone(expected), func(e string) bool { return strings.Contains(patterns, e) })
	if len(missing) > 0 {
		d.found("rules", finding.Error, "add the rules of deploy/cloudformation", "no EventBridge rule sends these events to the queue: %s", strings.Join(missing, ", "))
		return
	}
	if !strings.Contains(patterns, reservationEvent) {
		d.found("rules", finding.Warning, "add the rule of deploy/cloudformation, unless no capacity reservations are used",
			"no EventBridge rule sends this event to the queue: %s", reservationEvent)
		return
	}
	d.found("rules", finding.OK, "", "events are sent to the queue by %s", many(len(names.RuleNames), "EventBridge rule"))
}

// partition returns the AWS partition of a region, such as aws-cn.
func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// role checks the role of nodes, and whether it may access the cluster.
func (d *doctor) role(ctx context.Context) {
	out, err := d.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &d.NodeRole})
	switch {
	case code(err) == "NoSuchEntity":
		d.found("node-role", finding.Error, "create it (deploy/cloudformation), or pass --node-role", "role %s not found", d.NodeRole)
		return
	case err != nil:
		d.skipped("node-role", "iam:GetRole", "check", err)
		return
	}
	trust, err := url.QueryUnescape(awssdk.ToString(out.Role.AssumeRolePolicyDocument))
	if err == nil && !strings.Contains(trust, "ec2.amazonaws.com") {
		d.found("node-role", finding.Error, "allow ec2.amazonaws.com in the trust policy of the role", "role %s cannot be assumed by EC2", d.NodeRole)
	}
	_, err = d.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: &d.Cluster, PrincipalArn: out.Role.Arn})
	switch {
	case code(err) == "ResourceNotFoundException":
		d.found("node-role", finding.Warning, fmt.Sprintf("aws eks create-access-entry --cluster-name %s --principal-arn %s --type EC2_LINUX; not needed"+
			" if the ConfigMap aws-auth has the role", d.Cluster, awssdk.ToString(out.Role.Arn)), "role %s has no access entry: its nodes are not allowed to join", d.NodeRole)
	case err != nil:
		d.skipped("node-role", "eks:DescribeAccessEntry", "check of the access entry", err)
	default:
		d.found("node-role", finding.OK, "", "nodes with role %s are allowed to join", d.NodeRole)
	}
}

// quotas checks the quotas that launches usually exceed first. They are counted in vCPUs.
func (d *doctor) quotas(ctx context.Context) {
	const few = 64
	for _, q := range []struct{ code, name string }{
		{"L-1216C47A", "on-demand standard instances"}, {"L-34B43A08", "spot standard instances"},
	} {
		out, err := d.quota.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{
			ServiceCode: awssdk.String("ec2"), QuotaCode: awssdk.String(q.code)})
		if err != nil {
			d.skipped("quotas", "servicequotas:GetServiceQuota", "check", err)
			return
		}
		level, fix := finding.OK, ""
		if awssdk.ToFloat64(out.Quota.Value) < few {
			level = finding.Warning
			fix = "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code " + q.code + " --desired-value 1000"
		}
		d.found("quotas", level, fix, "%.0f vCPUs of %s", awssdk.ToFloat64(out.Quota.Value), q.name)
	}
}
