package diagnose

import (
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

func TestRead(t *testing.T) {
	i := instances.Instance{ID: "i-1", SubnetID: "subnet-1", SecurityGroups: []string{"sg-1", "sg-2"}}
	for _, tt := range []struct{ name, console, reason, says string }{
		{"a wrong CA", "kubelet[1]: E0101 kubelet_node_status.go:96] \"Unable to register node\" err=\"Post \\\"https://x/api/v1/nodes\\\": tls: failed to verify certificate: x509: certificate signed by unknown authority\"",
			ReasonUntrustedCA, "CLUSTER_CA_BUNDLE"},
		{"a role without access to the cluster", "kubelet[1]: E0101 \"Unable to register node with API server\" err=\"Unauthorized\" node=\"ip-1\"", ReasonNotAuthorized, "EKS access entry"},
		{"no route", "kubelet: dial tcp 10.0.0.1:443: i/o timeout\r\nkubelet: retrying", ReasonUnreachable, "subnet subnet-1 (NAT or VPC endpoint), and that the cluster's security group admits sg-1, sg-2 on port 443"},
		{"no name", "dial tcp: lookup ABC.gr7.us-east-1.eks.amazonaws.com: no such host", ReasonNotResolved, "DNS"},
		{"the last word counts", "x509: certificate signed by unknown authority\nerr=Unauthorized", ReasonNotAuthorized, "access entry"},
		{"something else", "cloud-init done\nnodeadm: failed to run nodeadm init: bad config\nlogin:", ReasonBootFailed, "error on its console is one of nodeadm; fix: read it with aws ec2 get-console-output --latest --instance-id i-1"},
		{"nothing", "Linux version 6.1\nlogin:", ReasonSilent, "shows no error"},
		{"empty", "", ReasonSilent, "shows no error"},
		{"an endless line", "error: " + strings.Repeat("x", 1000), ReasonBootFailed, "is one; fix"},
	} {
		got := Read(tt.console, i)
		if got.Reason != tt.reason || !strings.Contains(got.Message, tt.says) || len(got.Message) > 500 {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.reason)
		}
	}
}

// A finding contains no text that user data has printed.
func TestReadHidesConsole(t *testing.T) {
	for _, line := range []string{
		"error: TOKEN=s3cret nodeadm failed", "x509: s3cret", "s3cret 401", "lookup s3cret: no such host", "dial s3cret: i/o timeout",
	} {
		if got := Read(line, instances.Instance{}); strings.Contains(got.Message, "s3cret") || got.Reason == ReasonSilent {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
