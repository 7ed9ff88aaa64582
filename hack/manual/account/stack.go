package account

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A form describes a type of resource: its required and optional properties, its attributes, and the value of a
// reference to it (name, ARN or URL). The name of a property is followed by the type of its value: # means a number, ?
// a boolean, {} an object or JSON, [] a list of text, and [Form] a list of objects of that form. Without such a suffix
// it is text.
type form struct {
	needs, may, attributes string
	ref                    string
}

// forms are the supported types of resources and of nested objects, according to AWS's documentation.
var forms = map[string]form{
	"AWS::IAM::Role": {"AssumeRolePolicyDocument{}",
		"Description ManagedPolicyArns[] MaxSessionDuration# Path PermissionsBoundary Policies[Policy] RoleName Tags[Tag]", "Arn RoleId", "%s"},
	"AWS::IAM::ManagedPolicy": {"PolicyDocument{}", "Description Groups[] ManagedPolicyName Path Roles[] Users[]", "PolicyArn PolicyId",
		"arn:" + Partition + ":iam::" + ID + ":policy/%s"},
	"AWS::EKS::AccessEntry": {"ClusterName PrincipalArn", "AccessPolicies[AccessPolicy] KubernetesGroups[] Tags[Tag] Type Username", "AccessEntryArn", "%s"},
	"AWS::EKS::PodIdentityAssociation": {"ClusterName Namespace RoleArn ServiceAccount", "DisableSessionTags? Tags[Tag] TargetRoleArn",
		"AssociationArn AssociationId", "%s"},
	"AWS::SQS::Queue": {"", "DelaySeconds# KmsMasterKeyId MaximumMessageSize# MessageRetentionPeriod# QueueName RedrivePolicy{}" +
		" SqsManagedSseEnabled? Tags[Tag] VisibilityTimeout#", "Arn QueueName QueueUrl", "https://sqs." + Region + ".amazonaws.com/" + ID + "/%s"},
	"AWS::SQS::QueuePolicy": {"PolicyDocument{} Queues[]", "", "Id", "%s"},
	"AWS::Events::Rule": {"", "Description EventBusName EventPattern{} Name RoleArn ScheduleExpression State Targets[Target]", "Arn",
		"%s"},

	"AccessPolicy": {"AccessScope{} PolicyArn", "", "", ""},
	"Policy":       {"PolicyDocument{} PolicyName", "", "", ""},
	"Tag":          {"Key Value", "", "", ""},
	"Target":       {"Arn Id", "Input InputPath RoleArn", "", ""},
}

// A stack is the state of the evaluation of a template.
type stack struct {
	root       *yaml.Node
	parameters map[string]string
}

// wrong is a mistake in a template. It is the value of a panic during evaluation.
type wrong struct{ error }

func throw(format string, args ...any) { panic(wrong{fmt.Errorf(format, args...)}) }

// A Resource is a resource that a template creates.
type Resource struct {
	ID, Kind string
	// Ref is the value of a reference to the resource. Properties are its properties in the template after
	// substitutions.
	Ref        any
	Properties map[string]any
}

// Resources returns the resources that a template creates with these parameters, sorted by ID. It returns the first
// mistake that it finds. Resources and outputs whose condition does not hold are not checked.
func Resources(template string, parameters map[string]string) (made []Resource, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case wrong:
			made, err = nil, fmt.Errorf("evaluate template: %w", r.error)
		default:
			panic(r)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(template), &doc); err != nil || len(doc.Content) == 0 {
		return nil, fmt.Errorf("read template: format error: %v", err)
	}
	s := &stack{doc.Content[0], map[string]string{}}
	s.setParameters(parameters)
	s.rules()
	resources := pairs(get(s.root, "Resources"))
	for _, id := range slices.Sorted(maps.Keys(resources)) {
		if condition := get(resources[id], "Condition"); condition == nil || s.holds(condition.Value) {
			made = append(made, s.make(id, resources[id]))
		}
	}
	for _, output := range pairs(get(s.root, "Outputs")) {
		if condition := get(output, "Condition"); condition == nil || s.holds(condition.Value) {
			s.value(get(output, "Value"))
		}
	}
	return made, nil
}

