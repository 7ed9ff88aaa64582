package account

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A form is what a type of resource takes: the properties that it needs, others that it may have, its attributes, and what a
// reference to it is: its name, its ARN or its URL.
type form struct {
	needs, may, attributes string
	ref                    string
}

// forms are the types of resources that the account can make, as AWS documents them.
var forms = map[string]form{
	"AWS::IAM::Role": {"AssumeRolePolicyDocument",
		"Description ManagedPolicyArns MaxSessionDuration Path PermissionsBoundary Policies RoleName Tags", "Arn RoleId", "%s"},
	"AWS::IAM::ManagedPolicy": {"PolicyDocument", "Description Groups ManagedPolicyName Path Roles Users", "PolicyArn PolicyId",
		"arn:" + Partition + ":iam::" + ID + ":policy/%s"},
	"AWS::EKS::AccessEntry": {"ClusterName PrincipalArn", "AccessPolicies KubernetesGroups Tags Type Username", "AccessEntryArn", "%s"},
	"AWS::EKS::PodIdentityAssociation": {"ClusterName Namespace RoleArn ServiceAccount", "DisableSessionTags Tags TargetRoleArn",
		"AssociationArn AssociationId", "%s"},
	"AWS::SQS::Queue": {"", "DelaySeconds KmsMasterKeyId MaximumMessageSize MessageRetentionPeriod QueueName RedrivePolicy" +
		" SqsManagedSseEnabled Tags VisibilityTimeout", "Arn QueueName QueueUrl", "https://sqs." + Region + ".amazonaws.com/" + ID + "/%s"},
	"AWS::SQS::QueuePolicy": {"PolicyDocument Queues", "", "Id", "%s"},
	"AWS::Events::Rule":     {"", "Description EventBusName EventPattern Name RoleArn ScheduleExpression State Targets", "Arn", "%s"},
}

// A stack is a template while it is made.
type stack struct {
	root       *yaml.Node
	parameters map[string]string
}

// wrong is a mistake in a template, thrown while it is evaluated.
type wrong struct{ error }

func throw(format string, args ...any) { panic(wrong{fmt.Errorf(format, args...)}) }

