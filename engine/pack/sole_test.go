package pack_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// Of a daemon that has one pod in each zone it is known on which node that is if it runs already, or if one node alone could have it:
// those who want to be with it get the room of that node. Nobody gets any where there are several.
func TestOneNodeOfAZoneHasTheDaemon(t *testing.T) {
	const room = 3 // pods to a node
	near := func(key string) []corev1.PodAffinityTerm {
		return []corev1.PodAffinityTerm{{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		}}
	}
	agent := scenario.Pod{Name: "owner", Labels: map[string]string{"app": "agent"}, Spec: corev1.PodSpec{
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: near(corev1.LabelTopologyZone),
		}},
	}}
	running := agent
	running.Name, running.Owner = "agent", "DaemonSet" // called owner
	zones := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		c := &scenario.Cluster{
			Pools: []scenario.Pool{{Name: "default"}}, Daemons: []scenario.Pod{agent},
			Types: []scenario.Type{{Name: "m", CPU: fmt.Sprint(room), Memory: "64Gi", Price: 0.1, Zones: zones}},
		}
		want := map[string]int{}
		for _, zone := range zones {
			nodes := rapid.IntRange(0, 2).Draw(t, "nodes in "+zone)
			runs := nodes > 0 && rapid.Bool().Draw(t, "runs in "+zone)
			for i := range nodes {
				n := scenario.Node{Name: fmt.Sprintf("there-%s-%d", zone, i), Pool: "default", Type: "m", Zone: zone}
				if runs && i == 0 {
					one := running
					one.Name += "-" + zone
					n.Pods = []scenario.Pod{one}
				}
				c.Nodes = append(c.Nodes, n)
			}
			count := rapid.IntRange(0, room+2).Draw(t, "pods in "+zone)
			for i := range count {
				c.Pods = append(c.Pods, scenario.Pod{Name: fmt.Sprintf("%s-%d", zone, i), CPU: "1", Spec: corev1.PodSpec{
					NodeSelector: map[string]string{corev1.LabelTopologyZone: zone},
					Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: near(corev1.LabelHostname),
					}},
				}})
			}
			if runs || nodes < 2 {
				want[zone] = min(count, room)
			}
		}
		s := snapshot(t, c)
		plan := pack.Solve(s, pack.Options{Labels: labels})
		if v := verify.Plan(s, plan); len(v) > 0 {
			t.Fatalf("%v\nplan:\n%s", v, plan)
		}
		got := map[string]int{}
		for _, p := range plan.Order {
			zone, _, _ := strings.Cut(strings.TrimPrefix(p.Key, "default/"), "-")
			got[zone]++
		}
		for _, zone := range zones {
			if got[zone] != want[zone] {
				t.Fatalf("%d pods in zone %s, want %d; plan:\n%s", got[zone], zone, want[zone], plan)
			}
		}
	})
}
