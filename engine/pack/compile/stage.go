package compile

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
	"github.com/karpenter-go/karpenter/engine/volume"
)

// A Stage is the requirements of a class together with some of its preferences, which are treated as requirements. Pods
// that get no node in one stage are tried in the next stage, which has fewer preferences. If there are PreferNoSchedule
// taints, the last stage tolerates all of them.
type Stage struct {
	ID          int // index in Spec.Stages
	Terms       *catalog.NodeTerms
	Tolerations *catalog.Tolerations
	// OverDomains are the rules over labels that nodes share, such as the zone. PerNode are the rules over the hostname,
	// among them an anti-affinity rule for each host port.
	OverDomains, PerNode []Rule
	// Keys are the indices of the topology keys, rising, whose domain must be chosen before a pod gets a new node. They are
	// the keys (Group.Key, OtherKeys) of the groups of OverDomains, and of the groups with required rules that count the
	// pods, except the hostname and the keys of groups of which Terms exclude domains, see avoidDomains.
	Keys []int
	// Daemons excludes new nodes on which DaemonSet pods would violate the rules. It is nil if it excludes none.
	// DaemonAffinity also excludes nodes without DaemonSet pods that meet all affinity of the stage over the hostname. It is
	// nil if the stage has no such affinity, or if a rule of this affinity counts no DaemonSet pods. If such a rule counts
	// no certain DaemonSet, it excludes all nodes. See daemon.go.
	Daemons, DaemonAffinity *catalog.DaemonFilter
}

// A Rule is a spread, affinity or anti-affinity constraint of a pod. If it is Soft, it restricts where the pod itself goes,
// but not pods that are placed later.
type Rule struct {
	topology.Rule
	Group int // the group that counts the pods to which the constraint refers: index in Problem.Groups
	// Affinity is set for required affinity: the groups of all required affinity of the pod. They decide on
	// kube-scheduler's first-pod exception: if no other pod matches any required affinity of a pod, the pod may satisfy it
	// by itself.
	Affinity []int
}

// Rules yields the rules of OverDomains, then those of PerNode.
func (s *Stage) Rules(yield func(*Rule) bool) {
	for _, rules := range [][]Rule{s.OverDomains, s.PerNode} {
		for i := range rules {
			if !yield(&rules[i]) {
				return
			}
		}
	}
}

// HasHostAffinity reports whether the stage has affinity over the hostname.
func (s *Stage) HasHostAffinity() bool {
	return slices.ContainsFunc(s.PerNode, func(r Rule) bool { return r.Kind == topology.Affinity })
}

// maxRequired is the largest number of required node affinity terms that a stage with preferred node affinity has.
const maxRequired = 64

// compileStages sets Stages and Required of s. The verdict is the reason why no node can take the pods in this
// plan, or OK.
//
// Preferences are dropped from stage to stage in Karpenter's order: pod affinity, pod anti-affinity, node affinity, then
// spread with ScheduleAnyway. Of one kind, the preference with the largest weight is dropped first. Of preferred node
// affinity, a stage has only the heaviest term that is not dropped yet, together with at most maxRequired required ones. If there
// are PreferNoSchedule taints, a last stage tolerates them.
func compileStages(c *compiler, s *Spec, pod *model.Pod) model.Verdict {
	spec := &pod.Object.Spec
	if len(spec.ResourceClaims) > 0 {
		return model.Verdict{Rule: model.RuleUnsupported, Subject: "spec.resourceClaims (dynamic resource allocation)"}
	}
	required, no := catalog.RequiredTerms(spec)
	if !no.OK() {
		return no
	}
	s.Required = c.Intern.Terms(required)
	plain, no := withVolumes(c, s.Required, pod)
	if !no.OK() {
		return no
	}
	tolerations := c.Intern.Tolerations(spec.Tolerations)

	rules := slices.Clone(s.Rules)
	var preferred []require.Set
	if !c.Settings.IgnorePreferences {
		preferred = preferredTerms(spec)
	}
	for more := true; more; {
		stage := Stage{ID: len(s.Stages), Terms: plain, Tolerations: tolerations}
		if len(preferred) > 0 {
			var terms []require.Set
			for _, t := range plain.Terms[:min(len(plain.Terms), maxRequired)] {
				terms = append(terms, t.And(preferred[0]))
			}
			stage.Terms = c.Intern.Terms(terms)
		}
		addRules(c, &stage, s, rules)
		s.Stages = append(s.Stages, stage)
		switch {
		case dropHeaviest(&rules, topology.Affinity), dropHeaviest(&rules, topology.AntiAffinity):
		case len(preferred) > 0:
			preferred = preferred[1:]
		default:
			more = dropHeaviest(&rules, topology.Spread)
		}
	}
	if c.softTaints {
		last := *s.Last()
		last.ID, last.Tolerations = len(s.Stages), c.Intern.SoftTolerations(spec.Tolerations)
		s.Stages = append(s.Stages, last)
	}
	return model.Verdict{}
}

