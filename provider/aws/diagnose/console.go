package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// A Finding is the reason why a node does not join.
type Finding struct {
	Reason  string // the reason of the claim's condition
	Message string
}

// Reasons of the condition.
const (
	ReasonUntrustedCA   = "UntrustedCA"
	ReasonNotAuthorized = "NotAuthorized"
	ReasonUnreachable   = "EndpointUnreachable"
	ReasonNotResolved   = "EndpointNotResolved"
	ReasonBootFailed    = "BootFailed"
	ReasonSilent        = "NothingOnConsole"
)

// signs are patterns of console output, with the reason that each indicates. If several match one line, the first
// applies.
var signs = []struct {
	pattern *regexp.Regexp
	reason  string
	advice  func(instances.Instance) string
}{
	{regexp.MustCompile(`(?i)x509:|certificate signed by unknown authority|certificate verify failed`), ReasonUntrustedCA,
		func(instances.Instance) string {
			return "Node does not trust the API server certificate; fix: set --cluster-ca-bundle (CLUSTER_CA_BUNDLE) to the cluster's CA"
		}},
	{regexp.MustCompile(`(?i)\bunauthorized\b|\b401\b|forbidden: User "system:|not authorized to perform|must be logged in`), ReasonNotAuthorized,
		func(instances.Instance) string {
			return "API server refuses the node; fix: create an EKS access entry of type EC2_LINUX (EC2_WINDOWS) for its role, " +
				"or add the role to ConfigMap kube-system/aws-auth"
		}},
	{regexp.MustCompile(`(?i)no such host|could not resolve|name resolution|server misbehaving`), ReasonNotResolved,
		func(instances.Instance) string {
			return "Node cannot resolve the API server's host name; fix: enable DNS support in the VPC, or correct --cluster-endpoint"
		}},
	{regexp.MustCompile(`(?i)i/o timeout|no route to host|connection timed out|connection refused|network is unreachable|TLS handshake timeout`),
		ReasonUnreachable, func(i instances.Instance) string {
			return fmt.Sprintf("Node cannot reach the API server; fix: check the routes of subnet %s (NAT or VPC endpoint), and that the "+
				"cluster's security group admits %s on port 443", i.SubnetID, strings.Join(i.SecurityGroups, ", "))
		}},
}

// trouble matches lines that report an error.
var trouble = regexp.MustCompile(`(?i)\b(error|failed|fatal|cannot|timed out|unable to)\b`)

// programs matches the names of programs that run during boot. A finding may name them.
var programs = regexp.MustCompile(`(?i)\b(nodeadm|bootstrap\.sh|cloud-init|kubelet|containerd|amazon-ssm-agent|systemd|dracut|early-boot-config)\b`)

// Read derives from the console output the reason why an instance does not join. The last line that
// one of signs matches decides, since a retry may have solved an earlier problem. If there is no
// such line, the last line that reports an error decides. The result is never the zero Finding. The
// finding is written to a condition and an event, which more people may read than the console. So
// it contains no text of the console, except for words that the patterns here match.
func Read(console string, i instances.Instance) Finding {
	lines := strings.Split(strings.ReplaceAll(console, "\r", ""), "\n")
	failed, program := false, ""
	for n := len(lines) - 1; n >= 0; n-- {
		line := strings.TrimSpace(lines[n])
		for _, s := range signs {
			if s.pattern.MatchString(line) {
				return Finding{Reason: s.reason, Message: s.advice(i) + " (on its console: " + s.pattern.FindString(line) + ")"}
			}
		}
		if !failed && trouble.MatchString(line) {
			failed, program = true, strings.ToLower(programs.FindString(line))
		}
	}
	if failed {
		of := ""
		if program != "" {
			of = " of " + program
		}
		return Finding{Reason: ReasonBootFailed, Message: fmt.Sprintf("Node did not join; the last error on its console is one%s; fix: read it "+
			"with aws ec2 get-console-output --latest --instance-id %s", of, i.ID)}
	}
	return Finding{Reason: ReasonSilent, Message: "Node did not join and its console shows no error; fix: none known, see the kubelet log of the node"}
}
