package account

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
)

// Each mistake that is put into the shipped template is found.
func TestTemplates(t *testing.T) {
	good, err := os.ReadFile("../../../deploy/cloudformation/karpenter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ was, is, want string }{
		"as shipped":         {"x", "x", ""},
		"no YAML":            {"Parameters:", "Parameters: {", "format error"},
		"unknown reference":  {"!Ref ClusterName", "!Ref Cluster", "[Cluster]"},
		"unknown attribute":  {"!GetAtt NodeRole.Arn", "!GetAtt NodeRole.ARN", "no attribute ARN"},
		"unknown in text":    {`"KarpenterNodeRole-${ClusterName}"`, `"KarpenterNodeRole-${Cluster}"`, "[Cluster]"},
		"unknown property":   {"PrincipalArn:", "Principal:", "no property Principal"},
		"needed property":    {"      ServiceAccount: !Ref ServiceAccount\n", "", "needs the property ServiceAccount"},
		"unknown type":       {"AWS::EKS::AccessEntry", "AWS::EKS::Entry", "makes no AWS::EKS::Entry"},
		"unknown condition":  {"Condition: UsePodIdentity", "Condition: PodIdentity", "condition dependency"},
		"resource left out":  {"!GetAtt ControllerRolePodIdentity.Arn", "!GetAtt ControllerRoleIRSA.Arn", "condition does not hold"},
		"unknown function":   {"!Equals [!Ref Trust, PodIdentity]", "!Equal [!Ref Trust, PodIdentity]", "function !Equal"},
		"policy is no JSON":  {`"Sid": "UseWhatIsThere",`, `"Sid": "UseWhatIsThere"`, "Syntax errors"},
		"policy field":       {"\"Effect\": \"Allow\",\n              \"Resource\"", "\"Efect\": \"Allow\",\n              \"Resource\"", "Syntax errors"},
		"policy effect":      {"Effect: Allow", "Effect: allow", `effect "allow"`},
		"invalid attribute":  {"    Condition: MakeAccessEntry\n", "    Conditions: MakeAccessEntry\n", "invalid attribute Conditions"},
		"number as text":     {"MessageRetentionPeriod: 3600", `MessageRetentionPeriod: "3600"`, "MessageRetentionPeriod is string"},
		"text as a list":     {"RoleName: !Sub \"KarpenterNodeRole-${ClusterName}\"", "RoleName: [!Ref ClusterName]", "RoleName is []interface"},
		"a list as text":     {"Queues: [!Ref InterruptionQueue]", "Queues: !Ref InterruptionQueue", "Queues is string"},
		"unknown within":     {"Targets: [{Id: KarpenterQueue,", "Targets: [{ID: KarpenterQueue,", "Targets[0] has no property ID"},
		"needed within":      {"Targets: [{Id: KarpenterQueue, Arn: ", "Targets: [{Id: KarpenterQueue, RoleArn: ", "Targets[0] needs the property Arn"},
		"extra within":       {"Targets: [{Id: KarpenterQueue,", "Targets: [{Id: KarpenterQueue, Name: x,", "Targets[0] has no property Name"},
		"resource is no ARN": {`"arn:${AWS::Partition}:ec2:${AWS::Region}::image/*"`, `"ec2:${AWS::Region}::image/*"`, "ARN format"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(string(good), tt.was, tt.is, 1)
			if text == string(good) && tt.want != "" {
				t.Fatalf("the template has no %q", tt.was)
			}
			form := url.Values{"Action": {"CreateStack"}, "Version": {"2010-05-15"}, "StackName": {"s"}, "TemplateBody": {text},
				"Parameters.member.1.ParameterKey": {"ClusterName"}, "Parameters.member.1.ParameterValue": {"demo"},
				"Capabilities.member.1": {"CAPABILITY_NAMED_IAM"}}
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form.Encode()))
			w := httptest.NewRecorder()
			New(nil).ServeHTTP(w, r)
			if (w.Code == http.StatusOK) != (tt.want == "") || !strings.Contains(w.Body.String(), strings.NewReplacer(`"`, "&#34;").Replace(tt.want)) {
				t.Errorf("%d %s, want %q", w.Code, w.Body, tt.want)
			}
		})
	}
}
