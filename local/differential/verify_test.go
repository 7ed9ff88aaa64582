package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// placing are the rules of verify that kube-scheduler has too.
var placing = []verify.Rule{
	verify.RuleResources, verify.RulePorts, verify.RuleLabels, verify.RuleTaints, verify.RuleVolumes,
	verify.RuleSpread, verify.RuleAffinity, verify.RuleAntiAffinity, verify.RuleNode,
}

// sketches is how many plans are drawn for a cluster.
const sketches = 3

// What verify accepts the scheduler accepts, in some order; and what the scheduler has accepted pod by pod, verify accepts.
func TestVerifyAgrees(t *testing.T) {
	for _, strict := range []bool{true, false} {
		t.Run(fmt.Sprintf("strict=%t", strict), func(t *testing.T) {
			random.Check(t, clusters/3, func(c *scenario.Cluster) *random.Breach { return disagreement(c, strict) })
		})
	}
}

func disagreement(c *scenario.Cluster, strict bool) *random.Breach {
	c.Claims = nil // what is not launched has no labels that a scheduler could look at
	if strict {
		for i := range c.Daemons { // verify accepts no plan that relies on the pods of an uncertain DaemonSet
			c.Daemons[i].Spec.Affinity, c.Daemons[i].Spec.Containers = nil, nil
		}
	}
	invalid := func(err error) *random.Breach { return &random.Breach{Rule: "cluster", Detail: err.Error()} }
	snapshot, s, err := start(c)
	if err != nil {
		return invalid(err)
	}
	defer s.stop()
	for i := range sketches {
		k, err := newSketch(snapshot, s, rand.New(rand.NewPCG(uint64(i), 0)), strict)
		if err != nil {
			return invalid(err)
		}
		if strict {
			uncertain, err := k.world.hasUncertainDaemonSet()
			if err != nil {
				return invalid(err)
			}
			if uncertain || !k.world.complete {
				return nil
			}
		}
		rules := verify.Rules{Labels: random.Labels, DefaultSpread: defaultsOf(c)}
		b, err := dispute(rules, s, k, strict)
		if err != nil {
			return invalid(err)
		}
		if b != nil {
			return b
		}
	}
	return nil
}

// dispute returns how verify and the scheduler disagree about the sketch, if they do.
func dispute(rules verify.Rules, s *scheduler, k *sketch, strict bool) (*random.Breach, error) {
	snapshot, plan := k.world.snapshot, k.plan()
	found := rules.Plan(snapshot, plan)
	found = slices.DeleteFunc(found, func(v verify.Violation) bool { return !slices.Contains(placing, v.Rule) })
	if len(found) > 0 != strict {
		return nil, nil
	}
	w, err := newWorld(snapshot, plan, luck{})
	if err != nil {
		return nil, err
	}
	var refused map[string]*refusal
	certain := true
	if strict {
		refused, err = w.forSure(s)
	} else {
		refused, certain, err = w.anyOrder(s)
	}
	if err != nil {
		return nil, err
	}
	if strict && !w.complete {
		return nil, nil // nobody can tell how many of its daemons' pods the cluster will have
	}
	b := w.breach(refused, plan)
	switch {
	case strict && b == nil: // the sketch was accepted node by node, but with all nodes there from the start it may not be
		var all strings.Builder
		for _, v := range found {
			fmt.Fprintln(&all, v)
		}
		return &random.Breach{Rule: "verify is too strict: " + string(found[0].Rule),
			Detail: fmt.Sprintf("%splan:\n%s\n%s", &all, plan, w.explain(nil))}, nil
	case strict || b == nil:
		return nil, nil
	}
	if !certain { // another rule: what is made small must not lose itself among these
		b.Rule = "verify may be too lax, no order was found: " + b.Rule
		return b, nil
	}
	b.Rule = "verify is too lax: " + b.Rule
	return b, nil
}

// forSure lets the pods arrive in the order that verify has in mind. A node without room for all its daemons may do without those
// that are not there yet: the pods must be accepted with them and without.
func (w *world) forSure(s *scheduler) (map[string]*refusal, error) {
	refused, err := w.greedily(s)
	if err != nil || len(refused) > 0 || len(s.tight) == 0 || !w.complete {
		return refused, err
	}
	tight := s.tight
	w.daemons = slices.DeleteFunc(w.daemons, func(p *corev1.Pod) bool { return tight[p.Spec.NodeName] })
	return w.greedily(s)
}

// breach returns the first refusal as a breach, if there is any.
func (w *world) breach(refused map[string]*refusal, plan *model.Plan) *random.Breach {
	for _, p := range w.waiting {
		if r := refused[p.Namespace+"/"+p.Name]; r != nil {
			return &random.Breach{
				Rule:   "placement refused by " + r.plugin,
				Detail: fmt.Sprintf("%s\nplan:\n%s", w.explain(refused), plan),
			}
		}
	}
	return nil
}
