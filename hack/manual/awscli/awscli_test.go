package awscli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/hack/manual/account"
	"github.com/karpenter-go/karpenter/internal/awsemu"
)

// serve starts an HTTP server for the handler, and sets the environment so that commands call it.
func serve(t *testing.T, handler http.Handler) {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": account.Region, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "a",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
}

func emulator(t *testing.T) http.Handler {
	t.Helper()
	e, err := awsemu.New(awsemu.Config{Region: account.Region, Account: account.ID, Cluster: awsemu.Cluster{Name: "demo"}})
	if err != nil {
		t.Fatal(err)
	}
	return account.New(e, "controller")
}

// Commands that the real command line accepts are accepted, and commands that it rejects are rejected.
func TestCommands(t *testing.T) {
	serve(t, emulator(t))
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:RunInstances","Resource":"*"}]}`
	for _, tt := range []struct {
		args []string
		want string // of what is printed, or of the error
		ok   bool
	}{
		{[]string{"sts", "get-caller-identity", "--query", "Account", "--output", "text"}, account.ID + "\n", true},
		{[]string{"eks", "describe-cluster", "--name", "demo", "--query", "cluster.status"}, `"ACTIVE"`, true},
		{[]string{"eks", "describe-cluster", "--name", "other"}, "No cluster found", false},
		{[]string{"eks", "describe-cluster", "--name", "demo", "--query", "cluster.sttus"}, "finds nothing", false},
		{[]string{"eks", "describe-cluster", "--name", "demo", "--query", "cluster["}, "--query", false},
		{[]string{"eks", "describe-cluster"}, "missing required field", false},
		{[]string{"eks", "describe-cluster", "--nam", "demo"}, "no option --nam", false},
		{[]string{"eks", "describe-clusters"}, "no operation describe-clusters", false},
		{[]string{"ekss", "describe-cluster"}, `service "ekss"`, false},
		{[]string{"eks", "describe-cluster", "--name", "demo", "--output", "xml"}, "--output", false},
		{[]string{"ec2", "describe-instance-types", "--instance-types", "m5.large", "m5.xlarge",
			"--query", "InstanceTypes[].VCpuInfo.DefaultVCpus | sort(@)", "--output", "text"}, "2\t4\n", true},
		{[]string{"ec2", "describe-subnets", "--filters", "Name=vpc-id,Values=vpc-0", "--query", "length(Subnets)"}, "0\n", true},
		{[]string{"ec2", "describe-subnets", "--filters", "Nam=vpc-id,Values=vpc-0"}, "Filter has", false},
		{[]string{"ec2", "describe-subnets", "--max-results", "many"}, "no number", false},
		{[]string{"iam", "create-policy", "--policy-name", "one", "--policy-document", policy}, `"Arn": "arn:aws:iam::123456789012:policy/one"`, true},
		{[]string{"iam", "create-policy", "--policy-name", "one", "--policy-document", policy}, "already exists", false},
		{[]string{"iam", "create-policy", "--policy-name", "two", "--policy-document", strings.ReplaceAll(policy, `"*"`, `"${X}"`)}, "ARN format", false},
		{[]string{"iam", "attach-role-policy", "--role-name", "controller", "--policy-arn", "arn:aws:iam::123456789012:policy/one"}, "", true},
		{[]string{"iam", "attach-role-policy", "--role-name", "nobody", "--policy-arn", "arn:aws:iam::123456789012:policy/one"}, "cannot be found", false},
		{[]string{"iam", "attach-role-policy", "--role-name", "controller", "--policy-arn", "one"}, "", false},
		{[]string{"iam", "attach-role-policy", "--role-name", "controller", "again"}, "takes one value", false},
	} {
		var out strings.Builder
		err := run(t.Context(), tt.args, &out)
		said := out.String()
		if err != nil {
			said = err.Error()
		}
		if (err == nil) != tt.ok || !strings.Contains(said, tt.want) {
			t.Errorf("aws %s: said %q (%v), want %q", strings.Join(tt.args, " "), said, err, tt.want)
		}
	}
}

// The template of the manual can be deployed. Mistakes in the command or in the template are found.
func TestDeploy(t *testing.T) {
	const template = "../../../deploy/cloudformation/karpenter.yaml"
	named := []string{"--capabilities", "CAPABILITY_NAMED_IAM"}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"pod identity": {append(named, "--parameter-overrides", "ClusterName=demo"), ""},
		"irsa": {append(named, "--parameter-overrides", "ClusterName=demo", "Trust=IRSA",
			"OIDCProvider=oidc.eks.us-east-1.amazonaws.com/id/A", "AccessEntry=no"), ""},
		"irsa without issuer": {append(named, "--parameter-overrides", "ClusterName=demo", "Trust=IRSA"), "needs the parameter OIDCProvider"},
		"no capability":       {[]string{"--parameter-overrides", "ClusterName=demo"}, "CAPABILITY_NAMED_IAM"},
		"no name":             {named, "[ClusterName] must have values"},
		"bad name":            {append(named, "--parameter-overrides", "ClusterName=-"), "failed to satisfy"},
		"bad value":           {append(named, "--parameter-overrides", "ClusterName=demo", "Trust=irsa"), "AllowedValues"},
		"unknown parameter":   {append(named, "--parameter-overrides", "ClusterName=demo", "Truts=IRSA"), "[Truts] do not exist"},
		"no parameter":        {append(named, "--parameter-overrides", "ClusterName"), "Name=value"},
		"unknown option":      {append(named, "--template", "x"), "no option --template"},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, emulator(t))
			err := run(t.Context(), append([]string{"cloudformation", "deploy", "--stack-name", "s", "--template-file", template}, tt.args...), t.Output())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
