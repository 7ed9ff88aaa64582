package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/karpenter-go/karpenter/internal/finding"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// Config has the names of the resources to check, and the credentials.
type Config struct {
	AWS awssdk.Config
	// Cluster is the cluster's name.
	Cluster string
	// Queue is the name of the interruption queue, empty if there is none.
	Queue string
	// NodeRole is the name of the role of nodes. Default: KarpenterNodeRole-<cluster>.
	NodeRole string
	// Discovery is the key of the tag by which subnets and security groups are selected. Its value is the name of the
	// cluster. Default: karpenter.sh/discovery.
	Discovery string
	// Isolated is true if the controller runs with --isolated-vpc. It does not call the Pricing API then.
	Isolated bool
}

// doctor has the clients and the findings so far.
type doctor struct {
	Config
	ec2      *ec2.Client
	eks      *eks.Client
	iam      *iam.Client
	ssm      *ssm.Client
	sqs      *sqs.Client
	sts      *sts.Client
	pricing  *pricing.Client
	events   *eventbridge.Client
	quota    *servicequotas.Client
	subnet   string // ID of a subnet with the discovery tag
	findings []finding.Finding
}

// Check makes all checks. It returns an error if AWS cannot be reached, or if there are no valid credentials.
func Check(ctx context.Context, c Config) ([]finding.Finding, error) {
	if c.NodeRole == "" {
		c.NodeRole = "KarpenterNodeRole-" + c.Cluster
	}
	if c.Discovery == "" {
		c.Discovery = "karpenter.sh/discovery"
	}
	d := newDoctor(c)
	if err := d.credentials(ctx); err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context){d.cluster, d.subnets, d.securityGroups, d.permissions, d.queue, d.role, d.quotas} {
		check(ctx)
	}
	return d.findings, nil
}

// newDoctor returns a doctor with the clients of an account.
func newDoctor(c Config) *doctor {
	return &doctor{
		Config: c, ec2: ec2.NewFromConfig(c.AWS), eks: eks.NewFromConfig(c.AWS), iam: iam.NewFromConfig(c.AWS),
		ssm: ssm.NewFromConfig(c.AWS), sqs: sqs.NewFromConfig(c.AWS), sts: sts.NewFromConfig(c.AWS),
		events: eventbridge.NewFromConfig(c.AWS), quota: servicequotas.NewFromConfig(c.AWS),
		pricing: pricing.NewFromConfig(c.AWS),
	}
}

func (d *doctor) found(check string, level finding.Level, fix, format string, args ...any) {
	d.findings = append(d.findings, finding.Finding{Check: check, Level: level, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// credentials checks which identity the credentials have.
func (d *doctor) credentials(ctx context.Context) error {
	who, err := d.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return fmt.Errorf("check the AWS credentials: %s (set AWS_PROFILE and AWS_REGION, or log in)", brief(err))
	}
	d.found("credentials", finding.OK, "", "%s in account %s, region %s", awssdk.ToString(who.Arn), awssdk.ToString(who.Account), d.AWS.Region)
	return nil
}

// cluster checks that the cluster exists and is active.
func (d *doctor) cluster(ctx context.Context) {
	out, err := d.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &d.Cluster})
	switch {
	case code(err) == "ResourceNotFoundException":
		d.found("cluster", finding.Error, "pass --cluster-name, and set AWS_REGION to its region", "EKS cluster %s not found in %s",
			d.Cluster, d.AWS.Region)
	case err != nil:
		d.failed("cluster", "eks:DescribeCluster", err)
	case out.Cluster.Status != "ACTIVE":
		d.found("cluster", finding.Error, "wait until it is ACTIVE; see aws eks describe-cluster --name "+d.Cluster, "EKS cluster %s is %s", d.Cluster, out.Cluster.Status)
	default:
		d.found("cluster", finding.OK, "", "%s runs Kubernetes %s", d.Cluster, awssdk.ToString(out.Cluster.Version))
	}
}

// failed adds a finding about a failed call.
func (d *doctor) failed(check, action string, err error) {
	if denied(err) {
		d.found(check, finding.Error, "add "+action+" to the policies of the caller; for the controller's role attach the policies of deploy/cloudformation",
			"%s is denied: %s", action, brief(err))
		return
	}
	fix := "run it again; if the error persists, check the network and the health of the service"
	if elsewhere(err) {
		fix = elsewhereFix
	}
	d.found(check, finding.Warning, fix, "%s failed: %s", action, brief(err))
}

// code returns the error code of AWS, empty if there is none.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// many returns the number with the noun in singular or plural.
func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// denied reports whether the caller lacks the permission.
func denied(err error) bool {
	switch code(err) {
	case "UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "AuthorizationError":
		return true
	}
	return false
}

// brief returns the error text of AWS without encoded details.
func brief(err error) string {
	text, _ := fault.Answer(err)
	text, _, _ = strings.Cut(text, " Encoded authorization failure message")
	return text
}

// elsewhere reports whether the response did not come from AWS, or came from a service without the operation.
func elsewhere(err error) bool { return fault.Foreign(err) || fault.Unknown(err) }

// elsewhereFix is the fix that is shown if elsewhere returns true.
const elsewhereFix = "check the proxy and AWS_ENDPOINT_URL; an endpoint without this service leaves the check out"

// skipped adds a finding about a check that could not be made. action is the permission that the check needs.
func (d *doctor) skipped(check, action, what string, err error) {
	fix := "run it again; if the error persists, check the network and the health of the service"
	switch {
	case elsewhere(err):
		fix = elsewhereFix
	case denied(err):
		fix = "run it with the permission " + action
	}
	d.found(check, finding.Note, fix, "%s skipped: %s", what, brief(err))
}
