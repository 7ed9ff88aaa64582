package verify

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/engine/model"
)

// ordered tells the plan in which order its pods come.
func ordered(names ...string) func(*model.Plan) {
	return func(p *model.Plan) {
		all := slices.Clone(p.Nodes[0].Pods)
		for _, pl := range p.Placements {
			all = append(all, pl.Pods...)
		}
		for _, name := range names {
			i := slices.IndexFunc(all, func(o *model.Pod) bool { return o.Key == "default/"+name })
			p.Order = append(p.Order, all[i])
		}
	}
}

// Constraints of several pods hold one by one, and there must be an order in which they do together. On the planned node web-1 is
// spread over hosts with pods of its app, web-2 with all that have a revision; both are of both kinds, so each must come first if
// there is an empty node.
func TestSpreadInOrder(t *testing.T) {
	crossed := func(empty bool, skew int32) func(*story) {
		return social(func(st *story) {
			spreadBy(st.web[0], host, nil)
			spreadBy(st.web[1], host, func(c *corev1.TopologySpreadConstraint) {
				c.MaxSkew = skew
				c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "rev", Operator: metav1.LabelSelectorOpExists},
				}}
			})
			if empty {
				node := st.old.DeepCopy()
				node.Name, node.Spec.ProviderID = "empty", "id-empty"
				st.around.Nodes = append(st.around.Nodes, node)
				st.pool.Spec.Limits = nil
			}
		})
	}
	const none = "spread: planned node 0 (default), pod default/web-1: its constraints and those of others"
	for _, tt := range []spoiled{
		{name: "each must come first", cluster: crossed(true, 1), want: none},
		{name: "the plan's order changes nothing", cluster: crossed(true, 1), plan: ordered("web-3", "web-4", "web-1", "web-2"), want: none},
		{name: "one may come second", cluster: crossed(true, 2)},
		{name: "and need not in the plan", cluster: crossed(true, 2), plan: ordered("web-2", "web-1", "web-3", "web-4")},
		{name: "once there is somebody everywhere", cluster: crossed(false, 1)},
		{name: "which the plan knows", cluster: crossed(false, 1), plan: ordered("web-1", "web-4", "web-3", "web-2")},
	} {
		t.Run(tt.name, tt.run)
	}
}

// Web-2 is spread over zones with the app's pods, of which a runs two and b none: it must come once web-3 is in b, but before web-1
// comes to a. Web-3 is spread over hosts, and its own has somebody already: it must come after web-1. Nobody is bound by both.
func TestSpreadOfOthersInOrder(t *testing.T) {
	spoiled{
		cluster: social(func(st *story) {
			revised := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "rev", Operator: metav1.LabelSelectorOpExists},
			}}
			st.web[1].Labels, st.web[3].Labels["app"] = map[string]string{"app": "db"}, "db"
			st.there.Labels["rev"] = "old"
			spreadBy(st.web[1], zone, nil)
			spreadBy(st.web[2], host, func(c *corev1.TopologySpreadConstraint) { c.LabelSelector = revised })

			other := st.old.DeepCopy()
			other.Name, other.Spec.ProviderID, other.Labels[zone] = "other", "id-other", "a"
			st.around.Nodes, st.pool.Spec.Limits = append(st.around.Nodes, other), nil
			for _, name := range []string{"runs-1", "runs-2"} {
				p := newPod(name, "100m")
				p.Labels, p.Spec.NodeName, p.Status = st.web[0].Labels, "other", st.there.Status
				st.around.Pods = append(st.around.Pods, p)
			}
		}),
		want: "and no order does for all",
	}.run(t)
}

// Web-1 may be the first of its kind until web-3 comes, which is of that kind and finds its own company: the plan says who is first.
func TestFirstOfItsKindInOrder(t *testing.T) {
	cluster := social(func(st *story) {
		with(st.web[0], near(host, "web"))
		with(st.web[2], near(host, "there"))
		st.web[1].Labels, st.web[3].Labels = nil, nil
	})
	for _, tt := range []spoiled{
		{name: "before the other", cluster: cluster, plan: ordered("web-2", "web-1", "web-4", "web-3")},
		{
			name: "after the other", cluster: cluster, plan: ordered("web-2", "web-3", "web-4", "web-1"), only: true,
			want: "affinity: planned node 0 (default), pod default/web-1: cannot find",
		},
	} {
		t.Run(tt.name, tt.run)
	}
}

// Whoever is said to find a place in some order does, and an order in which all do is accepted.
func TestOrderIsThere(t *testing.T) {
	found := false
	rapid.Check(t, func(t *rapid.T) {
		all := drawArrivals(t)
		for _, a := range all {
			a.move(len(a.group.come))
		}
		left := stuck(all)
		for _, a := range all {
			a.move(-a.there)
		}
		order, ok := comeAnyhow(all, map[string]bool{})
		if !ok {
			if len(left) == 0 {
				t.Errorf("there is no order for %d arrivals", len(all))
			}
			return
		}
		found = true
		for _, a := range all {
			a.move(-a.there)
		}
		if c := (&checker{plan: &model.Plan{Order: order}}); !c.comeInOrder(all) {
			t.Errorf("an order for %d arrivals is refused", len(all))
		}
	})
	if !found {
		t.Error("there never was an order")
	}
}

// drawArrivals draws a few pods that come, and whom two or three constraints bind.
func drawArrivals(t *rapid.T) []*arrival {
	var tallies []*tally
	for range rapid.IntRange(2, 3).Draw(t, "constraints") {
		l := &tally{constraint: &constraint{spread: spread{maxSkew: rapid.IntRange(1, 2).Draw(t, "skew")}}}
		for range rapid.IntRange(2, 3).Draw(t, "domains") {
			n := rapid.IntRange(0, 1).Draw(t, "there")
			l.here, l.sure = append(l.here, n+rapid.IntRange(0, 1).Draw(t, "maybe")), append(l.sure, n)
		}
		tallies = append(tallies, l)
	}
	var all []*arrival
	for range rapid.IntRange(2, 6).Draw(t, "arrivals") {
		a := &arrival{group: &group{}}
		for range rapid.IntRange(1, 2).Draw(t, "pods") {
			a.group.come = append(a.group.come, &corev1.Pod{})
		}
		for _, l := range tallies {
			s := seat{tally: l, at: rapid.IntRange(0, len(l.here)-1).Draw(t, "domain"), sure: true}
			if rapid.Bool().Draw(t, "bound") {
				a.own = append(a.own, s)
			}
			if rapid.Bool().Draw(t, "counted") {
				a.adds = append(a.adds, s)
			}
		}
		all = append(all, a)
	}
	return all
}

// comeAnyhow has all come that are not there yet, if they can, by trying every order, and returns the one in which they did.
func comeAnyhow(all []*arrival, dead map[string]bool) ([]*model.Pod, bool) {
	key, full := "", true
	for _, a := range all {
		key += fmt.Sprint(a.there, " ")
		full = full && a.there == len(a.group.come)
	}
	if full || dead[key] {
		return nil, full
	}
	for _, a := range all {
		if a.there == len(a.group.come) {
			continue
		}
		next := &model.Pod{Object: a.group.come[a.there]}
		a.move(1)
		if a.level() {
			if rest, ok := comeAnyhow(all, dead); ok {
				return append([]*model.Pod{next}, rest...), true
			}
		}
		a.move(-1)
	}
	dead[key] = true
	return nil, false
}
