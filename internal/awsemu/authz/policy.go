package authz

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// A Policy has the statements of one or more policy documents.
type Policy struct{ statements []statement }

// A statement is one statement of a policy document.
type statement struct {
	Sid       string
	Effect    string
	Action    texts
	Resource  texts
	Condition map[string]map[string]texts
}

// texts is a JSON string or a list of strings.
type texts []string

// UnmarshalJSON reads a string or a list of strings.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("want a text or a list of texts: %w", err)
	}
	*t = many
	return nil
}

// Parse reads policy documents. A statement without Effect, Action or Resource, or with an unknown condition operator, is an
// error.
func Parse(documents ...[]byte) (*Policy, error) {
	out := &Policy{}
	for _, raw := range documents {
		var d struct {
			Version   string
			Statement []statement
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("read policy: %w", err)
		}
		for _, s := range d.Statement {
			if s.Effect != "Allow" && s.Effect != "Deny" || len(s.Action) == 0 || len(s.Resource) == 0 {
				return nil, fmt.Errorf("read policy: statement %q needs Effect, Action and Resource", s.Sid)
			}
			for operator := range s.Condition {
				if _, ok := operators[operator]; !ok {
					return nil, fmt.Errorf("read policy: statement %q: condition operator %s is not known here", s.Sid, operator)
				}
			}
			out.statements = append(out.statements, s)
		}
	}
	return out, nil
}

// A Request is one action on one resource, to be allowed or denied.
type Request struct {
	Action   string // service:Operation
	Resource string // an ARN, or *
	// Context has the values of condition keys. A key that it lacks is not part of the request.
	Context map[string][]string
}

// Allows reports whether the request is allowed.
func (p *Policy) Allows(r Request) bool {
	allowed := false
	for _, s := range p.statements {
		if !s.matches(r) {
			continue
		}
		if s.Effect == "Deny" {
			return false
		}
		allowed = true
	}
	return allowed
}

func (s statement) matches(r Request) bool {
	action := strings.ToLower(r.Action)
	if !slices.ContainsFunc(s.Action, func(p string) bool { return wire.Match(strings.ToLower(p), action) }) ||
		!slices.ContainsFunc(s.Resource, func(p string) bool { return wire.Match(p, r.Resource) }) {
		return false
	}
	for operator, keys := range s.Condition {
		for key, wanted := range keys {
			values, present := r.Context[key]
			if !operators[operator](values, present, wanted) {
				return false
			}
		}
	}
	return true
}

// operators has the condition operators by name. Their arguments are the values of a key, whether the request has the key, and
// the values in the policy.
var operators = map[string]func(values []string, present bool, wanted texts) bool{
	"StringEquals": func(values []string, present bool, wanted texts) bool { return present && anyOf(values, wanted, equal) },
	"StringLike":   func(values []string, present bool, wanted texts) bool { return present && anyOf(values, wanted, like) },
	"StringEqualsIfExists": func(values []string, present bool, wanted texts) bool {
		return !present || anyOf(values, wanted, equal)
	},
	"StringLikeIfExists": func(values []string, present bool, wanted texts) bool {
		return !present || anyOf(values, wanted, like)
	},
	"ForAllValues:StringEquals": func(values []string, _ bool, wanted texts) bool { return allOf(values, wanted, equal) },
	"ForAllValues:StringLike":   func(values []string, _ bool, wanted texts) bool { return allOf(values, wanted, like) },
}

func equal(value, wanted string) bool { return value == wanted }

func like(value, wanted string) bool { return wire.Match(wanted, value) }

func anyOf(values []string, wanted texts, ok func(value, wanted string) bool) bool {
	return slices.ContainsFunc(values, func(v string) bool {
		return slices.ContainsFunc(wanted, func(w string) bool { return ok(v, w) })
	})
}

func allOf(values []string, wanted texts, ok func(value, wanted string) bool) bool {
	return !slices.ContainsFunc(values, func(v string) bool {
		return !slices.ContainsFunc(wanted, func(w string) bool { return ok(v, w) })
	})
}
