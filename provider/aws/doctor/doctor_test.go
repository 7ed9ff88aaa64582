package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/internal/finding"
)

// account is shared by all tests, because the doctor changes nothing.
var account = sync.OnceValues(func() (http.Handler, error) {
	return awsemu.New(awsemu.Config{
		Cluster: awsemu.Cluster{Name: "local", Endpoint: "https://api.test:6443", CA: "Q0E="}, Sells: []string{"m5.large"},
	})
})

// world returns the configuration of an emulated account. It also has the services that the emulator does not have.
// failing has the error codes of calls that fail, by action.
func world(t *testing.T, failing map[string]string) awssdk.Config {
	t.Helper()
	emulator, err := account()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		action := actionOf(r, string(body))
		if code, ok := failing[action]; ok {
			fail(w, r, code)
			return
		}
		if answer, ok := beside[action]; ok {
			answer(w, string(body))
			return
		}
		emulator.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return awssdk.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}
}

// actionOf returns the action of a request.
func actionOf(r *http.Request, body string) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return target[strings.LastIndexByte(target, '.')+1:]
	}
	for _, pair := range strings.Split(body, "&") {
		if action, ok := strings.CutPrefix(pair, "Action="); ok {
			return action
		}
	}
	if strings.Contains(r.URL.Path, "/access-entries/") {
		return "DescribeAccessEntry"
	}
	return "DescribeCluster"
}

// page is the error code for a response that does not come from AWS.
const page = "page"

func fail(w http.ResponseWriter, r *http.Request, code string) {
	if code == page {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<!doctype html><title>404 Not Found</title><p>The requested URL was not found")
		return
	}
	if r.Header.Get("X-Amz-Target") != "" || strings.HasPrefix(r.URL.Path, "/clusters/") {
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, code)
		return
	}
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, `<Response><Errors><Error><Code>%s</Code><Message>no Encoded authorization failure message: xyz</Message></Error></Errors>`+
		`<Error><Code>%s</Code><Message>no</Message></Error></Response>`, code, code)
}

// beside emulates the services that only the doctor calls, for an account without faults.
var beside = map[string]func(http.ResponseWriter, string){
	"ListRuleNamesByTarget": answer(map[string]any{"RuleNames": []string{"all"}}),
	"DescribeRule": answer(map[string]any{"Name": "all", "State": "ENABLED",
		"EventPattern": fmt.Sprintf(`{"detail-type": ["%s"]}`, strings.Join(append(slices.Clone(expected), reservationEvent), `","`))}),
	"GetServiceQuota":     answer(map[string]any{"Quota": map[string]any{"Value": 1000.0}}),
	"DescribeAccessEntry": answer(map[string]any{"accessEntry": map[string]any{}}),
	"GetRole": func(w http.ResponseWriter, _ string) {
		fmt.Fprint(w, `<GetRoleResponse><GetRoleResult><Role><RoleName>r</RoleName><Arn>arn:aws:iam::1:role/r</Arn><Path>/</Path><RoleId>x</RoleId>`+
			`<CreateDate>2026-01-01T00:00:00Z</CreateDate><AssumeRolePolicyDocument>%22ec2.amazonaws.com%22</AssumeRolePolicyDocument></Role>`+
			`</GetRoleResult></GetRoleResponse>`)
	},
}

func answer(v any) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(v)
	}
}

func look(t *testing.T, c Config, failing map[string]string) string {
	t.Helper()
	c.AWS = world(t, failing)
	findings, err := Check(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&text, "%s %s: %s | %s\n", f.Level, f.Check, f.Message, f.Fix)
		if (f.Level == finding.Error || f.Level == finding.Warning) && f.Fix == "" {
			t.Errorf("without a fix: %+v", f)
		}
	}
	return text.String()
}

// An account without faults has no errors and no warnings.
func TestHealthy(t *testing.T) {
	text := look(t, Config{Cluster: "local", Queue: "local"}, nil)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if !strings.HasPrefix(line, "ok ") {
			t.Error(line)
		}
	}
}

