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

// tagged filters by the discovery tag.
func (d *doctor) tagged() []ec2types.Filter {
	return []ec2types.Filter{{Name: awssdk.String("tag:" + d.Discovery), Values: []string{d.Cluster}}}
}

func (d *doctor) tagFix(what string) string {
	return fmt.Sprintf("aws ec2 create-tags --resources <%s ids> --tags Key=%s,Value=%s", what, d.Discovery, d.Cluster)
}

// fewAddresses is how few free addresses of a subnet are worth a warning: a node takes dozens with the VPC CNI.
const fewAddresses = 64

// subnets looks for subnets with the discovery tag.
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
			d.found("subnets", finding.Warning, "add a subnet, or a secondary address range", "%s (%s) has %d free addresses",
				awssdk.ToString(s.SubnetId), awssdk.ToString(s.AvailabilityZone), free)
		}
	}
	if len(zones) < 2 {
		d.found("subnets", finding.Warning, d.tagFix("subnet"), "all tagged subnets are in one zone, so its shortages are yours")
	}
	d.found("subnets", finding.OK, "", "%s in %s", many(len(out.Subnets), "subnet"), strings.Join(slices.Sorted(maps.Keys(zones)), ", "))
}

// groups looks for security groups with the discovery tag.
func (d *doctor) groups(ctx context.Context) {
	out, err := d.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: d.tagged()})
	if err != nil {
		d.failed("groups", "ec2:DescribeSecurityGroups", err)
		return
	}
	if len(out.SecurityGroups) == 0 {
		d.found("groups", finding.Error, d.tagFix("security group"), "no security group has the tag %s=%s", d.Discovery, d.Cluster)
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
		d.found("groups", finding.Warning, "take the tag kubernetes.io/cluster/"+d.Cluster+" off all but one",
			"%d of the tagged groups carry the cluster's tag: load balancers want exactly one on a node", owned)
	}
	d.found("groups", finding.OK, "", "%s", many(len(out.SecurityGroups), "security group"))
}

// expected are the events that have to reach the queue.
var expected = []string{
	"EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
	"EC2 Instance State-change Notification", "AWS Health Event",
}

// queue looks for the queue and for the rules that fill it.
func (d *doctor) queue(ctx context.Context) {
	if d.Queue == "" {
		d.found("queue", finding.Note, "make one (deploy/) and set --interruption-queue", "no interruption queue: spot nodes go without warning")
		return
	}
	out, err := d.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &d.Queue})
	if c := code(err); strings.HasSuffix(c, "NonExistentQueue") || c == "QueueDoesNotExist" {
		d.found("queue", finding.Error, "make it (deploy/), or correct --interruption-queue, which is a name and no URL", "there is no queue %s", d.Queue)
		return
	}
	if err != nil {
		d.failed("queue", "sqs:GetQueueUrl", err)
		return
	}
	d.found("queue", finding.OK, "", "%s", awssdk.ToString(out.QueueUrl))
	d.rules(ctx, awssdk.ToString(out.QueueUrl))
}

// rules looks whether events go to the queue.
func (d *doctor) rules(ctx context.Context, queue string) {
	u, err := url.Parse(queue)
	if err != nil {
		return
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	arn := fmt.Sprintf("arn:%s:sqs:%s:%s:%s", partition(d.AWS.Region), d.AWS.Region, parts[0], d.Queue)
	names, err := d.events.ListRuleNamesByTarget(ctx, &eventbridge.ListRuleNamesByTargetInput{TargetArn: &arn})
	if err != nil {
		d.found("rules", finding.Note, "run it with rights to events:ListRuleNamesByTarget to see more", "not looked at: %s", brief(err))
		return
	}
	patterns := ""
	for _, name := range names.RuleNames {
		rule, err := d.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: &name})
		if err != nil {
			d.found("rules", finding.Note, "run it with rights to events:DescribeRule to see more", "rule %s is not looked at: %s", name, brief(err))
			return
		}
		if rule.State == "DISABLED" {
			d.found("rules", finding.Error, "aws events enable-rule --name "+name, "rule %s is disabled", name)
		}
		patterns += awssdk.ToString(rule.EventPattern)
	}
	missing := slices.DeleteFunc(slices.Clone(expected), func(e string) bool { return strings.Contains(patterns, e) })
	if len(missing) > 0 {
		d.found("rules", finding.Error, "add the rules of deploy/", "no rule sends these to the queue: %s", strings.Join(missing, ", "))
		return
	}
	d.found("rules", finding.OK, "", "%d rules send events to the queue", len(names.RuleNames))
}

// partition is the part of AWS that a region belongs to.
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
		d.found("node-role", finding.Error, "make it (deploy/), or name it by --node-role", "there is no role %s", d.NodeRole)
		return
	case err != nil:
		d.found("node-role", finding.Note, "run it with rights to iam:GetRole to see more", "not looked at: %s", brief(err))
		return
	}
	trust, err := url.QueryUnescape(awssdk.ToString(out.Role.AssumeRolePolicyDocument))
	if err == nil && !strings.Contains(trust, "ec2.amazonaws.com") {
		d.found("node-role", finding.Error, "let ec2.amazonaws.com assume it", "role %s does not trust EC2", d.NodeRole)
	}
	_, err = d.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: &d.Cluster, PrincipalArn: out.Role.Arn})
	switch {
	case code(err) == "ResourceNotFoundException":
		d.found("node-role", finding.Warning, fmt.Sprintf("aws eks create-access-entry --cluster-name %s --principal-arn %s --type EC2_LINUX; not needed"+
			" if the ConfigMap aws-auth has the role", d.Cluster, awssdk.ToString(out.Role.Arn)), "role %s has no access entry: nodes may not join", d.NodeRole)
	case err != nil:
		d.found("node-role", finding.Note, "run it with rights to eks:DescribeAccessEntry to see more", "access is not looked at: %s", brief(err))
	default:
		d.found("node-role", finding.OK, "", "%s may join the cluster", d.NodeRole)
	}
}

// quotas are those that launches run into first, in vCPUs.
func (d *doctor) quotas(ctx context.Context) {
	const few = 64
	for _, q := range []struct{ code, name string }{
		{"L-1216C47A", "on-demand standard instances"}, {"L-34B43A08", "spot standard instances"},
	} {
		out, err := d.quota.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{
			ServiceCode: awssdk.String("ec2"), QuotaCode: awssdk.String(q.code)})
		if err != nil {
			fix := "look at the console of Service Quotas, or run it again"
			if denied(err) {
				fix = "run it with rights to servicequotas:GetServiceQuota to see more"
			}
			d.found("quotas", finding.Note, fix, "not looked at: %s", brief(err))
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
