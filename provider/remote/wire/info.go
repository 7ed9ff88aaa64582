package wire

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
)

// Version is the version of the protocol.
const Version = "v1"

type kind = schema.GroupVersionKind

// Info has the facts about a provider that do not change.
type Info struct {
	Name, Version string
	Facts         cloud.Facts
	// Prefixes are the prefixes of its provider IDs. Empty means any.
	Prefixes []string
	// Calls is the maximum number of concurrent calls.
	Calls        int
	capabilities sets.Set[cloudv1.Capability]
	// Examples are node classes as JSON by kind.
	Examples map[kind]string
}

// Has reports whether the provider has a capability.
func (i *Info) Has(c cloudv1.Capability) bool { return i.capabilities.Has(c) }

// defaultCalls is the number of concurrent calls of a provider that states none. maxCalls is the largest number that
// is used.
const (
	defaultCalls = 100
	maxCalls     = 1_000
)

// ReadInfo reads the facts about a provider.
func ReadInfo(m *cloudv1.GetInfoResponse) (*Info, error) {
	if !providerName.MatchString(m.GetName()) {
		return nil, Reject(InvalidName, "%s is no name of a provider: use lower case letters, digits and dashes, at most 32", quoted(m.GetName()))
	}
	i := &Info{
		Name: m.GetName(), Version: Text(m.GetVersion()), Calls: min(int(m.GetMaxConcurrentCalls()), maxCalls),
		capabilities: sets.New(m.GetCapabilities()...), Examples: map[kind]string{},
	}
	if i.Calls == 0 {
		i.Calls = defaultCalls
	}
	i.Facts.LaunchTimeouts = map[schema.GroupKind]time.Duration{}
	if err := i.readKinds(m.GetNodeClassKinds()); err != nil {
		return nil, err
	}
	if err := atMost("provider ID prefixes", len(m.GetProviderIdPrefixes()), maxPrefixes); err != nil {
		return nil, err
	}
	for _, p := range m.GetProviderIdPrefixes() {
		if p == "" || len(p) > maxProviderID {
			return nil, Reject(InvalidName, "%s is no beginning of a provider ID", quoted(p))
		}
	}
	i.Prefixes = slices.Clone(m.GetProviderIdPrefixes())
	i.Facts.ProviderIDPrefixes = i.Prefixes
	labels, err := readRules(m)
	if err != nil {
		return nil, err
	}
	i.Facts.Labels = apiv1.CoreLabels().With(labels)
	if i.Facts.RepairPolicies, err = readPolicies(m.GetRepairPolicies()); err != nil {
		return nil, err
	}
	if i.Facts.LegacyRepairPolicies, err = readPolicies(m.GetLegacyRepairPolicies()); err != nil {
		return nil, err
	}
	return i, nil
}

// readKinds reads the kinds of node classes.
func (i *Info) readKinds(list []*cloudv1.NodeClassKind) error {
	if len(list) == 0 {
		return Reject(Missing, "there is no kind of node class")
	}
	if err := atMost("kinds of node classes", len(list), maxKinds); err != nil {
		return err
	}
	for _, k := range list {
		gvk := kind{Group: k.GetGroup(), Version: k.GetVersion(), Kind: k.GetKind()}
		if len(validation.IsDNS1123Subdomain(gvk.Group)) > 0 || len(validation.IsDNS1035Label(gvk.Version)) > 0 || !kindName(gvk.Kind) {
			return Reject(InvalidName, "%s is no kind of a node class", quoted(gvk.String()))
		}
		if gvk.Group == apiv1.Group {
			return Reject(InvalidName, "the group of %s is that of Karpenter", gvk.Kind)
		}
		i.Facts.NodeClasses = append(i.Facts.NodeClasses, gvk)
		i.Examples[gvk] = k.GetExampleJson()
		if k.GetLaunchTimeout() == nil {
			continue
		}
		limit, err := durationOf(k.GetLaunchTimeout())
		if err == nil && (limit < cloud.MinLaunchTimeout || limit > cloud.MaxLaunchTimeout) {
			err = Reject(InvalidAmount, "launch_timeout is %v, not %v to %v", limit, cloud.MinLaunchTimeout, cloud.MaxLaunchTimeout)
		}
		if err != nil {
			return within(err, "kind %s", gvk.Kind)
		}
		i.Facts.LaunchTimeouts[gvk.GroupKind()] = limit
	}
	return nil
}

