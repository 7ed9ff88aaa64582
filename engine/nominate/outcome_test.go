package nominate_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/nominate"
)

// nominatedTo returns a pending pod of the scheduler "scores" that is nominated to the node. by is the field manager that
// wrote the nomination; empty means this program. boundTo returns such a pod after its scheduler has bound it at a time.
func nominatedTo(name, node, by string) *corev1.Pod {
	o := podSpec{Name: name, Nominated: node, By: by}.object(0)
	o.Spec.SchedulerName = "scores"
	return o
}

func boundTo(o *corev1.Pod, node string, at time.Time) *corev1.Pod {
	o = o.DeepCopy()
	o.Spec.NodeName, o.Status.NominatedNodeName = node, "" // the API server clears the nomination of a bound pod
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at),
	}}
	return o
}

// with returns a snapshot of nodes and pods. The registered nodes were registered at now.
func with(nodes []node, pods ...*corev1.Pod) *model.Snapshot {
	d := model.Delta{Pods: pods}
	for _, n := range nodes {
		n.add(&d)
		if n.Stage == "registered" {
			condition.SetTrue(d.Claims[len(d.Claims)-1], apiv1.ConditionTypeRegistered, now)
		}
	}
	return model.Compile(d).At(now.Add(time.Minute))
}

func TestOutcomes(t *testing.T) {
	p := nominatedTo("p", "a", "")
	open := []node{{Name: "a", Stage: "registered"}, {Name: "b", Stage: "registered"}}
	booting := []node{{Name: "a", Stage: "joined"}, {Name: "b", Stage: "registered"}}
	for _, tt := range []struct {
		name          string
		before, after *model.Snapshot
		want          string
	}{
		{"bound as nominated", with(open, p), with(open, boundTo(p, "a", now)), "[{scores true}]"},
		{"bound elsewhere", with(open, p), with(open, boundTo(p, "b", now)), "[{scores false}]"},
		{"bound elsewhere when its node had just opened", with(booting, p), with(open, boundTo(p, "b", now)), "[{scores false}]"},
		{"bound before its node opened", with(booting, p), with(open, boundTo(p, "b", now.Add(-time.Second))), "[]"},
		{"its node is not open yet", with(booting, p), with(booting, boundTo(p, "b", now)), "[]"},
		{"its node is gone", with(open, p), with(open[1:], boundTo(p, "b", now)), "[]"},
		{"its node is cordoned", with(open, p), with([]node{{Name: "a", Stage: "registered", Cordoned: true}, open[1]}, boundTo(p, "b", now)), "[]"},
		{"nominated by another program", with(open, nominatedTo("p", "a", "kube-scheduler")), with(open, boundTo(p, "b", now)), "[]"},
		{"still pending", with(open, p), with(open, p), "[]"},
		{"gone", with(open, p), with(open), "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st, _ := nominate.Outcomes{}.Observe(tt.before)
			after, got := st.Observe(tt.after)
			if fmt.Sprint(got) != tt.want {
				t.Errorf("outcomes are %v, want %s", got, tt.want)
			}
			if _, again := after.Observe(tt.after); len(again) > 0 {
				t.Errorf("outcomes %v are counted twice", again)
			}
			if tally := st.Of("scores"); tally.Bound != 0 {
				t.Errorf("the state before has become %v", tally)
			}
		})
	}
}

// The outcome of a pod refers to its last nomination, even if the scheduler cleared the nomination before it bound the pod.
func TestOutcomeOfTheLastNomination(t *testing.T) {
	nodes := []node{{Name: "a", Stage: "registered"}, {Name: "b", Stage: "registered"}}
	cleared := nominatedTo("p", "", "")
	st := nominate.Outcomes{}
	var got []nominate.Outcome
	for _, o := range []*corev1.Pod{nominatedTo("p", "b", ""), nominatedTo("p", "a", ""), cleared, boundTo(cleared, "a", now)} {
		st, got = st.Observe(with(nodes, o))
	}
	if want := "[{scores true}]"; fmt.Sprint(got) != want {
		t.Errorf("outcomes are %v, want %s", got, want)
	}
}

// A tally of fewer than 20 pods does not show that a scheduler ignores nominations. A tally has the last 50 pods.
func TestTally(t *testing.T) {
	nodes := []node{{Name: "a", Stage: "registered"}, {Name: "b", Stage: "registered"}}
	st := nominate.Outcomes{}
	count := 0
	bind := func(n int, node string) {
		for range n {
			count++
			p := nominatedTo(fmt.Sprintf("p%d", count), "a", "")
			st, _ = st.Observe(with(nodes, p))
			st, _ = st.Observe(with(nodes, boundTo(p, node, now)))
		}
	}
	for _, step := range []struct {
		n    int
		node string
		want nominate.Tally
		is   bool
	}{
		{19, "b", nominate.Tally{Bound: 19, Elsewhere: 19}, false},
		{1, "b", nominate.Tally{Bound: 20, Elsewhere: 20}, true},
		{20, "a", nominate.Tally{Bound: 40, Elsewhere: 20}, false},
		{30, "a", nominate.Tally{Bound: 50, Elsewhere: 0}, false},
		{26, "b", nominate.Tally{Bound: 50, Elsewhere: 26}, true},
	} {
		bind(step.n, step.node)
		if got := st.Of("scores"); got != step.want || got.Ignores() != step.is {
			t.Errorf("after %d pods: %+v, ignores %v, want %+v, %v", count, got, got.Ignores(), step.want, step.is)
		}
	}
	if other := st.Of(corev1.DefaultSchedulerName); other.Bound != 0 {
		t.Errorf("another scheduler has %+v", other)
	}
}