// Each fault is reported with its fix.
func TestFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		config  Config
		failing map[string]string
		want    string
	}{
		"no cluster":      {config: Config{Cluster: "other"}, want: "error cluster: EKS cluster other not found in us-east-1"},
		"no subnets":      {config: Config{Cluster: "other"}, want: "error subnets: no subnet has the tag karpenter.sh/discovery=other | aws ec2 create-tags"},
		"no groups":       {config: Config{Cluster: "other"}, want: "error security-groups: no security group has the tag"},
		"no queue":        {config: Config{Cluster: "local"}, want: "note queue: no interruption queue"},
		"wrong queue":     {config: Config{Cluster: "local", Queue: "nope"}, want: "error queue: queue nope not found in us-east-1"},
		"denied":          {failing: map[string]string{"CreateLaunchTemplate": "UnauthorizedOperation"}, want: "error permissions: ec2:CreateLaunchTemplate is denied: UnauthorizedOperation: no | add ec2:CreateLaunchTemplate to the policies"},
		"denied in JSON":  {failing: map[string]string{"GetParameter": "AccessDeniedException"}, want: "error permissions: ssm:GetParameter is denied"},
		"service is down": {failing: map[string]string{"DescribeSubnets": "InternalError"}, want: "warning subnets: ec2:DescribeSubnets failed: InternalError"},
		"no role":         {failing: map[string]string{"GetRole": "NoSuchEntity"}, want: "error node-role: role KarpenterNodeRole-local not found"},
		"no access":       {failing: map[string]string{"DescribeAccessEntry": "ResourceNotFoundException"}, want: "warning node-role: role KarpenterNodeRole-local has no access entry"},
		"blind":           {failing: map[string]string{"GetServiceQuota": "AccessDeniedException"}, want: "note quotas: check skipped: "},
		"a page for JSON": {failing: map[string]string{"GetServiceQuota": page},
			want: "note quotas: check skipped: unexpected HTTP 404 response, not from AWS | check the proxy and AWS_ENDPOINT_URL"},
		"a page for XML": {failing: map[string]string{"DescribeSubnets": page},
			want: "warning subnets: ec2:DescribeSubnets failed: unexpected HTTP 404 response, not from AWS | check the proxy"},
		"a page for IAM": {failing: map[string]string{"GetRole": page},
			want: "note node-role: check skipped: unexpected HTTP 404 response, not from AWS | check the proxy"},
		"no rules": {failing: map[string]string{"ListRuleNamesByTarget": "AccessDeniedException"}, want: "note rules: check skipped: "},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.config.Cluster == "" {
				tt.config = Config{Cluster: "local", Queue: "local"}
			}
			if text := look(t, tt.config, tt.failing); !strings.Contains(text, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, text)
			}
		})
	}
}

func TestNoCredentials(t *testing.T) {
	_, err := Check(t.Context(), Config{Cluster: "local", AWS: world(t, map[string]string{"GetCallerIdentity": "ExpiredToken"})})
	if err == nil || !strings.Contains(err.Error(), "AWS_PROFILE") {
		t.Errorf("error %v", err)
	}
	const want = "check the AWS credentials: unexpected HTTP 404 response, not from AWS (set"
	_, err = Check(t.Context(), Config{Cluster: "local", AWS: world(t, map[string]string{"GetCallerIdentity": page})})
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Without the rule for capacity reservations there is a warning. Without any of the other rules there is an error.
func TestRules(t *testing.T) {
	without := func(missing string) string {
		emulator := beside["DescribeRule"]
		defer func() { beside["DescribeRule"] = emulator }()
		all := slices.DeleteFunc(append(slices.Clone(expected), reservationEvent), func(e string) bool { return e == missing })
		beside["DescribeRule"] = answer(map[string]any{"Name": "all", "State": "ENABLED",
			"EventPattern": fmt.Sprintf(`{"detail-type": ["%s"]}`, strings.Join(all, `","`))})
		return look(t, Config{Cluster: "local", Queue: "local"}, nil)
	}
	if text := without(reservationEvent); !strings.Contains(text, "warning rules: no EventBridge rule sends this event to the queue: "+reservationEvent) {
		t.Error(text)
	}
	for _, e := range expected {
		if text := without(e); !strings.Contains(text, "error rules: no EventBridge rule sends these events to the queue: "+e) {
			t.Errorf("without %s:\n%s", e, text)
		}
	}
}

// hosts records the hosts of requests, and refuses them.
type hosts []string

func (h *hosts) Do(r *http.Request) (*http.Response, error) {
	*h = append(*h, r.URL.Host)
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// The Pricing API is called at the endpoint that the controller uses, and only if the controller calls it.
func TestPricingEndpoint(t *testing.T) {
	for _, tt := range []struct {
		region   string
		isolated bool
		want     string // the host, or a part of the note if there is no call
	}{
		{"us-east-1", false, "api.pricing.us-east-1.amazonaws.com"},
		{"eu-west-1", false, "api.pricing.eu-central-1.amazonaws.com"},
		{"ap-southeast-2", false, "api.pricing.ap-south-1.amazonaws.com"},
		{"cn-north-1", false, "api.pricing.cn-northwest-1.amazonaws.com.cn"},
		{"us-gov-west-1", false, "the Pricing API is not offered for us-gov-west-1"},
		{"us-east-1", true, "the controller does not call it in an isolated VPC"},
	} {
		var called hosts
		c := awssdk.Config{Region: tt.region, HTTPClient: &called, RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
		d := newDoctor(Config{AWS: c, Cluster: "local", Isolated: tt.isolated})
		d.permissions(t.Context())
		got := slices.DeleteFunc(called, func(host string) bool { return !strings.Contains(host, "pricing") })
		for _, f := range d.findings {
			if f.Level == finding.Note {
				got = append(got, f.Message)
			}
		}
		if len(got) != 1 || !strings.HasSuffix(got[0], tt.want) {
			t.Errorf("%s, isolated %t: %q, want %q", tt.region, tt.isolated, got, tt.want)
		}
	}
}