// createStack makes what a template describes.
func (a *Account) createStack(query url.Values) (result string, failed *failure) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case wrong:
			failed = refuse("ValidationError", "Template error: %v", r.error)
		default:
			panic(r)
		}
	}()
	name := query.Get("StackName")
	if !regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]{0,127}$`).MatchString(name) || a.stacks[name] {
		return "", refuse("ValidationError", "the stack name %q is none, or taken", name)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(query.Get("TemplateBody")), &doc); err != nil || len(doc.Content) == 0 {
		return "", refuse("ValidationError", "Template format error: %v", err)
	}
	s := &stack{doc.Content[0], map[string]string{}}
	s.setParameters(query)
	s.rules()
	capable := slices.Contains(list(query, "Capabilities.member.%d"), "CAPABILITY_NAMED_IAM")
	for id, r := range pairs(get(s.root, "Resources")) {
		if condition := get(r, "Condition"); condition != nil && !s.holds(condition.Value) {
			continue
		}
		if kind := s.kind(id); strings.HasPrefix(kind, "AWS::IAM::") && !capable {
			return "", refuse("InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_NAMED_IAM]")
		}
		if failed := a.create(s, id, r); failed != nil {
			return "", failed
		}
	}
	for _, output := range pairs(get(s.root, "Outputs")) {
		if condition := get(output, "Condition"); condition == nil || s.holds(condition.Value) {
			s.value(get(output, "Value"))
		}
	}
	a.stacks[name] = true
	return "<StackId>arn:" + Partition + ":cloudformation:" + Region + ":" + ID + ":stack/" + name + "/1</StackId>", nil
}

// deleteStack takes a stack that is there.
func (a *Account) deleteStack(query url.Values) (string, *failure) {
	if name := query.Get("StackName"); !a.stacks[name] {
		return "", refuse("ValidationError", "Stack [%s] does not exist", name)
	}
	delete(a.stacks, query.Get("StackName"))
	return "", nil
}

// list reads a list of the query protocol.
func list(query url.Values, at string) []string {
	var out []string
	for i := 1; query.Has(fmt.Sprintf(at, i)); i++ {
		out = append(out, query.Get(fmt.Sprintf(at, i)))
	}
	return out
}

// setParameters takes the parameters that the template has, with what it allows of them.
func (s *stack) setParameters(query url.Values) {
	declared := pairs(get(s.root, "Parameters"))
	given := map[string]string{}
	values := list(query, "Parameters.member.%d.ParameterValue")
	for i, key := range list(query, "Parameters.member.%d.ParameterKey") {
		if declared[key] == nil {
			throw("parameters [%s] do not exist in the template", key)
		}
		given[key] = values[i]
	}
	for name, p := range declared {
		value, ok := given[name]
		if fallback := get(p, "Default"); !ok && fallback != nil {
			value, ok = fallback.Value, true
		}
		if !ok {
			throw("parameters: [%s] must have values", name)
		}
		if pattern := get(p, "AllowedPattern"); pattern != nil && !regexp.MustCompile("^(?:"+pattern.Value+")$").MatchString(value) {
			throw("parameter %s failed to satisfy constraint: %s", name, pattern.Value)
		}
		if allowed := get(p, "AllowedValues"); allowed != nil && !slices.ContainsFunc(allowed.Content, func(n *yaml.Node) bool { return n.Value == value }) {
			throw("parameter %s must be one of AllowedValues", name)
		}
		s.parameters[name] = value
	}
}

// rules asserts what the template demands of parameters together.
func (s *stack) rules() {
	for name, r := range pairs(get(s.root, "Rules")) {
		if condition := get(r, "RuleCondition"); condition != nil && s.value(condition) != true {
			continue
		}
		for _, assertion := range get(r, "Assertions").Content {
			if s.value(get(assertion, "Assert")) != true {
				throw("rule %s: %s", name, get(assertion, "AssertDescription").Value)
			}
		}
	}
}

// create holds a resource against its type and keeps what others refer to.
func (a *Account) create(s *stack, id string, r *yaml.Node) *failure {
	for key := range pairs(r) {
		if !slices.Contains([]string{"Type", "Condition", "Properties", "DependsOn", "DeletionPolicy"}, key) {
			throw("resource %s: invalid attribute %s", id, key)
		}
	}
	f, kind := forms[s.kind(id)], s.kind(id)
	properties, _ := s.value(get(r, "Properties")).(map[string]any)
	for key := range properties {
		if !slices.Contains(strings.Fields(f.needs+" "+f.may), key) {
			throw("resource %s: %s has no property %s", id, kind, key)
		}
	}
	for _, key := range strings.Fields(f.needs) {
		if properties[key] == nil {
			throw("resource %s: %s needs the property %s", id, kind, key)
		}
	}
	for _, key := range []string{"AssumeRolePolicyDocument", "PolicyDocument"} {
		document, ok := properties[key].(string)
		if asJSON, err := json.Marshal(properties[key]); !ok && err == nil {
			document = string(asJSON)
		}
		if properties[key] == nil {
			continue
		}
		if failed := readPolicy(document); failed != nil {
			return refuse(failed.code, "resource %s: %s", id, failed.message)
		}
	}
	switch kind {
	case "AWS::IAM::Role":
		a.roles = append(a.roles, fmt.Sprint(properties["RoleName"]))
	case "AWS::IAM::ManagedPolicy":
		document, _ := properties["PolicyDocument"].(string)
		_, failed := a.addPolicy(fmt.Sprint(properties["ManagedPolicyName"]), document)
		return failed
	}
	return nil
}
