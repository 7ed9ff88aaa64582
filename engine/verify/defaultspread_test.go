package verify

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// The scheduler's default constraints apply to pods without spread constraints. Defaults with ScheduleAnyway cause no
// violation. The plan puts web-1 and web-2 on the same node.
func TestDefaultSpread(t *testing.T) {
	byHost := func(when corev1.UnsatisfiableConstraintAction) func(*model.Pod) []corev1.TopologySpreadConstraint {
		return func(p *model.Pod) []corev1.TopologySpreadConstraint {
			if p.Object.Labels["app"] != "web" {
				return nil
			}
			return []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: host, WhenUnsatisfiable: when, LabelSelector: ofApp("web")},
			}
		}
	}
	const broken = `spread: planned node 0 (default), pod default/web-1: ` +
		`with it kubernetes.io/hostname "planned node 0 (default)" may hold 2 matching pods, the emptiest domain 0: maxSkew is 1`
	own := func(st *story) {
		for _, p := range st.web {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 5, TopologyKey: host, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: ofApp("web")},
			}
		}
	}
	for name, tt := range map[string]struct {
		cluster func(*story)
		spread  func(*model.Pod) []corev1.TopologySpreadConstraint
		want    []string
	}{
		"no defaults":         {},
		"a default is broken": {spread: byHost(corev1.DoNotSchedule), want: []string{broken}},
		"a preference":        {spread: byHost(corev1.ScheduleAnyway)},
		"own constraints":     {spread: byHost(corev1.DoNotSchedule), cluster: own},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStory()
			empty := st.old.DeepCopy()
			empty.Name, empty.Spec.ProviderID = "empty", "id-empty"
			st.around.Nodes = append(st.around.Nodes, empty)
			social(func(st *story) {
				if tt.cluster != nil {
					tt.cluster(st)
				}
			})(st)
			s, plan := st.told(t)
			var got []string
			for _, v := range (Rules{DefaultSpread: tt.spread}).Plan(s, plan) {
				if v.Rule == RuleSpread && v.Pod == "default/web-1" {
					got = append(got, v.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
