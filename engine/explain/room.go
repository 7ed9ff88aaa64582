package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// room returns why no type of c has room for the pod and the DaemonSets, or no available offering. It returns nil if
// one has both.
func (e *Explainer) room(pod *model.Pod, pool *model.Pool, c labelMatch) []obstacle {
	reqs := pool.Requirements.Normalize(e.labels.Aliases).And(c.term)
	var holding []*model.InstanceType
	for _, t := range c.types {
		if _, _, short := e.need(pod, pool, t, reqs).Short(t.Allocatable); short {
			continue
		}
		if _, ok := t.Cheapest(reqs); ok {
			return nil
		}
		holding = append(holding, t)
	}
	if len(holding) == 0 {
		return []obstacle{e.tooSmall(pod, pool, c.types, reqs)}
	}
	o := obstacle{rule: model.RuleOffering, why: fmt.Sprintf(
		"%s would hold it, and none is on offer", some(names(holding), " and "))}
	o.fix = elsewhere(holding, reqs, c.term, pool)
	return []obstacle{o}
}

// elsewhere returns a fix that allows the zone or capacity type of an available offering of types, empty if there is
// none. reqs are the requirements of pool and pod; term are those of the pod.
func elsewhere(types []*model.InstanceType, reqs, term require.Set, pool *model.Pool) string {
	places := []string{corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey}
	free := reqs.Without(append(places, zoneIDs(reqs)...)...)
	for _, t := range types {
		o, ok := t.Cheapest(free)
		if !ok {
			continue
		}
		var allow []string
		asked := false
		for i, value := range []string{o.Zone, o.CapacityType} {
			if r, bound := reqs.Get(places[i]); bound && !r.Has(value) {
				allow = append(allow, value+" for "+places[i])
				asked = asked || term.Has(places[i])
			}
		}
		where := "NodePool " + pool.Name
		if asked {
			where += " and in the pod"
		}
		return fmt.Sprintf("allow %s in %s", strings.Join(allow, " and "), where)
	}
	return ""
}

// zoneIDs returns the keys of the zone ID labels in reqs. They end in /zone-id, with the domain of the cloud.
func zoneIDs(reqs require.Set) []string {
	return slices.DeleteFunc(reqs.Keys(), func(key string) bool { return !strings.HasSuffix(key, "/zone-id") })
}

// need returns the requests of the pod and of the DaemonSets that run on a node of type t.
func (e *Explainer) need(pod *model.Pod, pool *model.Pool, t *model.InstanceType, reqs require.Set) model.Resources {
	sum := pod.Requests
	on := t.Requirements.And(reqs)
	for _, d := range e.snapshot.Daemons() {
		if e.runs(d, pool, on) {
			sum = sum.Plus(d.Pod.Requests)
		}
	}
	return sum
}

// runs reports whether the DaemonSet runs on nodes of the pool with the labels on.
func (e *Explainer) runs(d *model.Daemon, pool *model.Pool, on require.Set) bool {
	for _, t := range pool.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(d.Pod.Object.Spec.Tolerations, t) {
			return false
		}
	}
	return slices.ContainsFunc(e.terms(d.Pod.Object), func(term require.Set) bool {
		_, ok := on.Compatible(term, e.labels.WellKnown.Has)
		return ok
	})
}

// tooSmall returns which resources the nearest of types lacks, and a fix.
func (e *Explainer) tooSmall(pod *model.Pod, pool *model.Pool, types []*model.InstanceType, reqs require.Set) obstacle {
	nearest, gap := types[0], math.Inf(1)
	for _, t := range types {
		if d := distance(e.need(pod, pool, t, reqs), t.Allocatable); d < gap {
			nearest, gap = t, d
		}
	}
	need := e.need(pod, pool, nearest, reqs)
	less := need.Minus(nearest.Allocatable)
	o := obstacle{rule: model.RuleResources}
	var missing, amounts []string
	for _, name := range need.Names() {
		switch {
		case less[name] <= 0 || need[name] == 0:
		case nearest.Allocatable[name] <= 0:
			missing = append(missing, string(name))
		default:
			amounts = append(amounts, model.Amount(name, less[name])+" "+string(name))
		}
	}
	wider := e.larger(pod, pool, reqs)
	if len(missing) > 0 {
		o.why, o.fix = "no instance type of the pool has "+some(missing, " and ")+" and room for the pod", wider
		return o
	}
	o.why = fmt.Sprintf("no instance type of the pool is large enough: the nearest, %s, is short of %s", nearest.Name, some(amounts, " and "))
	if daemons := need.Minus(pod.Requests); daemons[corev1.ResourcePods] > 0 {
		o.why += ", daemons included"
	}
	o.fix = "ask for " + some(amounts, " and ") + " less"
	if wider != "" {
		o.fix += ", or " + wider
	}
	return o
}

// distance returns the sum over the resources of the share of need that have lacks.
func distance(need, have model.Resources) float64 {
	sum := 0.0
	for name, v := range need {
		if lack := v - max(have[name], 0); lack > 0 {
			sum += float64(lack) / float64(v)
		}
	}
	return sum
}

// larger returns a fix that allows the pool types that have room for the pod, empty if there are none.
func (e *Explainer) larger(pod *model.Pod, pool *model.Pool, reqs require.Set) string {
	var holding []*model.InstanceType
	for _, t := range e.snapshot.Types(pool.Name) {
		if _, _, short := e.need(pod, pool, t, reqs).Short(t.Allocatable); !short {
			holding = append(holding, t)
		}
	}
	return widen(holding, pool.Requirements.Normalize(e.labels.Aliases), pool)
}

func names(types []*model.InstanceType) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = t.Name
	}
	return out
}
