package pack

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// decided returns the draft of the first attempt, before repair. It returns nil if the draft is inconsistent, because
// such a draft is not repaired.
func decided(s *model.Snapshot, o Options) *draft {
	pods := s.Pending()
	if len(pods) == 0 {
		return nil
	}
	o = o.withDefaults()
	p := compile.Compile(s, o.settings(), pods)
	a := assign.Assign(p, assign.Presets{})
	d := draftPlan(p, o, a, packNodes(p, o, a))
	if !d.isConsistent() || len(d.refused) > 0 {
		return nil
	}
	return d
}

// A plan that repair changes places all pods that were placed before, and at least one more. If verify accepted the
// plan before, it accepts the changed one.
func TestRepairOnlyAdds(t *testing.T) {
	const clusters = 600
	tried, repairs := 0, 0
	o := Options{Labels: random.Labels}
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		tried++
		c.Promise = nil
		s, err := c.Snapshot()
		if err != nil {
			return &random.Breach{Rule: "cluster", Detail: err.Error()}
		}
		d := decided(s, o)
		if d == nil {
			return nil
		}
		plan := d.plan
		if len(verify.Plan(s, plan, random.Labels)) > 0 {
			return nil
		}
		had, before := placed(plan), plan.String()
		after := repair(d)
		if after == plan {
			return nil
		}
		repairs++
		has := placed(after)
		for key := range had {
			if !has[key] {
				return &random.Breach{Rule: "displaced", Detail: fmt.Sprintf("%s had a place\n%s\n%s", key, before, after)}
			}
		}
		if len(has) <= len(had) {
			return &random.Breach{Rule: "no gain", Detail: fmt.Sprintf("%s\n%s", before, after)}
		}
		if v := verify.Plan(s, after, random.Labels); len(v) > 0 {
			return &random.Breach{Rule: string(v[0].Rule), Detail: fmt.Sprintf("%v\n%s", v, after)}
		}
		return nil
	})
	if tried >= clusters && repairs == 0 {
		t.Error("nothing was repaired in any cluster")
	}
}

// placed returns the keys of the pods that the plan places.
func placed(p *model.Plan) map[string]bool {
	out := map[string]bool{}
	for i := range p.Nodes {
		for _, pod := range p.Nodes[i].Pods {
			out[pod.Key] = true
		}
	}
	for _, pl := range p.Placements {
		for _, pod := range pl.Pods {
			out[pod.Key] = true
		}
	}
	return out
}

// BenchmarkRepair measures an unsuccessful repair. A thousand pods of a hundred applications are spread over zones. The
// limits of their pool leave capacity for most of them, and no more.
func BenchmarkRepair(b *testing.B) {
	c := &scenario.Cluster{Pools: []scenario.Pool{{Name: "default", Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1200")}}}}
	for _, cores := range []int{4, 8, 16, 32} {
		c.Types = append(c.Types, scenario.Type{
			Name: fmt.Sprintf("t%d", cores), CPU: fmt.Sprint(cores), Memory: fmt.Sprintf("%dGi", 4*cores), Price: 0.05 * float64(cores),
			Zones: []string{"a", "b", "c"},
		})
	}
	for i := range 100 {
		app := map[string]string{"app": fmt.Sprint(i)}
		c.Pods = append(c.Pods, scenario.Pod{
			Name: fmt.Sprintf("a%d", i), Count: 10, CPU: fmt.Sprintf("%dm", 500+15*i), Memory: "1Gi", Labels: app,
			Spec: corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: app},
			}}},
		})
	}
	s, err := c.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		d := decided(s, Options{Labels: random.Labels})
		b.StartTimer()
		if repair(d) != d.plan || len(d.plan.Refusals) == 0 {
			b.Fatal("all pods have a place")
		}
	}
}
