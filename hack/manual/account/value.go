package account

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// get returns the value of a key, nil if there is none.
func get(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// pairs returns the values of a mapping by key.
func pairs(n *yaml.Node) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		out[n.Content[i].Value] = n.Content[i+1]
	}
	return out
}

// pseudo are the pseudo parameters of CloudFormation.
var pseudo = map[string]string{
	"AWS::Partition": Partition, "AWS::Region": Region, "AWS::AccountId": ID, "AWS::URLSuffix": "amazonaws.com",
}

// absent is the value of AWS::NoValue.
type absent struct{}

// value evaluates a part of a template.
func (s *stack) value(n *yaml.Node) any {
	if n == nil {
		return nil
	}
	switch n.Tag {
	case "!Ref":
		return s.ref(n.Value)
	case "!GetAtt":
		id, attribute, _ := strings.Cut(n.Value, ".")
		return s.attribute(id, attribute)
	case "!Sub":
		return s.sub(n.Value)
	case "!Equals":
		s.count(n, 2)
		return s.value(n.Content[0]) == s.value(n.Content[1])
	case "!Not":
		s.count(n, 1)
		return s.value(n.Content[0]) != true
	case "!If":
		s.count(n, 3)
		if s.holds(n.Content[0].Value) {
			return s.value(n.Content[1])
		}
		return s.value(n.Content[2])
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		throw("line %d: the account does not know the function %s", n.Line, n.Tag)
	}
	return s.plain(n)
}

// plain evaluates a node that is not a function call.
func (s *stack) plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for key, v := range pairs(n) {
			if v := s.value(v); v != (absent{}) {
				out[key] = v
			}
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			if v := s.value(item); v != (absent{}) {
				out = append(out, v)
			}
		}
		return out
	}
	if n.Tag == "!!bool" || n.Tag == "!!int" {
		var v any
		if err := n.Decode(&v); err != nil {
			throw("line %d: %v", n.Line, err)
		}
		return v
	}
	return n.Value
}

// count panics with a value of type wrong unless a function call has the given number of arguments.
func (s *stack) count(n *yaml.Node, want int) {
	if len(n.Content) != want {
		throw("line %d: %s takes %d arguments", n.Line, n.Tag, want)
	}
}

// holds evaluates a condition of the template.
func (s *stack) holds(name string) bool {
	condition := get(get(s.root, "Conditions"), name)
	if condition == nil {
		throw("unresolved condition dependency %s", name)
	}
	return s.value(condition) == true
}

// kind returns the type of a resource, which must exist and be supported.
func (s *stack) kind(id string) string {
	kind := get(get(get(s.root, "Resources"), id), "Type")
	if kind == nil {
		throw("unresolved resource dependency [%s]", id)
	}
	if _, ok := forms[kind.Value]; !ok {
		throw("resource %s: the account makes no %s", id, kind.Value)
	}
	return kind.Value
}

// ref evaluates a reference to a parameter, a pseudo parameter, or a resource.
func (s *stack) ref(name string) any {
	if name == "AWS::NoValue" {
		return absent{}
	}
	if v, ok := pseudo[name]; ok {
		return v
	}
	if v, ok := s.parameters[name]; ok {
		return v
	}
	return fmt.Sprintf(forms[s.kind(name)].ref, s.name(name))
}

// name returns the name of a resource: the one in the template, or else one made from its ID.
func (s *stack) name(id string) string {
	r := get(get(s.root, "Resources"), id)
	if condition := get(r, "Condition"); condition != nil && !s.holds(condition.Value) {
		throw("unresolved resource dependency [%s]: its condition does not hold", id)
	}
	s.kind(id)
	for _, key := range []string{"RoleName", "ManagedPolicyName", "QueueName", "Name"} {
		if n := get(get(r, "Properties"), key); n != nil {
			return fmt.Sprint(s.value(n))
		}
	}
	return "stack-" + id
}

// attribute evaluates an attribute of a resource: an ARN, or its name in place of any other attribute.
func (s *stack) attribute(id, attribute string) any {
	kind := s.kind(id)
	if !slices.Contains(strings.Fields(forms[kind].attributes), attribute) {
		throw("resource %s: %s has no attribute %s", id, kind, attribute)
	}
	name := s.name(id)
	if !strings.HasSuffix(attribute, "Arn") {
		return name
	}
	service := strings.ToLower(strings.Split(kind, "::")[1])
	switch kind {
	case "AWS::IAM::Role":
		return "arn:" + Partition + ":iam::" + ID + ":role/" + name
	case "AWS::IAM::ManagedPolicy":
		return "arn:" + Partition + ":iam::" + ID + ":policy/" + name
	}
	return "arn:" + Partition + ":" + service + ":" + Region + ":" + ID + ":" + name
}

var inside = regexp.MustCompile(`\$\{([A-Za-z0-9:.]+)\}`)

// sub evaluates Fn::Sub: it replaces names in text by their values.
func (s *stack) sub(text string) string {
	return inside.ReplaceAllStringFunc(text, func(m string) string {
		name := m[2 : len(m)-1]
		if id, attribute, ok := strings.Cut(name, "."); ok {
			return fmt.Sprint(s.attribute(id, attribute))
		}
		return fmt.Sprint(s.ref(name))
	})
}