// createStack creates the resources of a template.
func (a *Account) createStack(query url.Values) (string, *failure) {
	name := query.Get("StackName")
	if !regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]{0,127}$`).MatchString(name) || a.stacks[name] {
		return "", refuse("ValidationError", "the stack name %q is none, or taken", name)
	}
	parameters := map[string]string{}
	values := list(query, "Parameters.member.%d.ParameterValue")
	for i, key := range list(query, "Parameters.member.%d.ParameterKey") {
		parameters[key] = values[i]
	}
	resources, err := Resources(query.Get("TemplateBody"), parameters)
	if err != nil {
		return "", refuse("ValidationError", "Template error: %v", err)
	}
	capable := slices.Contains(list(query, "Capabilities.member.%d"), "CAPABILITY_NAMED_IAM")
	for _, r := range resources {
		if strings.HasPrefix(r.Kind, "AWS::IAM::") && !capable {
			return "", refuse("InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_NAMED_IAM]")
		}
		if failed := a.create(r); failed != nil {
			return "", failed
		}
	}
	a.stacks[name] = true
	return "<StackId>arn:" + Partition + ":cloudformation:" + Region + ":" + ID + ":stack/" + name + "/1</StackId>", nil
}

// deleteStack removes a stack that exists from the list of stacks. Its roles and policies remain.
func (a *Account) deleteStack(query url.Values) (string, *failure) {
	if name := query.Get("StackName"); !a.stacks[name] {
		return "", refuse("ValidationError", "Stack [%s] does not exist", name)
	}
	delete(a.stacks, query.Get("StackName"))
	return "", nil
}

// list returns the values of a list parameter in AWS's query protocol. at is the format of the names of its elements.
func list(query url.Values, at string) []string {
	var out []string
	for i := 1; query.Has(fmt.Sprintf(at, i)); i++ {
		out = append(out, query.Get(fmt.Sprintf(at, i)))
	}
	return out
}

// setParameters sets the template's parameters, and checks their allowed values.
func (s *stack) setParameters(given map[string]string) {
	declared := pairs(get(s.root, "Parameters"))
	for key := range given {
		if declared[key] == nil {
			throw("parameters [%s] do not exist in the template", key)
		}
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

// rules checks the template's rules about parameters.
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

// make checks a resource against its form, and returns it with its properties evaluated.
func (s *stack) make(id string, r *yaml.Node) Resource {
	for key := range pairs(r) {
		if !slices.Contains([]string{"Type", "Condition", "Properties", "DependsOn", "DeletionPolicy"}, key) {
			throw("resource %s: invalid attribute %s", id, key)
		}
	}
	kind := s.kind(id)
	properties, _ := s.value(get(r, "Properties")).(map[string]any)
	hold("resource "+id+": "+kind, forms[kind], properties)
	return Resource{id, kind, s.ref(id), properties}
}

// property matches a property of a form: its name, and the type of its value.
var property = regexp.MustCompile(`^(\w+)(#|\?|\{\}|\[(\w*)\])?$`)

// hold panics with a value of type wrong unless properties agree with a form: all names are known, all values have the type
// of the form, and all needed properties are present.
func hold(where string, f form, properties map[string]any) {
	known := map[string][]string{}
	for _, p := range strings.Fields(f.needs + " " + f.may) {
		m := property.FindStringSubmatch(p)
		known[m[1]] = m
	}
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		m, ok := known[key]
		if !ok {
			throw("%s has no property %s", where, key)
		}
		holdValue(where+"."+key, m[2], forms[m[3]], properties[key])
	}
	for _, p := range strings.Fields(f.needs) {
		if name := property.FindStringSubmatch(p)[1]; properties[name] == nil {
			throw("%s needs the property %s", where, name)
		}
	}
}

// holdValue checks the value of a property against its type. items is the form of list items, or empty for text.
func holdValue(where, what string, items form, v any) {
	ok := false
	switch what {
	case "#":
		_, ok = v.(int)
	case "?":
		_, ok = v.(bool)
	case "{}":
		document, isText := v.(string)
		_, ok = v.(map[string]any)
		ok = ok || isText && json.Valid([]byte(document))
		if isText && !ok {
			throw("%s: Syntax errors: no JSON", where)
		}
	case "":
		_, ok = v.(string)
	default:
		var list []any
		list, ok = v.([]any)
		for i, item := range list {
			at := fmt.Sprintf("%s[%d]", where, i)
			if items.needs == "" {
				holdValue(at, "", form{}, item)
				continue
			}
			inner, isObject := item.(map[string]any)
			if !isObject {
				throw("%s is %T, want an object", at, item)
			}
			hold(at, items, inner)
		}
	}
	if !ok {
		throw("%s is %T, which it does not take", where, v)
	}
}

// create checks the policies of a resource and stores the names that later calls may refer to.
func (a *Account) create(r Resource) *failure {
	for _, key := range []string{"AssumeRolePolicyDocument", "PolicyDocument"} {
		document, ok := r.Properties[key].(string)
		if asJSON, err := json.Marshal(r.Properties[key]); !ok && err == nil {
			document = string(asJSON)
		}
		if r.Properties[key] == nil {
			continue
		}
		if failed := readPolicy(document); failed != nil {
			return refuse(failed.code, "resource %s: %s", r.ID, failed.message)
		}
	}
	switch r.Kind {
	case "AWS::IAM::Role":
		a.roles = append(a.roles, fmt.Sprint(r.Properties["RoleName"]))
	case "AWS::IAM::ManagedPolicy":
		document, _ := r.Properties["PolicyDocument"].(string)
		_, failed := a.addPolicy(fmt.Sprint(r.Properties["ManagedPolicyName"]), document)
		return failed
	}
	return nil
}
