package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A pod that fits no node gets an event with the reason: which rule, which resource or label, in which pool. Meanwhile other
// pods get nodes. No other test runs at the same time, because an event has the reasons of few NodePools.
func TestHopelessPodsAreTold(t *testing.T) {
	s := newScene(t, "hopeless")
	s.class()
	s.pool("hopeless", needs{family("m7a")})
	s.deploy("huge", 1, "1000")
	s.deploy("typo", 1, "100m", func(p *corev1.PodSpec) { p.NodeSelector[corev1.LabelTopologyZone] = "us-east-1z" })
	s.deploy("stranger", 1, "100m", func(p *corev1.PodSpec) { p.Tolerations = nil })
	s.deploy("fine", 1, "100m")
	failed := func(prefix string) about { return about{kind: "Pod", prefix: prefix, reason: "FailedScheduling"} }
	s.awaitEvent(failed("huge-"), `NodePool "hopeless"`, "of the 1,000", "cpu")
	s.awaitEvent(failed("typo-"), `NodePool "hopeless"`, corev1.LabelTopologyZone, "us-east-1z")
	s.awaitEvent(failed("stranger-"), "does not tolerate taint", sceneKey)
	s.awaitRunning("fine", 1)
	if n := len(s.instances()); n != 1 {
		t.Errorf("%d instances, want one for the pod that fits", n)
	}
}
