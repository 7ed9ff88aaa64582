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

// placing are the rules of verify that kube-scheduler also has.
var placing = []verify.Rule{
	verify.RuleResources, verify.RulePorts, verify.RuleLabels, verify.RuleTaints, verify.RuleVolumes,
	verify.RuleSpread, verify.RuleAffinity, verify.RuleAntiAffinity, verify.RuleNode,
}

// sketches is the number of plans that are drawn for a cluster.
const sketches = 3

// If verify accepts a plan, the scheduler accepts it: in the plan's order, or in some order if the plan has none. If the
// scheduler has accepted the pods one by one, verify accepts the plan.
func TestVerifyAgrees(t *testing.T) {
	for _, strict := range []bool{true, false} {
		t.Run(fmt.Sprintf("strict=%t", strict), func(t *testing.T) {
			random.Check(t, clusters/3, func(c *scenario.Cluster) *random.Breach { return disagreement(c, strict) })
		})
	}
}

func disagreement(c *scenario.Cluster, strict bool) *random.Breach {
	c.Claims = nil // a claim that is not launched has no labels for a scheduler
	if strict {
		for i := range c.Daemons { // verify accepts no plan that relies on the pods of an uncertain DaemonSet
			c.Daemons[i].Spec.Affinity, c.Daemons[i].Spec.Containers = nil, nil
		}
		for i := range c.Nodes { // verify counts pods that end on a node that is being deleted, which the world omits
			if n := &c.Nodes[i]; n.Deleting {
				n.Pods = slices.DeleteFunc(n.Pods, func(p scenario.Pod) bool { return p.Terminating })
			}
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
	plan := k.plan()
	if strict {
		return tooStrict(rules, s, k, plan)
	}
	for _, order := range [][]*model.Pod{plan.Order, nil} {
		plan.Order = order
		if len(placementViolations(rules, k, plan)) > 0 {
			continue
		}
		w, err := newWorld(k.world.snapshot, plan, luck{})
		if err != nil {
			return nil, err
		}
		certain, refused := true, map[string]*refusal(nil)
		if order != nil {
			refused, err = w.inOrder(s)
		} else {
			refused, certain, err = w.anyOrder(s)
		}
		if err != nil {
			return nil, err
		}
		if b := w.breach(refused, plan); b != nil {
			if certain {
				b.Rule = "verify is too lax: " + b.Rule
			} else { // another rule, so that a certain breach is not shrunk to an uncertain one
				b.Rule = "verify may be too lax, no order was found: " + b.Rule
			}
			return b, nil
		}
	}
	return nil, nil
}

// tooStrict returns a breach if verify rejects a plan that the scheduler accepts. The plan gets the order in which the
// scheduler accepted the pods.
func tooStrict(rules verify.Rules, s *scheduler, k *sketch, plan *model.Plan) (*random.Breach, error) {
	w, err := newWorld(k.world.snapshot, plan, luck{})
	if err != nil {
		return nil, err
	}
	accepted, err := w.acceptedOrder(s)
	if err != nil || accepted == nil || !w.complete {
		return nil, err // otherwise the number of DaemonSet pods in the cluster is not known
	}
	plan.Order = accepted
	found := placementViolations(rules, k, plan)
	if len(found) == 0 {
		return nil, nil
	}
	var all strings.Builder
	for _, v := range found {
		fmt.Fprintln(&all, v)
	}
	return &random.Breach{Rule: "verify is too strict: " + string(found[0].Rule),
		Detail: fmt.Sprintf("%splan:\n%s\n%s", &all, plan, w.explain(nil))}, nil
}

// placementViolations returns the violations of rules that kube-scheduler also has.
func placementViolations(rules verify.Rules, k *sketch, plan *model.Plan) []verify.Violation {
	found := rules.Plan(k.world.snapshot, plan)
	return slices.DeleteFunc(found, func(v verify.Violation) bool { return !slices.Contains(placing, v.Rule) })
}

// acceptedOrder returns an order in which the scheduler accepts the pods, nil if it finds none. On a node without capacity for
// the pods of all DaemonSets, the order must be accepted both with and without those pods.
func (w *world) acceptedOrder(s *scheduler) ([]*model.Pod, error) {
	if refused, err := w.greedily(s); err != nil || len(refused) > 0 {
		return nil, err
	}
	w.waiting = nil
	out := []*model.Pod{}
	for _, p := range s.pods {
		key := p.Namespace + "/" + p.Name
		known, ok := w.snapshot.Pods.Get(key)
		if _, placed := w.target[key]; !ok || !placed {
			continue
		}
		waiting, err := unbound(known)
		if err != nil {
			return nil, err
		}
		w.waiting, out = append(w.waiting, waiting), append(out, known)
	}
	if len(s.tight) == 0 || !w.complete {
		return out, nil
	}
	tight := s.tight
	w.daemons = slices.DeleteFunc(w.daemons, func(p *corev1.Pod) bool { return tight[p.Spec.NodeName] })
	refused, err := w.inOrder(s)
	if len(refused) > 0 {
		return nil, err
	}
	return out, err
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
