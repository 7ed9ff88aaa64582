package sim

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// follow opens the watches of a replica that has received all events so far.
func follow(t *testing.T, w *World) {
	t.Helper()
	l := w.processes.replicas["karpenter-0"].link
	for _, path := range []string{
		"/api/v1/pods", "/api/v1/nodes", "/apis/policy/v1/poddisruptionbudgets", "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims",
	} {
		watch := w.platform.server.Serve(&kubeapi.Request{Method: http.MethodGet, Path: path, Query: url.Values{"watch": {"1"}}}).Watch
		t.Cleanup(watch.Close)
		l.open = append(l.open, &stream{link: l, watch: watch, due: time.Now()})
	}
}

// violated returns the names of the rules that are violated, each once.
func violated(w *World) (rules []string) {
	for _, v := range w.judge.violations {
		if !slices.Contains(rules, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	return rules
}

const poolOfProtection = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidateAfter: 2m, budgets: [{nodes: "100%"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
`

// A node may be disrupted voluntarily only if neither annotations nor PodDisruptionBudgets nor consolidateAfter prevent it.
func TestProtectedNodes(t *testing.T) {
	const long, short = 5 * time.Minute, time.Minute
	hold := map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
	holdFor := func(d string) map[string]string { return map[string]string{apiv1.DoNotDisruptAnnotationKey: d} }
	for _, tt := range []struct {
		name   string
		reason string
		pod    map[string]string // annotations of the pod
		node   map[string]string // annotations of the node
		budget bool              // a PodDisruptionBudget that allows no eviction
		grace  bool              // the claim has a terminationGracePeriod
		after  time.Duration     // how long after the last change the node is marked
		want   []string
	}{
		{name: "nothing protects it", reason: "Underutilized", after: long},
		{name: "held pod", reason: "Underutilized", pod: hold, after: long, want: []string{ruleProtected}},
		{name: "held pod that was just bound", reason: "Drifted", pod: hold, after: bound / 2},
		{name: "pod that is held longer", reason: "Drifted", pod: holdFor("10m"), after: long, want: []string{ruleProtected}},
		{name: "pod that was held", reason: "Drifted", pod: holdFor("3m"), after: long},
		{name: "held node", reason: "Empty", node: hold, after: long, want: []string{ruleProtected}},
		{name: "repair of a held node", reason: "Unhealthy", node: hold, pod: hold, after: long},
		{name: "budget", reason: "Drifted", budget: true, after: long, want: []string{ruleProtected}},
		{name: "budget and bounded drain", reason: "Drifted", budget: true, pod: hold, grace: true, after: long},
		{name: "held node and bounded drain", reason: "Drifted", node: hold, grace: true, after: long, want: []string{ruleProtected}},
		{name: "before consolidateAfter", reason: "Empty", after: short, want: []string{ruleConsolidateAfter}},
		{name: "drift before consolidateAfter", reason: "Drifted", after: short},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := worldWithReplica(t)
				<-time.After(relisted + bound) // virtual time
				if err := w.platform.apply(poolOfProtection); err != nil {
					t.Fatal(err)
				}
				pod := podFor("1")
				pod.Annotations, pod.Labels = tt.pod, map[string]string{"app": "web"}
				budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
				budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
				claim := claimFor(cpuRequests("1"))
				if tt.grace {
					claim.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: time.Hour}
				}
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Annotations: tt.node}}
				objects := []client.Object{node, claim, pod}
				if tt.budget {
					objects = append(objects, budget)
				}
				for _, o := range objects {
					if err := w.platform.client.Create(t.Context(), o); err != nil {
						t.Fatal(err)
					}
				}
				claim.Status.NodeName = "node"
				condition.SetTrue(claim, apiv1.ConditionTypeInitialized, time.Now())
				condition.SetTrueWithReason(claim, apiv1.ConditionTypeDisruptionReason, tt.reason, "for a test", time.Now())
				if err := w.platform.client.Status().Update(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
				target := corev1.ObjectReference{Kind: "Node", Name: "node"}
				if err := w.platform.client.SubResource("binding").Create(t.Context(), pod, &corev1.Binding{Target: target}); err != nil {
					t.Fatal(err)
				}
				started(t, w, pod)
				<-time.After(tt.after) // virtual time
				follow(t, w)
				w.processes.writer = "karpenter-0"
				node.Spec.Taints = []corev1.Taint{{Key: apiv1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
				if err := w.platform.client.Update(t.Context(), node); err != nil {
					t.Fatal(err)
				}
				if got := violated(w); fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("violated %v, want %v: %v", got, tt.want, w.judge.violations)
				}
			})
		})
	}
}

// A node that was marked may still be protected before its claim is deleted.
func TestProtectedAfterMark(t *testing.T) {
	for _, tt := range []struct {
		name, reason string
		after        time.Duration // since when the node has the annotation
		want         []string
	}{
		{"protected", "Underutilized", time.Minute, []string{ruleProtected}},
		{"just protected", "Underutilized", bound / 2, nil},
		{"repaired", "Unhealthy", time.Minute, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := worldWithReplica(t)
				claim := claimFor(cpuRequests("1"))
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
				for _, o := range []client.Object{node, claim} {
					if err := w.platform.client.Create(t.Context(), o); err != nil {
						t.Fatal(err)
					}
				}
				node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
				if err := w.platform.client.Status().Update(t.Context(), node); err != nil {
					t.Fatal(err)
				}
				claim.Status.NodeName = "node"
				condition.SetTrueWithReason(claim, apiv1.ConditionTypeDisruptionReason, tt.reason, "for a test", time.Now())
				<-time.After(time.Hour) // virtual time
				w.account.emulator.Settle()
				claim.Status.ProviderID = "aws:///us-east-1a/" + w.account.strangers[0] // any instance that runs
				w.account.strangers = nil
				if err := w.platform.client.Status().Update(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
				node.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
				if err := w.platform.client.Update(t.Context(), node); err != nil {
					t.Fatal(err)
				}
				<-time.After(tt.after) // virtual time
				follow(t, w)
				w.judge.protection.deleted("karpenter-0", claim)
				if got := violated(w); fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("violated %v, want %v: %v", got, tt.want, w.judge.violations)
				}
			})
		})
	}
}

// A drain evicts critical pods and those of DaemonSets after the others.
func TestTurnsOfPods(t *testing.T) {
	critical := func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-cluster-critical" }
	daemon := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "1", Controller: new(true)}}
	}
	tolerates := func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }
	for _, tt := range []struct {
		name       string
		pod, other func(*corev1.Pod)
		open       bool // the node takes new pods
		want       []string
	}{
		{name: "ordinary before critical", pod: func(*corev1.Pod) {}, other: critical},
		{name: "ordinary from a node that takes new pods", pod: func(*corev1.Pod) {}, other: critical, open: true, want: []string{ruleEviction}},
		{name: "critical before ordinary", pod: critical, other: func(*corev1.Pod) {}, want: []string{ruleEviction}},
		{name: "daemon before ordinary", pod: daemon, other: func(*corev1.Pod) {}, want: []string{ruleEviction}},
		{name: "daemon before critical", pod: daemon, other: critical},
		{name: "critical daemon before critical", pod: func(p *corev1.Pod) { critical(p); daemon(p) }, other: critical, want: []string{ruleEviction}},
		{name: "critical, and the other one stays", pod: critical, other: tolerates},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := worldWithReplica(t)
				addNode(t, w, "node", cpuRequests("1"))
				pods := []*corev1.Pod{podFor("1"), podFor("2")}
				for i, change := range []func(*corev1.Pod){tt.pod, tt.other} {
					change(pods[i])
					if err := w.platform.client.Create(t.Context(), pods[i]); err != nil {
						t.Fatal(err)
					}
					target := corev1.ObjectReference{Kind: "Node", Name: "node"}
					if err := w.platform.client.SubResource("binding").Create(t.Context(), pods[i], &corev1.Binding{Target: target}); err != nil {
						t.Fatal(err)
					}
				}
				<-time.After(time.Hour) // virtual time
				follow(t, w)
				if node, _ := kubeapi.Find[*corev1.Node](w.platform.server, "", "node"); !tt.open {
					node = node.DeepCopy()
					node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: "karpenter"}
					node.Spec.Taints = []corev1.Taint{apiv1.DisruptedNoScheduleTaint()}
					if err := w.platform.client.Update(t.Context(), node); err != nil {
						t.Fatal(err)
					}
				}
				claim := w.platform.claimOf("node").DeepCopy()
				claim.Finalizers = []string{"test/stays"}
				if err := w.platform.client.Update(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
				if err := w.platform.client.Delete(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
				parts := []string{"api", "v1", "namespaces", "default", "pods", pods[0].Name, "eviction"}
				w.judge.drains.call("karpenter-0", &kubeapi.Request{Method: http.MethodPost}, parts)
				if got := violated(w); fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("violated %v, want %v: %v", got, tt.want, w.judge.violations)
				}
			})
		})
	}
}

// A node class must not go before the claims that refer to it.
func TestClassesOutliveClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldWithReplica(t)
		if err := w.platform.client.Create(t.Context(), claimFor(cpuRequests("1"))); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour) // virtual time
		follow(t, w)
		w.processes.writer = "karpenter-0"
		for _, name := range []string{"other", "default"} {
			w.judge.claims.written(&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil)
			if got := len(w.judge.violations) > 0; got != (name == "default") {
				t.Errorf("class %s goes: violations %v", name, w.judge.violations)
			}
		}
	})
}

// started notes in the status of a pod that it started now.
func started(t *testing.T, w *World, pod *corev1.Pod) {
	if err := w.platform.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	now := metav1.Now()
	pod.Status.StartTime = &now
	if err := w.platform.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}