// kindName reports whether a text can be the name of a kind.
func kindName(s string) bool {
	for n, r := range s {
		letter := r >= 'A' && r <= 'Z' || n > 0 && r >= 'a' && r <= 'z'
		if !letter && (n == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= validation.LabelValueMaxLength
}

// readRules reads the label rules. It omits well-known labels of Karpenter and Kubernetes that all providers have. Other
// labels of Karpenter are rejected.
func readRules(m *cloudv1.GetInfoResponse) (apiv1.LabelRules, error) {
	rules := apiv1.LabelRules{WellKnown: sets.New[string](), KnownValues: map[string][]string{}, Aliases: map[string]string{}}
	if err := atMost("labels", len(m.GetLabels())+len(m.GetLabelAliases())+len(m.GetRestrictedDomains()), maxLabels); err != nil {
		return rules, err
	}
	core := apiv1.CoreLabels()
	for _, l := range m.GetLabels() {
		if err := checkLabelKey(l.GetKey()); err != nil {
			return rules, err
		}
		if core.WellKnown.Has(l.GetKey()) {
			continue
		}
		if isOfKarpenter(l.GetKey()) {
			return rules, Reject(InvalidName, "label %s belongs to Karpenter", l.GetKey())
		}
		if err := atMost("values of label "+l.GetKey(), len(l.GetKnownValues()), maxValues); err != nil {
			return rules, err
		}
		for _, v := range l.GetKnownValues() {
			if err := checkLabelValue(l.GetKey(), v); err != nil {
				return rules, err
			}
		}
		rules.WellKnown.Insert(l.GetKey())
		if len(l.GetKnownValues()) > 0 {
			rules.KnownValues[l.GetKey()] = slices.Clone(l.GetKnownValues())
		}
	}
	for _, d := range m.GetRestrictedDomains() {
		if len(validation.IsDNS1123Subdomain(d)) > 0 {
			return rules, Reject(InvalidName, "%s is no domain of labels", quoted(d))
		}
		rules.RestrictedDomains = append(rules.RestrictedDomains, d)
	}
	for from, to := range m.GetLabelAliases() {
		if core.Aliases[from] != "" || core.WellKnown.Has(from) {
			continue
		}
		if err := checkLabelKey(from); err != nil {
			return rules, err
		}
		if !rules.WellKnown.Has(to) && !core.WellKnown.Has(to) {
			return rules, Reject(Contradiction, "label %s is an alias of %s, which is no label of the provider", from, quoted(to))
		}
		rules.Aliases[from] = to
	}
	return rules, nil
}

// maxToleration bounds the durations of repair policies.
const maxToleration = 30 * 24 * time.Hour

func readPolicies(list []*cloudv1.RepairPolicy) ([]cloud.RepairPolicy, error) {
	if err := atMost("repair policies", len(list), maxPolicies); err != nil {
		return nil, err
	}
	var out []cloud.RepairPolicy
	for _, m := range list {
		p := cloud.RepairPolicy{
			ConditionType: corev1.NodeConditionType(Text(m.GetConditionType())), ConditionStatus: corev1.ConditionStatus(Text(m.GetConditionStatus())),
			ReasonRegex: m.GetReasonRegex(), Priority: int(min(m.GetPriority(), maxCalls)), Action: cloud.ReplaceNode,
		}
		if m.GetAction() == cloudv1.RepairAction_REPAIR_ACTION_REBOOT {
			p.Action = cloud.RebootNode
		}
		if len(p.ReasonRegex) > maxText {
			return nil, Reject(TooMany, "a regular expression has %d bytes", len(p.ReasonRegex))
		}
		var err error
		if p.TolerationDuration, err = durationOf(m.GetToleration()); err == nil {
			err = checkDuration("toleration", p.TolerationDuration, maxToleration)
		}
		if err == nil && m.GetTerminationGracePeriod() != nil {
			var drain time.Duration
			if drain, err = durationOf(m.GetTerminationGracePeriod()); err == nil {
				err = checkDuration("termination_grace_period", drain, maxToleration)
			}
			p.TerminationGracePeriod = &drain
		}
		if err != nil {
			return nil, within(err, "repair policy of condition %s", quoted(m.GetConditionType()))
		}
		out = append(out, p)
	}
	if len(out) > 0 {
		if err := cloud.CheckRepairPolicies(out); err != nil {
			return nil, Reject(Contradiction, "%w", err)
		}
	}
	return out, nil
}

// WriteInfo is the inverse of ReadInfo.
func WriteInfo(p cloud.Provider, version string, capabilities ...cloudv1.Capability) *cloudv1.GetInfoResponse {
	facts := p.Facts()
	m := &cloudv1.GetInfoResponse{
		Name: p.Name(), Version: version, Capabilities: capabilities, ProviderIdPrefixes: facts.ProviderIDPrefixes,
		RestrictedDomains: facts.Labels.RestrictedDomains, LabelAliases: facts.Labels.Aliases, MaxConcurrentCalls: maxCalls,
		RepairPolicies: writePolicies(facts.RepairPolicies), LegacyRepairPolicies: writePolicies(facts.LegacyRepairPolicies),
	}
	for _, k := range facts.NodeClasses {
		kind := &cloudv1.NodeClassKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
		if limit := facts.LaunchTimeouts[k.GroupKind()]; limit > 0 {
			kind.LaunchTimeout = durationpb.New(limit)
		}
		m.NodeClassKinds = append(m.NodeClassKinds, kind)
	}
	for _, key := range sets.List(facts.Labels.WellKnown) {
		m.Labels = append(m.Labels, &cloudv1.Label{Key: key, KnownValues: facts.Labels.KnownValues[key]})
	}
	return m
}

func writePolicies(list []cloud.RepairPolicy) []*cloudv1.RepairPolicy {
	var out []*cloudv1.RepairPolicy
	for _, p := range list {
		m := &cloudv1.RepairPolicy{
			ConditionType: string(p.ConditionType), ConditionStatus: string(p.ConditionStatus), ReasonRegex: p.ReasonRegex,
			Toleration: durationpb.New(p.TolerationDuration), Priority: uint32(max(p.Priority, 0)), Action: cloudv1.RepairAction_REPAIR_ACTION_REPLACE,
		}
		if p.Action == cloud.RebootNode {
			m.Action = cloudv1.RepairAction_REPAIR_ACTION_REBOOT
		}
		if p.TerminationGracePeriod != nil {
			m.TerminationGracePeriod = durationpb.New(*p.TerminationGracePeriod)
		}
		out = append(out, m)
	}
	return out
}
