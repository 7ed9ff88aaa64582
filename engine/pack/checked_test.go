package pack_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// checkedCluster has an existing node with free capacity for one pod, two pools, one of them with a limit, and pods of
// three namespaces.
const checkedCluster = `
pools:
- {name: default}
- {name: limited, limits: {cpu: 8}, taints: [{key: team, effect: NoSchedule}]}
types: [{name: m.large, cpu: 2, memory: 8Gi, price: 0.10}, {name: m.xlarge, cpu: 4, memory: 16Gi, price: 0.30}]
nodes: [{name: old, pool: default, type: m.large}]
pods:
- {name: a, namespace: red, count: 3, cpu: 2}
- {name: b, namespace: green, count: 3, cpu: 2}
- {name: c, namespace: blue, count: 2, cpu: 2, spec: {tolerations: [{key: team, operator: Exists}], nodeSelector: {karpenter.sh/nodepool: limited}}}
`

func checkedSnapshot(t *testing.T) *model.Snapshot { return parsed(t, checkedCluster) }

// parsed returns the snapshot of a cluster in YAML.
func parsed(t *testing.T, text string) *model.Snapshot {
	t.Helper()
	var c scenario.Cluster
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refusedPods returns the keys of the pods that the plan refuses, in order.
func refusedPods(p *model.Plan) []string {
	var keys []string
	for _, r := range p.Refusals {
		for _, pod := range r.Pods {
			keys = append(keys, pod.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// If verify reports a violation, the node, the nodes of the pool, or the pod that it names are removed from the plan. The
// rest of the plan is kept.
func TestViolationsCostTheirPart(t *testing.T) {
	add := func(p *model.Plan, n model.PlannedNode) { p.Nodes = append(p.Nodes, n); p.Price += n.Price() }
	for _, tt := range []struct {
		name string
		// spoil changes each plan of the faulty solver.
		spoil func(s *model.Snapshot, p *model.Plan)
		// refused is the largest number of pods without a node. It may exceed the number of pods in one violation, because
		// each of the solver's plans is faulty. rule is the first violated rule.
		refused int
		rule    verify.Rule
	}{
		{"nothing is wrong", func(*model.Snapshot, *model.Plan) {}, 0, ""},
		{"a planned node claims to be cheaper than its type", func(_ *model.Snapshot, p *model.Plan) {
			p.Nodes[0].Offering.Price /= 2
			p.Price -= p.Nodes[0].Offering.Price
		}, 1, verify.RuleOffering},
		{"a planned node has no type", func(_ *model.Snapshot, p *model.Plan) { p.Nodes[1].Options = nil }, 1, verify.RuleType},
		{"a pool gets more nodes than its limit", func(s *model.Snapshot, p *model.Plan) {
			limited, _ := s.Pool("limited")
			for i := range p.Nodes {
				p.Nodes[i].Options = s.Types(limited.Name)
			}
		}, 3, ""},
		{"an existing node takes too much", func(_ *model.Snapshot, p *model.Plan) {
			last := p.Nodes[len(p.Nodes)-1]
			p.Nodes = p.Nodes[:len(p.Nodes)-1]
			p.Price -= last.Price()
			p.Placements[0].Pods = append(p.Placements[0].Pods, last.Pods...)
		}, 4, verify.RuleResources},
		{"a pod is placed twice", func(_ *model.Snapshot, p *model.Plan) { p.Nodes[0].Pods = append(p.Nodes[0].Pods, p.Nodes[1].Pods[0]) }, 4, ""},
		{"a pod is forgotten", func(_ *model.Snapshot, p *model.Plan) {
			p.Price -= p.Nodes[0].Price()
			p.Nodes = p.Nodes[1:]
		}, 1, verify.RuleAccount},
		{"the price is wrong", func(_ *model.Snapshot, p *model.Plan) { p.Price++ }, 0, verify.RulePrice},
		{"the floor is above the price", func(_ *model.Snapshot, p *model.Plan) { p.Floor = p.Price + 1 }, 0, verify.RulePrice},
		{"a node is planned twice", func(_ *model.Snapshot, p *model.Plan) { add(p, p.Nodes[0]) }, 3, verify.RuleAccount},
		{"a refusal has no reason", func(s *model.Snapshot, p *model.Plan) {
			pods := p.Nodes[0].Pods
			p.Price -= p.Nodes[0].Price()
			p.Nodes = p.Nodes[1:]
			p.Refusals = append(p.Refusals, model.Refusal{Pods: pods}, model.Refusal{})
		}, 1, verify.RuleRefusal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := checkedSnapshot(t)
			o := pack.Options{Labels: labels}
			faulty := pack.Steps{Solve: func(s *model.Snapshot, o pack.Options) *model.Plan {
				p := pack.Solve(s, o)
				tt.spoil(s, p)
				return p
			}}
			got := faulty.SolveChecked(s, o)
			if v := verify.Plan(s, got.Plan, labels); len(v) > 0 {
				t.Errorf("the plan does not hold: %v\n%s", v, got.Plan)
			}
			if refused := refusedPods(got.Plan); len(refused) > tt.refused {
				t.Errorf("refused %v, want %d at most\n%v", refused, tt.refused, got.Violations)
			}
			switch {
			case tt.name == "nothing is wrong" && len(got.Violations) > 0:
				t.Errorf("violations: %v", got.Violations)
			case tt.rule != "" && (len(got.Violations) == 0 || got.Violations[0].Rule != tt.rule):
				t.Errorf("violations: %v, want %s first", got.Violations, tt.rule)
			}
			if again := faulty.SolveChecked(s, o); again.Plan.String() != got.Plan.String() {
				t.Errorf("another plan:\n%s\nthan before:\n%s", again.Plan, got.Plan)
			}
		})
	}
}

// A plan in which each part breaks a rule is refused as a whole.
func TestNothingHolds(t *testing.T) {
	s := checkedSnapshot(t)
	for _, v := range []verify.Violation{
		{Rule: verify.RuleSpread, Detail: "no part of it"},
		{Rule: verify.RuleSpread, Node: "elsewhere", Detail: "no part of it"},
		{Rule: verify.RuleSpread, Pool: "default", Detail: "the pool's nodes"},
	} {
		checks := 0
		steps := pack.Steps{Check: func(_ *model.Snapshot, p *model.Plan) []verify.Violation {
			if checks++; len(p.Nodes)+len(p.Placements) > 0 {
				return []verify.Violation{v}
			}
			return nil
		}}
		got := steps.SolveChecked(s, pack.Options{Labels: labels})
		if len(refusedPods(got.Plan)) != 8 || len(got.Plan.Nodes) > 0 || got.Plan.Price != 0 {
			t.Errorf("%s: the plan is\n%s", v, got.Plan)
		}
		if checks > 100 {
			t.Errorf("%s: took %d checks", v, checks)
		}
	}
}

// If planning panics, the pods that cause the panic are refused, and all others are planned. If two pods only together
// cause the panic, one of them is refused.
func TestPanicCostsItsPods(t *testing.T) {
	for _, tt := range []struct {
		name string
		bad  func(seen map[string]bool) bool
		want string
	}{
		{"none", func(map[string]bool) bool { return false }, ""},
		{"one pod", func(seen map[string]bool) bool { return seen["green/b-2"] }, "green/b-2"},
		{"two pods of two namespaces", func(seen map[string]bool) bool { return seen["green/b-2"] || seen["red/a-1"] }, "green/b-2 red/a-1"},
		{"two pods together", func(seen map[string]bool) bool { return seen["green/b-2"] && seen["red/a-1"] }, "red/a-1"},
		{"a namespace", func(seen map[string]bool) bool { return seen["blue/c-1"] || seen["blue/c-2"] }, "blue/c-1 blue/c-2"},
		{"whatever is planned", func(seen map[string]bool) bool { return len(seen) > 0 },
			"blue/c-1 blue/c-2 green/b-1 green/b-2 green/b-3 red/a-1 red/a-2 red/a-3"},
		{"always", func(map[string]bool) bool { return true },
			"blue/c-1 blue/c-2 green/b-1 green/b-2 green/b-3 red/a-1 red/a-2 red/a-3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, solves := checkedSnapshot(t), 0
			steps := pack.Steps{Solve: func(s *model.Snapshot, o pack.Options) *model.Plan {
				solves++
				seen := map[string]bool{}
				for _, p := range s.Pending() {
					if o.Excluded[p.Key].OK() {
						seen[p.Key] = true
					}
				}
				if tt.bad(seen) {
					panic("the solver fails")
				}
				return pack.Solve(s, o)
			}}
			got := steps.SolveChecked(s, pack.Options{Labels: labels})
			if refused := strings.Join(refusedPods(got.Plan), " "); refused != tt.want {
				t.Errorf("refused %q, want %q", refused, tt.want)
			}
			if v := verify.Plan(s, got.Plan, labels); len(v) > 0 {
				t.Errorf("the plan does not hold: %v", v)
			}
			var blamed []string
			for _, p := range got.Panics {
				for _, pod := range p.Pods {
					blamed = append(blamed, pod.Key)
				}
				if p.Value != "the solver fails" || !strings.Contains(p.Stack, "TestPanicCostsItsPods") {
					t.Errorf("panic %q at\n%s", p.Value, p.Stack)
				}
			}
			slices.Sort(blamed)
			if strings.Join(blamed, " ") != tt.want {
				t.Errorf("blamed %q, want %q", blamed, tt.want)
			}
			if solves > 70 {
				t.Errorf("%d solves", solves)
			}
			for _, key := range blamed {
				if !strings.Contains(got.Excluded[key].Subject, "the solver fails") {
					t.Errorf("%s is left out because %q", key, got.Excluded[key])
				}
			}
		})
	}
}

// boom stands for work in another goroutine that panics.
func boom() { panic("the work fails") }

// If work in another goroutine panics, the stack is that of this goroutine.
func TestPanicOfAnotherGoroutine(t *testing.T) {
	steps := pack.Steps{Solve: func(*model.Snapshot, pack.Options) *model.Plan {
		compile.Async(func() { compile.Async(boom)() })()
		return nil
	}}
	got := steps.SolveChecked(checkedSnapshot(t), pack.Options{Labels: labels})
	if len(got.Panics) == 0 {
		t.Fatal("no panic")
	}
	for _, p := range got.Panics {
		if p.Value != "the work fails" || !strings.Contains(p.Stack, "pack_test.boom") {
			t.Errorf("panic %q at\n%s", p.Value, p.Stack)
		}
	}
}

// If pods are removed from a planned node, its requests are those of the other pods.
func TestRemovedPodsRequestNothing(t *testing.T) {
	s := parsed(t, `
pools: [{name: default}]
types: [{name: m.4xlarge, cpu: 16, memory: 64Gi, price: 0.80}]
pods: [{name: web, count: 12, cpu: 1, memory: 1Gi}]
`)
	got := pack.Steps{Check: func(_ *model.Snapshot, p *model.Plan) []verify.Violation {
		if pods := p.Nodes[0].Pods; len(pods) > 6 {
			return []verify.Violation{{Pod: pods[0].Key, Detail: "for a test"}}
		}
		return nil
	}}.SolveChecked(s, pack.Options{Labels: labels})
	n := got.Plan.Nodes[0]
	sum := model.Resources{}
	for _, p := range n.Pods {
		sum = sum.Plus(p.Requests)
	}
	if len(n.Pods) != 6 || !maps.Equal(n.Requests, sum) {
		t.Errorf("%d pods request %v, the node %v", len(n.Pods), sum, n.Requests)
	}
}

// Pods of two constraints tolerate a taint only if both do, and a third.
func TestBothTolerate(t *testing.T) {
	in := catalog.NewInterner()
	all := in.SoftTolerations([]corev1.Toleration{{Operator: corev1.TolerationOpExists}})
	none := in.SoftTolerations(nil)
	some := in.SoftTolerations([]corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}})
	taints := []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	for _, tt := range []struct {
		list    []*catalog.Tolerations
		refused bool
	}{
		{[]*catalog.Tolerations{all, some}, false}, {[]*catalog.Tolerations{all, none}, true}, {[]*catalog.Tolerations{all, none, some}, true},
		{[]*catalog.Tolerations{all, some, none}, true}, {[]*catalog.Tolerations{some, all, some}, false},
	} {
		both := tt.list[0]
		for _, other := range tt.list[1:] {
			both = in.IntersectTolerations(both, other)
		}
		if _, refused := both.Refuse(taints); refused != tt.refused {
			t.Errorf("refused %t, want %t: %v", refused, tt.refused, tt.list)
		}
	}
}

// If many pods cause a panic, the search for them is bounded, and the pods of other namespaces are planned.
func TestSearchForPanicsIsBounded(t *testing.T) {
	s, solves := parsed(t, strings.Replace(checkedCluster, "count: 3", "count: 300", 2)), 0
	got := pack.Steps{Solve: func(s *model.Snapshot, o pack.Options) *model.Plan {
		solves++
		for _, p := range s.Pending() {
			if o.Excluded[p.Key].OK() && strings.HasPrefix(p.Key, "red/") && strings.HasSuffix(p.Key, "7") {
				panic("7")
			}
		}
		return pack.Solve(s, o)
	}}.SolveChecked(s, pack.Options{Labels: labels, Fast: true})
	refused := refusedPods(got.Plan)
	if solves > 70 || len(refused) > 300 || slices.ContainsFunc(refused, func(key string) bool { return !strings.HasPrefix(key, "red/") }) {
		t.Errorf("%d solves, refused %v", solves, refused)
	}
	if v := verify.Plan(s, got.Plan, labels); len(v) > 0 {
		t.Errorf("the plan does not hold: %v", v)
	}
}

// If the check of plans panics, SolveChecked returns a plan without the parts for which it panics. If planning panics, Try
// returns a plan that refuses all pods.
func TestCheckPanics(t *testing.T) {
	s := checkedSnapshot(t)
	got := pack.Steps{Check: func(_ *model.Snapshot, p *model.Plan) []verify.Violation {
		for _, pl := range p.Placements {
			if len(pl.Pods) > 0 {
				panic("the check fails")
			}
		}
		return nil
	}}.SolveChecked(s, pack.Options{Labels: labels})
	if len(got.Panics) == 0 || len(got.Plan.Placements) > 0 {
		t.Errorf("panics %v, plan\n%s", got.Panics, got.Plan)
	}
	bad := pack.Options{Labels: labels, DefaultSpread: nil}
	if plan, failed := pack.Try(s, bad); failed != nil || len(plan.Refusals) > 0 {
		t.Errorf("%v\n%s", failed, plan)
	}
	bad.DefaultSpread = func(*model.Pod) []corev1.TopologySpreadConstraint { panic("the defaults fail") }
	if plan, failed := pack.Try(s, bad); failed == nil || len(refusedPods(plan)) != 8 {
		t.Errorf("%v\n%s", failed, plan)
	}
}
