package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/internal/finding"
	"github.com/karpenter-go/karpenter/internal/operator"
	awsdoctor "github.com/karpenter-go/karpenter/provider/aws/doctor"
)

// noAWS removes region, credentials and endpoint from the environment of the AWS SDK.
func noAWS(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_SESSION_TOKEN": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_ROLE_ARN": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_ENDPOINT_URL": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
}

// Without a subcommand, doctor checks the cluster and says why AWS was left out.
func TestDoctor(t *testing.T) {
	noAWS(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.3"}`))
	}))
	defer server.Close()
	kubeconfigOf(t, server.URL)
	out, _, err := run(t, doctorCommand(operator.Version{Number: "dev"}), "-o", "json")
	if err == nil || codeOf(err) != exitBadInput {
		t.Errorf("error %v with code %d, want that of errors: the cluster has no CRDs", err, codeOf(err))
	}
	var found []finding.Finding
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) < 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	last := found[len(found)-1]
	if found[0].Check != "kubernetes" || last.Check != "aws" || last.Level != finding.Note || !strings.Contains(last.Fix, "--cluster-name") {
		t.Errorf("the first finding is %v, the last %v", found[0], last)
	}

	server.Close()
	if _, _, err := run(t, doctorCommand(operator.Version{Number: "dev"})); codeOf(err) != exitUnreachable {
		t.Errorf("a cluster that cannot be reached: error %v with code %d", err, codeOf(err))
	}
}

// AWS is checked if the controller uses it and the command knows the name of the cluster, a region and credentials. The flags take
// precedence over the settings of the controller.
func TestDoctorLeavesAWSOut(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer foreign.Close()
	credentials := []string{"AWS_ACCESS_KEY_ID", "a", "AWS_SECRET_ACCESS_KEY", "b"}
	region := []string{"AWS_REGION", "us-east-1"}
	for _, tt := range []struct {
		name     string
		flag     string
		settings map[string]string
		env      []string
		want     string // part of the note, empty if AWS is called
	}{
		{"another provider", "", map[string]string{"provider": "kwok"}, slices.Concat(region, credentials), "the provider of the controller is kwok"},
		{"no name", "", nil, slices.Concat(region, credentials), "the name of the EKS cluster is not known"},
		{"no region", "demo", nil, credentials, "no region is set"},
		{"no credentials", "demo", nil, region, "no credentials were found"},
		{"name of the flag", "demo", map[string]string{"provider": "kwok"}, slices.Concat(region, credentials), ""},
		{"name of the controller", "", map[string]string{"provider": "aws,kwok", "cluster-name": "demo"}, slices.Concat(region, credentials), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			noAWS(t)
			t.Setenv("AWS_ENDPOINT_URL", foreign.URL)
			for pair := range slices.Chunk(tt.env, 2) {
				t.Setenv(pair[0], pair[1])
			}
			found, err := checkAccount(t.Context(), "dev", awsdoctor.Config{Cluster: tt.flag}, func(flag, _, otherwise string) string {
				if v, ok := tt.settings[flag]; ok {
					return v
				}
				return otherwise
			})
			if tt.want == "" {
				if codeOf(err) != exitUnreachable || len(found) > 0 {
					t.Errorf("%v, %v, want the error of the endpoint", found, err)
				}
				return
			}
			if err != nil || len(found) != 1 || found[0].Level != finding.Note || !strings.Contains(found[0].Message, tt.want) {
				t.Errorf("%v, %v, want a note with %q", found, err, tt.want)
			}
		})
	}
}
