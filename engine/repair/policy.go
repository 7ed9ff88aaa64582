package repair

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An Action is what repairs a node.
type Action string

// The actions, the less disruptive first.
const (
	RebootNode  Action = "RebootNode"
	ReplaceNode Action = "ReplaceNode"
)

// A Policy defines one condition of a node as a failure, and how the node is repaired.
type Policy struct {
	// ConditionType and ConditionStatus are the failing condition of the node.
	ConditionType   corev1.NodeConditionType
	ConditionStatus corev1.ConditionStatus
	// ReasonRegex is a regular expression that matches a part of the condition's reason. If it is empty, the policy is
	// the fallback of the condition: it matches when no other policy of the same type and status does.
	ReasonRegex string
	// TolerationDuration is how long the condition must last before the node is repaired.
	TolerationDuration time.Duration
	// TerminationGracePeriod bounds the drain. nil means that the terminationGracePeriod of the claim applies, 0 that the
	// drain is skipped.
	TerminationGracePeriod *time.Duration
	// Priority, 0 to 100, decides between nodes and between policies of one node. Higher comes first.
	Priority int
	Action   Action
	// NodeLabel, if not empty, limits the policy to nodes that have this label.
	NodeLabel string
}

const maxPriority = 100

// Policies are the checked policies of a provider. The zero value and nil repair nothing.
type Policies struct {
	rules []rule
	// ranks maps each priority to its position among all distinct priorities, from 0.
	ranks map[int]int
}

// A rule is a policy with its compiled expression, nil for a fallback.
type rule struct {
	Policy
	reason *regexp.Regexp
}

// Compile checks the policies. Its error joins everything that is wrong with them. An empty list is an error, too.
func Compile(policies []Policy) (*Policies, error) {
	if len(policies) == 0 {
		return nil, errors.New("the provider has no repair policy")
	}
	p := &Policies{ranks: map[int]int{}}
	var errs []error
	var priorities []int
	for i, policy := range policies {
		r := rule{Policy: policy}
		if err := r.check(); err != nil {
			errs = append(errs, fmt.Errorf("repair policy %d (%s=%s): %w", i, policy.ConditionType, policy.ConditionStatus, err))
		}
		if r.reason == nil && policy.ReasonRegex == "" && slices.ContainsFunc(policies[:i], func(other Policy) bool {
			return other.ReasonRegex == "" && other.NodeLabel == policy.NodeLabel && other.covers(policy.ConditionType, policy.ConditionStatus)
		}) {
			errs = append(errs, fmt.Errorf("repair policy %d (%s=%s): second policy without ReasonRegex for the condition",
				i, policy.ConditionType, policy.ConditionStatus))
		}
		p.rules = append(p.rules, r)
		priorities = append(priorities, policy.Priority)
	}
	slices.Sort(priorities)
	for rank, priority := range slices.Compact(priorities) {
		p.ranks[priority] = rank
	}
	return p, errors.Join(errs...)
}

// check compiles the expression and returns everything that is wrong with the policy.
func (r *rule) check() error {
	var errs []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	statuses := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}
	grace, reboots := r.TerminationGracePeriod, r.Action == RebootNode
	refuse(r.ConditionType == "", "ConditionType is empty")
	refuse(!slices.Contains(statuses, r.ConditionStatus), "ConditionStatus %q: use True, False or Unknown", r.ConditionStatus)
	refuse(r.TolerationDuration < 0, "TolerationDuration %s is negative", r.TolerationDuration)
	refuse(grace != nil && *grace < 0, "TerminationGracePeriod %s is negative", grace)
	refuse(r.Priority < 0 || r.Priority > maxPriority, "Priority %d is out of range 0 to %d", r.Priority, maxPriority)
	refuse(!reboots && r.Action != ReplaceNode, "Action %q: use %s or %s", r.Action, RebootNode, ReplaceNode)
	switch {
	case reboots && r.ReasonRegex == "":
		refuse(true, "Action %s needs a ReasonRegex: a fallback replaces", RebootNode)
	case reboots:
		refuse(grace == nil, "Action %s needs a TerminationGracePeriod: a drain without a bound would keep the node out of use", RebootNode)
	}
	if r.ReasonRegex != "" {
		var err error
		r.reason, err = regexp.Compile(r.ReasonRegex)
		refuse(err != nil, "ReasonRegex: %w", err)
	}
	return errors.Join(errs...)
}

// covers reports whether the policy is about conditions with the type and status.
func (p Policy) covers(t corev1.NodeConditionType, status corev1.ConditionStatus) bool {
	return p.ConditionType == t && p.ConditionStatus == status
}

// concerns reports whether NodeLabel is empty or the node has this label.
func (p Policy) concerns(node *corev1.Node) bool {
	_, labelled := node.Labels[p.NodeLabel]
	return p.NodeLabel == "" || labelled
}

// Replacing returns the policies whose action is ReplaceNode.
func (p *Policies) Replacing() *Policies {
	if p == nil {
		return nil
	}
	rules := slices.DeleteFunc(slices.Clone(p.rules), func(r rule) bool { return r.Action != ReplaceNode })
	return &Policies{rules: rules, ranks: p.ranks}
}
