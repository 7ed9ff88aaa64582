package scheduler_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

func TestNominatedNodeComesFirst(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("full", "4", "z"), node("empty", "4", "z"),
		pod("p1", "2", func(p *corev1.Pod) { p.Spec.NodeName = "full" }), pod("p2", "2"))
	c.nominate("p2", "full")
	c.step()
	c.wantPlaces("p1=full p2=full")
	if got := c.pod("p2").Status.NominatedNodeName; got != "" {
		t.Errorf("the bound pod is nominated to %s", got)
	}
}

func TestInfeasibleNominationIsIgnored(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("small", "1", "z"), node("big", "4", "z"), pod("p", "2"))
	c.nominate("p", "small")
	c.step()
	c.wantPlaces("p=big")
}

func TestNominatedPodsKeepTheirCapacity(t *testing.T) {
	for _, test := range []struct {
		name string
		own  int32
		want string
	}{
		{"equal", 0, "nominated= other="},
		{"higher", 1, "nominated= other=n"},
		{"lower", -1, "nominated= other="},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, 1)
			c.create(node("n", "2", "z"))
			// The node selector makes the nominated pod unschedulable, so only its nomination reserves capacity.
			c.create(pod("nominated", "2", func(p *corev1.Pod) {
				p.Spec.NodeSelector = map[string]string{"not": "there"}
			}))
			c.step()
			c.nominate("nominated", "n")
			c.create(pod("other", "2", priority(test.own)))
			c.step()
			c.wantPlaces(test.want)
		})
	}
}

func TestEndOfNominationFreesCapacity(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "2", "z"), pod("nominated", "2", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"not": "there"} }))
	c.step()
	c.nominate("nominated", "n")
	c.create(pod("other", "2"))
	c.step()
	c.wantPlaces("nominated= other=")
	c.nominate("nominated", "")
	c.step()
	c.wantPlaces("nominated= other=n")
}

func TestFailedAttemptClearsNomination(t *testing.T) {
	c := newCluster(t, 1)
	never := corev1.PreemptNever
	c.create(node("n", "1", "z"), pod("p", "2"), pod("q", "2", func(p *corev1.Pod) { p.Spec.PreemptionPolicy = &never }))
	c.nominate("p", "future")
	c.nominate("q", "future")
	c.step()
	if got := c.pod("p").Status.NominatedNodeName; got != "" {
		t.Errorf("p is nominated to %q, want to none", got)
	}
	if got := c.pod("q").Status.NominatedNodeName; got != "future" {
		t.Errorf("q, which never preempts, is nominated to %q, want future", got)
	}
}

// A nomination that is written after a failed attempt is not cleared before the next attempt, which needs an event.
func TestNominationToFutureNode(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "1", "z"), pod("p", "2"))
	c.step()
	c.nominate("p", "future")
	c.now = c.now.Add(time.Minute)
	c.step()
	if got := c.pod("p").Status.NominatedNodeName; got != "future" {
		t.Errorf("p is nominated to %q, want future", got)
	}
	c.create(node("future", "4", "z"), node("spare", "16", "z"))
	c.step()
	c.wantPlaces("p=future")
}

// When a nomination ends, only pods of equal or lower priority are tried again. For pods of higher priority, the nomination
// reserved no capacity.
func TestEndOfNominationOfLowerPriority(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "2", "z"), pod("high", "4", priority(1)),
		pod("low", "2", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"not": "there"} }))
	c.step()
	c.nominate("high", "future")
	c.nominate("low", "n")
	c.nominate("low", "")
	c.step()
	if got := c.pod("high").Status.NominatedNodeName; got != "future" {
		t.Errorf("high is nominated to %q: it was tried again", got)
	}
}