// dropHeaviest removes the preference of the kind with the largest weight, and of those with equal weights the first. It
// returns false if there is none.
func dropHeaviest(rules *[]topology.Rule, kind topology.Kind) bool {
	best := -1
	for i, r := range *rules {
		if r.Soft && r.Kind == kind && (best < 0 || r.Weight > (*rules)[best].Weight) {
			best = i
		}
	}
	if best >= 0 {
		*rules = slices.Delete(*rules, best, best+1)
	}
	return best >= 0
}

// preferredTerms returns the terms of preferred node affinity, by falling weight, at most maxPreferences. It omits empty ones and
// those with matchFields.
func preferredTerms(spec *corev1.PodSpec) []require.Set {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	list := slices.Clone(spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	slices.SortStableFunc(list, func(a, b corev1.PreferredSchedulingTerm) int { return cmp.Compare(b.Weight, a.Weight) })
	var out []require.Set
	for _, t := range list {
		if len(out) < maxPreferences && len(t.Preference.MatchFields) == 0 && len(t.Preference.MatchExpressions) > 0 {
			out = append(out, require.FromSelector(t.Preference.MatchExpressions))
		}
	}
	return out
}

// withVolumes returns required, narrowed to the nodes to which the pod's volumes can be attached. The verdict is not OK if
// there are none.
func withVolumes(c *compiler, required *catalog.NodeTerms, pod *model.Pod) (*catalog.NodeTerms, model.Verdict) {
	volumes, no := volume.Of(c.Snapshot, pod)
	if !no.OK() {
		return nil, no
	}
	for _, v := range volumes {
		if v.Topology == nil {
			continue
		}
		var reachable []require.Set
		for _, t := range v.Topology {
			reachable = append(reachable, t.Normalize(c.Settings.Labels.Aliases))
		}
		if required = c.Intern.IntersectTerms(required, c.Intern.Terms(reachable)); required == nil {
			return nil, model.Verdict{Rule: model.RuleVolume,
				Subject: "volume " + v.Key + " is not reachable from any node that the pod's other volumes, nodeSelector and affinity allow"}
		}
	}
	return required, model.Verdict{}
}

// addRules adds the rules to a stage of s, each with its group, and an anti-affinity rule for each host port.
func addRules(c *compiler, stage *Stage, s *Spec, rules []topology.Rule) {
	for _, rule := range rules {
		r := Rule{Rule: rule, Group: c.groupOf(&rule, s, stage.Tolerations)}
		if c.Groups[r.Group].Key == HostKey {
			stage.PerNode = append(stage.PerNode, r)
		} else {
			stage.OverDomains = append(stage.OverDomains, r)
		}
	}
	for _, q := range s.Ports {
		group := c.addGroup(portTerm, &Group{Kind: topology.AntiAffinity, Key: HostKey, Port: q, Hard: true})
		stage.PerNode = append(stage.PerNode, Rule{Rule: topology.Rule{Kind: topology.AntiAffinity, Self: true}, Group: group})
	}
	var affinity []int
	for r := range stage.Rules {
		if r.Kind == topology.Affinity && !r.Soft {
			affinity = append(affinity, r.Group)
		}
	}
	for r := range stage.Rules {
		if r.Kind == topology.Affinity && !r.Soft {
			r.Affinity = affinity
		}
	}
}

// finishStages sets the fields of each stage that depend on all groups and DaemonSets: Keys, Daemons and DaemonAffinity. It
// also removes rules by filterDaemons, narrows terms by avoidDomains, and refuses classes by refuseDaemonRules.
func finishStages(c *compiler) {
	for _, s := range c.specs {
		for i := range s.Stages {
			if len(c.Daemons) > 0 {
				filterDaemons(c, s, &s.Stages[i])
			}
			avoidDomains(c, s, &s.Stages[i])
			s.Stages[i].Keys = keysOf(c, s, &s.Stages[i])
		}
	}
	for _, class := range c.Classes {
		if class.Refused.OK() && len(c.Daemons) > 0 {
			class.Refused = refuseDaemonRules(c, class)
		}
	}
}

// keysOf returns Stage.Keys.
func keysOf(c *compiler, s *Spec, stage *Stage) []int {
	groups := slices.DeleteFunc(slices.Clone(s.Members), func(m int) bool { return !c.Groups[m].Hard || c.isAvoided(m) })
	for _, r := range stage.OverDomains {
		groups = append(groups, r.Group)
	}
	keys := []int{}
	for _, g := range groups {
		keys = append(append(keys, c.Groups[g].Key), c.Groups[g].OtherKeys...)
	}
	keys = slices.DeleteFunc(keys, func(key int) bool { return key == HostKey })
	slices.Sort(keys)
	return slices.Compact(keys)
}
