package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
)

// capacity returns an obstacle if no type of m is large enough for the pod and the DaemonSets. It also returns one if none of
// the types that are large enough has an available offering. Otherwise it returns nil.
func (e *Explainer) capacity(pod *model.Pod, m labelMatch) []Obstacle {
	need := e.needOf(pod, m)
	holding := need.holding(m.types)
	switch {
	case len(holding) == 0:
		return []Obstacle{m.tooSmall(pod, need)}
	case len(available(holding, m.reqs)) > 0:
		return nil
	}
	if quotas := usedUp(holding, m.reqs); len(quotas) > 0 {
		o := obstacleOf(model.Verdict{Rule: model.RuleOffering, Cause: model.CauseQuota, Subject: each(quotas)})
		if other := m.elsewhere(holding); other != "" {
			o.Fix += ", or " + other
		}
		return []Obstacle{o}
	}
	return []Obstacle{{
		rule:  model.RuleOffering,
		Why:   model.Verdict{Rule: model.RuleOffering, Subject: each(names(holding))}.String(),
		Fix:   m.elsewhere(holding),
		NoFix: "none of these instance types is available in another zone or capacity type now",
	}}
}

// usedUp returns the quotas that make the offerings of types unavailable, in alphabetical order. It returns none if an
// offering that reqs allow is unavailable for another reason, because a higher quota might not help then.
func usedUp(types []*model.InstanceType, reqs require.Set) []string {
	found := map[string]bool{}
	for _, t := range types {
		for _, o := range t.Offerings {
			if _, fits := reqs.Intersects(o.Requirements); !fits {
				continue
			}
			if o.Quota == "" {
				return nil
			}
			found[o.Quota] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// elsewhere returns a fix that allows the zone, zone ID or capacity type of an available offering of types, empty if there is
// none.
func (m labelMatch) elsewhere(types []*model.InstanceType) string {
	keys := []string{corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey}
	// The keys of zone IDs end in /zone-id, with the domain of the cloud.
	zoneIDs := slices.DeleteFunc(m.reqs.Keys(), func(key string) bool { return !strings.HasSuffix(key, "/zone-id") })
	free := m.reqs.Without(append(keys, zoneIDs...)...)
	for _, t := range types {
		o, ok := t.Cheapest(free)
		if !ok {
			continue
		}
		var allow []string
		inPod := false
		for i, value := range []string{o.Zone, o.CapacityType} {
			if r, bound := m.reqs.Get(keys[i]); bound && !r.Has(value) {
				allow = append(allow, value+" for "+keys[i])
				inPod = inPod || m.term.Has(keys[i])
			}
		}
		if len(allow) == 0 {
			allow = []string{"the zone ID of " + o.Zone}
			inPod = slices.ContainsFunc(zoneIDs, m.term.Has)
		}
		where := "NodePool " + m.pool.Name
		if inPod {
			where += " and in the pod"
		}
		return fmt.Sprintf("allow %s in %s", strings.Join(allow, " and "), where)
	}
	return ""
}

// maxOverheads bounds how many overheads an Explainer keeps. When it needs another one, it drops all of them.
const maxOverheads = 64

// A need returns the requests of a pod and of the DaemonSets that run on a node of the instance type.
type need func(*model.InstanceType) model.Resources

// needOf returns the need for nodes that meet m.reqs. The requests of the DaemonSets are computed once for all pods.
func (e *Explainer) needOf(pod *model.Pod, m labelMatch) need {
	key := m.pool.Name + " " + m.reqs.String()
	sums := e.overheads[key]
	if sums == nil {
		if e.overheads == nil || len(e.overheads) == maxOverheads {
			e.overheads = map[string]map[*model.InstanceType]model.Resources{}
		}
		sums = map[*model.InstanceType]model.Resources{}
		e.overheads[key] = sums
	}
	daemons := catalog.DaemonsTolerating(e.snapshot.Daemons(), m.pool.Taints, e.labels.Aliases)
	return func(t *model.InstanceType) model.Resources {
		sum, known := sums[t]
		if !known {
			sum = catalog.OverheadOf(daemons, t.Requirements.And(m.reqs), e.labels.WellKnown.Has).Requests
			sums[t] = sum
		}
		return pod.Requests.Plus(sum)
	}
}

// holding returns the types whose allocatable resources cover the need.
func (n need) holding(types []*model.InstanceType) []*model.InstanceType {
	return slices.DeleteFunc(slices.Clone(types), func(t *model.InstanceType) bool {
		_, _, short := n(t).Short(t.Allocatable)
		return short
	})
}

// tooSmall returns the obstacle that no type of m is large enough. It names the resources that the closest type lacks (see
// distance).
func (m labelMatch) tooSmall(pod *model.Pod, need need) Obstacle {
	nearest := slices.MinFunc(m.types, func(a, b *model.InstanceType) int {
		return cmp.Compare(distance(need(a), a.Allocatable), distance(need(b), b.Allocatable))
	})
	want := need(nearest)
	daemons := want.Minus(pod.Requests)
	o := Obstacle{rule: model.RuleResources}
	var missing, offers, most []string
	for _, name := range want.Names() {
		have := nearest.Allocatable[name]
		switch {
		case have >= want[name] || want[name] == 0:
		case have <= 0:
			missing = append(missing, string(name))
		default:
			offers = append(offers, units.Amount(name, have, units.Down)+" of the "+units.Measure(name, want[name], units.Up))
			if left := have - daemons[name]; left > 0 {
				most = append(most, units.Measure(name, left, units.Down))
			}
		}
	}
	var known bool
	o.Fix, known = m.larger(need)
	if len(missing) > 0 {
		o.Why = "no instance type that the NodePool and the selectors of the pod allow offers " + each(missing)
		if !known {
			o.NoFix = "no known instance type offers " + each(missing) + " and the other resources that the pod requests"
		}
		return o
	}
	o.Why = fmt.Sprintf("no instance type of the NodePool is large enough: the closest, %s, offers %s that the pod needs",
		nearest.Name, each(offers))
	if daemons[corev1.ResourcePods] > 0 {
		o.Why += ", including DaemonSets"
	}
	switch {
	case len(most) < len(offers) && o.Fix == "":
		o.NoFix = "DaemonSet pods use all that the instance type offers"
	case len(most) == len(offers) && o.Fix == "":
		o.Fix = "request at most " + each(most)
	case len(most) == len(offers):
		o.Fix = "request at most " + each(most) + ", or " + o.Fix
	}
	return o
}

// distance returns how far the amounts in have are below those in need: the sum over the resources of the missing
// amount divided by the needed amount.
func distance(need, have model.Resources) float64 {
	sum := 0.0
	for name, v := range need {
		if lack := v - max(have[name], 0); lack > 0 {
			sum += float64(lack) / float64(v)
		}
	}
	return sum
}

// larger returns a fix that allows types that are large enough for the pod, empty if there is none. The fix changes the
// pool if the pod's own selectors allow such types, otherwise the pod, or both. known reports whether such types exist.
func (m labelMatch) larger(need need) (fix string, known bool) {
	holding := need.holding(m.all)
	if len(holding) == 0 {
		return "", false
	}
	if fix := widen(meeting(holding, m.term), m.reqs, m.pool); fix != "" {
		return fix, true
	}
	for r := range m.term.All() {
		free := m.own.And(m.term.Without(r.Key()))
		if names := byPrice(available(holding, free), r.Key(), free); len(names) > 0 {
			return fmt.Sprintf("allow %s for %s in the nodeSelector or affinity of the pod", some(names), r.Key()), true
		}
	}
	for r := range m.term.All() {
		rest := m.term.Without(r.Key())
		if fix := widen(meeting(holding, rest), m.own.And(rest), m.pool); fix != "" {
			return fmt.Sprintf("remove %s from the nodeSelector or affinity of the pod, and %s", r.Key(), fix), true
		}
	}
	return "", true
}

func names(types []*model.InstanceType) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = t.Name
	}
	return out
}