func TestUnschedulableCondition(t *testing.T) {
	c := newCluster(t, 1)
	c.create(pod("p", "2"))
	c.step()
	c.wantCondition("p", corev1.PodReasonUnschedulable, "no nodes available to schedule pods")
	c.create(node("small", "1", "z"), node("tainted", "4", "z", taint))
	c.step()
	message := "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) had untolerated taint(s)."
	since := c.wantCondition("p", corev1.PodReasonUnschedulable, message)
	version := c.pod("p").ResourceVersion

	// If the next attempt has the same result, the condition is not written again.
	c.now = c.now.Add(5 * time.Minute)
	c.step()
	if got := c.pod("p").ResourceVersion; got != version {
		t.Errorf("the condition was written again: version %s, want %s", got, version)
	}
	// If the message differs, it is written. The transition time remains, because the status is still False.
	c.create(node("too-small", "1", "z"))
	c.now = c.now.Add(5 * time.Minute)
	c.step()
	again := c.wantCondition("p", corev1.PodReasonUnschedulable,
		"0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 Insufficient memory.")
	if !again.Equal(&since) {
		t.Errorf("the condition is false since %s, want %s", again, since)
	}
	c.create(node("fits", "4", "z"))
	c.step()
	c.wantPlaces("p=fits")
}

// If a plugin restricts the candidates to named nodes before filtering, the message has one reason for all other nodes.
func TestUnschedulableOnNamedNode(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("named", "1", "z"), node("a", "8", "z"), node("b", "8", "z"), pod("p", "2", func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{
					Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"named"},
				}},
			}}},
		}}
	}))
	c.step()
	c.wantCondition("p", corev1.PodReasonUnschedulable, "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, "+
		"2 node(s) didn't satisfy plugin(s) [NodeAffinity].")
}

// wantCondition checks the condition PodScheduled, and returns since when it is false.
func (c *cluster) wantCondition(pod, reason, message string) metav1.Time {
	c.t.Helper()
	for _, cond := range c.pod(pod).Status.Conditions {
		if cond.Type == corev1.PodScheduled {
			if cond.Status != corev1.ConditionFalse || cond.Reason != reason || cond.Message != message {
				c.t.Errorf("condition of %s is %s %s %q, want False %s %q", pod, cond.Status, cond.Reason, cond.Message, reason, message)
			}
			return cond.LastTransitionTime
		}
	}
	c.t.Fatalf("%s has no condition PodScheduled", pod)
	return metav1.Time{}
}

func TestTriesAgain(t *testing.T) {
	blocked := func(t *testing.T) *cluster {
		c := newCluster(t, 1)
		c.create(node("n", "2", "z"), pod("first", "2"))
		c.step()
		c.create(pod("p", "2"))
		c.step()
		c.wantPlaces("first=n p=")
		return c
	}
	t.Run("when a node is added", func(t *testing.T) {
		c := blocked(t)
		c.create(node("o", "2", "z"))
		c.step()
		c.wantPlaces("first=n p=o")
	})
	t.Run("when a node grows", func(t *testing.T) {
		c := blocked(t)
		n, _ := kubeapi.Find[*corev1.Node](c.server, "", "n")
		n = n.DeepCopy()
		n.Status.Allocatable[corev1.ResourceCPU], n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("4"), resource.MustParse("4Gi")
		if err := c.client.Status().Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		c.step()
		c.wantPlaces("first=n p=n")
	})
	t.Run("when a pod goes", func(t *testing.T) {
		c := blocked(t)
		c.delete(c.pod("first").DeepCopy())
		c.step()
		c.wantPlaces("p=n")
	})
	t.Run("after five minutes otherwise", func(t *testing.T) {
		c := blocked(t)
		if next, want := c.step(), c.now.Add(5*time.Minute); !next.Equal(want) {
			t.Errorf("the next attempt is at %s, want %s", next, want)
		}
	})
	t.Run("when the node is replaced", func(t *testing.T) {
		c := blocked(t)
		n, _ := kubeapi.Find[*corev1.Node](c.server, "", "n")
		c.delete(n.DeepCopy())
		c.create(node("n", "4", "z"))
		c.step()
		c.wantPlaces("first=n p=n")
	})
}
