package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// awaitRunning waits until a Deployment has the given number of pods and all run, and returns them.
func (s *scene) awaitRunning(deployment string, replicas int) []corev1.Pod {
	s.t.Helper()
	var pods corev1.PodList
	s.await(&pods, func() string {
		running := 0
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp.IsZero() {
				running++
			}
		}
		if running == replicas && len(pods.Items) == replicas {
			return ""
		}
		return fmt.Sprintf("%d pods of %s, %d of them Running, want %d", len(pods.Items), deployment, running, replicas)
	}, client.InNamespace(s.name), client.MatchingLabels{"app": deployment})
	return pods.Items
}

// settled waits until there are exactly n claims, each with an initialized node, and returns the claims. Pods may run a little
// earlier.
func (s *scene) settled(n int) []apiv1.NodeClaim {
	s.t.Helper()
	var claims apiv1.NodeClaimList
	s.await(&claims, func() string {
		for i := range claims.Items {
			if c := &claims.Items[i]; !condition.Ready(c) || c.Status.NodeName == "" {
				return fmt.Sprintf("claim %s is not ready: %s", c.Name, conditions(c.Status.Conditions))
			}
		}
		if len(claims.Items) != n {
			return fmt.Sprintf("there are %d claims, want %d", len(claims.Items), n)
		}
		return ""
	}, s.mine())
	return claims.Items
}

// nodes returns the nodes of the scene.
func (s *scene) nodes() []corev1.Node {
	s.t.Helper()
	var nodes corev1.NodeList
	s.list(&nodes, s.mine())
	return nodes.Items
}

// claims returns the claims of the scene.
func (s *scene) claims() []apiv1.NodeClaim {
	s.t.Helper()
	var claims apiv1.NodeClaimList
	s.list(&claims, s.mine())
	return claims.Items
}

func (s *scene) list(list client.ObjectList, opts ...client.ListOption) {
	s.t.Helper()
	ctx, cancel := s.context()
	defer cancel()
	if err := s.List(ctx, list, opts...); err != nil {
		s.t.Fatal(err)
	}
}

// An about selects events of the controller: those with the reason about objects of the kind whose names begin with prefix.
type about struct{ kind, prefix, reason string }

func (a about) matches(e *corev1.Event) bool {
	by := e.Source.Component + e.ReportingController
	return e.InvolvedObject.Kind == a.kind && strings.HasPrefix(e.InvolvedObject.Name, a.prefix) &&
		e.Reason == a.reason && strings.Contains(by, "karpenter")
}

// awaitEvent waits for an event that a describes and whose message has all words. Events about cluster-scoped
// objects are in the default namespace.
func (s *scene) awaitEvent(a about, words ...string) {
	s.t.Helper()
	var events corev1.EventList
	s.await(&events, func() string {
		var seen []string
		for i := range events.Items {
			e := &events.Items[i]
			if !a.matches(e) {
				continue
			}
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(e.Message, w) }) {
				return ""
			}
			seen = append(seen, e.Message)
		}
		return fmt.Sprintf("no event %s about %s %s* says %q; seen %q", a.reason, a.kind, a.prefix, words, seen)
	}, s.eventsOf(a.kind))
}

func (s *scene) eventsOf(kind string) client.ListOption {
	if kind == "Pod" {
		return client.InNamespace(s.name)
	}
	return client.InNamespace(metav1.NamespaceDefault)
}

// tell logs the objects of the scene after the test has failed.
func (s *scene) tell() {
	ctx, cancel := s.context()
	defer cancel()
	lists := []struct {
		list client.ObjectList
		opts []client.ListOption
	}{
		{&corev1.PodList{}, []client.ListOption{client.InNamespace(s.name)}},
		{&apiv1.NodePoolList{}, nil}, {&awsv1.EC2NodeClassList{}, nil},
		{&apiv1.NodeClaimList{}, []client.ListOption{s.mine()}},
		{&corev1.NodeList{}, []client.ListOption{s.mine()}},
		{&corev1.EventList{}, nil},
	}
	var b strings.Builder
	for _, l := range lists {
		if err := s.List(ctx, l.list, l.opts...); err != nil {
			fmt.Fprintf(&b, "list %T: %v\n", l.list, err)
			continue
		}
		s.write(&b, l.list)
	}
	for _, i := range s.instances() {
		fmt.Fprintf(&b, "instance %s %s %s %s, node %s, console %q\n", i.ID, i.State, i.Type, i.Zone, i.Node, i.Console)
	}
	s.t.Logf("what is there:\n%s\nthe controller's last words:\n%s", b.String(), s.lastWords())
}

// write writes one line for each object of a list.
func (s *scene) write(b *strings.Builder, list client.ObjectList) {
	switch l := list.(type) {
	case *corev1.PodList:
		for _, p := range l.Items {
			fmt.Fprintf(b, "pod %s %s on %q\n", p.Name, p.Status.Phase, p.Spec.NodeName)
		}
	case *apiv1.NodePoolList:
		for _, p := range l.Items {
			fmt.Fprintf(b, "pool %s: %d nodes, %s\n", p.Name, p.Status.Nodes, conditions(p.Status.Conditions))
		}
	case *awsv1.EC2NodeClassList:
		for _, c := range l.Items {
			fmt.Fprintf(b, "class %s: %s\n", c.Name, conditions(c.Status.Conditions))
		}
	case *apiv1.NodeClaimList:
		for _, c := range l.Items {
			fmt.Fprintf(b, "claim %s of %s, deleted %v: %s\n", c.Name, c.Labels[apiv1.NodePoolLabelKey],
				c.DeletionTimestamp, conditions(c.Status.Conditions))
		}
	case *corev1.NodeList:
		for _, n := range l.Items {
			fmt.Fprintf(b, "node %s ready %v, deleted %v, taints %v\n", n.Name, ready(&n), n.DeletionTimestamp, n.Spec.Taints)
		}
	case *corev1.EventList:
		for _, e := range l.Items {
			if strings.HasPrefix(e.InvolvedObject.Name, s.name) || e.Namespace == s.name {
				fmt.Fprintf(b, "event %s %s %s: %s\n", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
			}
		}
	}
}

func conditions(list []metav1.Condition) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = c.Type + "=" + string(c.Status)
		if c.Status != metav1.ConditionTrue {
			parts[i] += " (" + c.Reason + ": " + c.Message + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// lastWords returns the last lines of the controller's log.
func (s *scene) lastWords() string {
	log, err := os.ReadFile(s.Cluster.Dir().Log(cluster.ControllerName))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}
