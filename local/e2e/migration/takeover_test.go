package migration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// A cluster of upstream has two nodes that its pods fill, one node that has drifted and must not be disrupted, and a pool of
// EKS Auto Mode with a node and a claim. Upstream is the leader, and this project's controller waits. Upstream ends without
// releasing the lease. This project's controller takes over, and no node is replaced. After that it launches nodes for new
// pods, and detects drift after a change.
func TestTakeOverFromUpstream(t *testing.T) {
	p := here
	p.put(t, upstreamClass())
	pool, held := upstreamPool("default"), upstreamPool("held", apiv1.Budget{Nodes: "0"})
	p.put(t, pool, held)
	nodes := []upstreamNode{
		p.upstreamNode(t, pool, "default-aaaaa"), p.upstreamNode(t, pool, "default-bbbbb"), p.upstreamNode(t, held, "held-ccccc"),
	}
	for _, n := range nodes {
		p.fill(t, n)
	}
	p.drift(t, nodes[2])
	auto := p.autoMode(t)
	upstream := p.leadAsUpstream(t)

	before, mark := p.state(t), p.now(t)
	p.start(t)
	p.Poll(t, func(context.Context) string {
		if strings.Contains(p.Log(), "Attempting to acquire leader lease") {
			return ""
		}
		return "our controller does not ask for the lease"
	})
	upstream.renewals(t, 3)
	if after := p.state(t); !maps.Equal(before, after) {
		t.Errorf("while upstream leads, objects change:\n%s", changes(before, after))
	}
	p.noLaunchNorEnd(t, mark)

	upstream.die()
	p.Poll(t, func(context.Context) string { return p.stamped(nodes[:2]) })
	p.passes(t, 1)
	p.kept(t, nodes, mark)
	for _, o := range auto {
		if now := p.version(t, o); now != o.GetResourceVersion() {
			t.Errorf("%T %s of Auto Mode was written to", o, o.GetName())
		}
	}
	p.stillDrifted(t, nodes[2])

	p.launchesForNewPods(t, pool)
	p.seesDrift(t, nodes[:2])
}

// fill creates a pod on a node that leaves no capacity for another such pod.
func (p *place) fill(t *testing.T, n upstreamNode) {
	t.Helper()
	p.put(t, pod("on-"+n.claim.Name, map[string]string{"kubernetes.io/hostname": n.node.Labels["kubernetes.io/hostname"]}, "1500m"))
	p.Poll(t, func(context.Context) string { return p.notRunning(t, "on-"+n.claim.Name) })
}

func (p *place) notRunning(t *testing.T, name string) string {
	t.Helper()
	var got corev1.Pod
	if err := p.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Namespace: "default", Name: name}, &got); err != nil {
		return err.Error()
	}
	if got.Status.Phase != corev1.PodRunning {
		return fmt.Sprintf("pod %s is %s on %q: %v", name, got.Status.Phase, got.Spec.NodeName, got.Status.Conditions)
	}
	return ""
}

// pod returns a pod with the CPU request, the node selector and the tolerations.
func pod(name string, labels map[string]string, cpu string, tolerations ...corev1.Toleration) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			NodeSelector: labels, Tolerations: tolerations, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Mi")},
			}}},
		},
	}
}

// drift sets the condition Drifted of a claim, as upstream had set it, and an old hash.
func (p *place) drift(t *testing.T, n upstreamNode) {
	t.Helper()
	p.annotate(t, n.claim, map[string]string{poolHashKey: "1111111111111111111"})
	before := n.claim.DeepCopy()
	n.claim.Status.Conditions = append(n.claim.Status.Conditions, metav1.Condition{
		Type: "Drifted", Status: "True", Reason: "NodePoolDrifted", Message: "NodePoolDrifted", LastTransitionTime: metav1.Now(),
	})
	if err := p.Status().Patch(t.Context(), n.claim, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func (p *place) annotate(t *testing.T, o client.Object, annotations map[string]string) {
	t.Helper()
	before := o.DeepCopyObject().(client.Object)
	merged := maps.Clone(o.GetAnnotations())
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, annotations)
	o.SetAnnotations(merged)
	if err := p.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// autoMode creates the objects of EKS Auto Mode, and a pending pod for it.
func (p *place) autoMode(t *testing.T) []client.Object {
	t.Helper()
	ref := &apiv1.NodeClassReference{Group: "eks.amazonaws.com", Kind: "NodeClass", Name: "default"}
	pool := upstreamPool("general-purpose")
	pool.Annotations = nil
	pool.Spec.Template.Spec.NodeClassRef = ref
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: "eks.amazonaws.com/instance-category", Operator: "In", Values: []string{"c", "m", "r"}},
	}
	p.put(t, pool)
	labels := map[string]string{"karpenter.sh/nodepool": pool.Name, "eks.amazonaws.com/nodeclass": "default", "eks.amazonaws.com/compute-type": "auto"}
	claim := upstreamClaim(pool, "general-purpose-ddddd", labels, nil)
	p.put(t, claim)
	claim.Status.ProviderID, claim.Status.NodeName = "aws:///us-east-1a/i-0aaaabbbbccccdddd", "i-0aaaabbbbccccdddd"
	if err := p.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Status.NodeName, Labels: maps.Clone(labels), Finalizers: []string{claimFinalizer}},
		Spec:       corev1.NodeSpec{ProviderID: claim.Status.ProviderID},
	}
	node.Labels["karpenter.sh/registered"], node.Labels["karpenter.sh/initialized"] = "true", "true"
	p.put(t, node)
	p.put(t, pod("for-auto-mode", map[string]string{"eks.amazonaws.com/compute-type": "auto"}, "1"))
	// The Node is not returned, because controllers of Kubernetes change a node without a heartbeat.
	return []client.Object{pool, claim}
}

func (p *place) version(t *testing.T, o client.Object) string {
	t.Helper()
	now := o.DeepCopyObject().(client.Object)
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
		t.Fatal(err)
	}
	return now.GetResourceVersion()
}

// state returns the resource version of every object of Karpenter's kinds, by name.
func (p *place) state(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, list := range []client.ObjectList{&apiv1.NodePoolList{}, &apiv1.NodeClaimList{}, &awsv1.EC2NodeClassList{}} {
		if err := p.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, o := range objectsOf(list) {
			out[fmt.Sprintf("%T %s", o, o.GetName())] = o.GetResourceVersion()
		}
	}
	return out
}

func objectsOf(list client.ObjectList) (out []client.Object) {
	switch l := list.(type) {
	case *apiv1.NodePoolList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *apiv1.NodeClaimList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *awsv1.EC2NodeClassList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	}
	return out
}

func changes(before, after map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			fmt.Fprintf(&b, "%s: %q is %q now\n", name, before[name], after[name])
		}
	}
	return b.String()
}

// A leader holds the lease as upstream's controller does.
type leader struct {
	p   *place
	die context.CancelFunc
}

// leadAsUpstream takes the lease and renews it until die is called. die does not release the lease, as after a crash.
func (p *place) leadAsUpstream(t *testing.T) leader {
	t.Helper()
	config, err := p.Cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, cluster.Namespace, leaseName, nil,
		kubernetes.NewForConfigOrDie(config).CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: "karpenter-7c9d8f6b5-x2x4z_4dbb1a4e-upstream"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, die := context.WithCancel(context.WithoutCancel(t.Context()))
	leads, over := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { defer close(over); elector.Run(ctx) }()
	t.Cleanup(func() { die(); <-over })
	select {
	case <-leads:
	case <-over:
		t.Fatal("the stand-in for upstream does not lead")
	}
	return leader{p: p, die: die}
}

// renewals waits until the lease is renewed n more times.
func (l leader) renewals(t *testing.T, n int) {
	t.Helper()
	seen := map[string]bool{}
	l.p.Poll(t, func(context.Context) string {
		seen[l.p.lease(t)] = true
		if len(seen) > n {
			return ""
		}
		return fmt.Sprintf("the lease was seen renewed %d times, want %d", len(seen)-1, n)
	})
}

// lease returns the holder of the leader's lease and the time of its last renewal.
func (p *place) lease(t *testing.T) string {
	t.Helper()
	out, err := p.kubectl(t, "", "get", "lease", "-n", cluster.Namespace, leaseName, "-o", "jsonpath={.spec.holderIdentity} {.spec.renewTime}")
	if err != nil {
		t.Fatalf("read lease: %v: %s", err, out)
	}
	return out
}

// stamped returns a claim that this project's controller has not taken over yet, "" if there is none.
func (p *place) stamped(nodes []upstreamNode) string {
	for _, n := range nodes {
		var claim apiv1.NodeClaim
		if err := p.Get(context.Background(), client.ObjectKeyFromObject(n.claim), &claim); err != nil {
			return err.Error()
		}
		if v := claim.Annotations[classHashVersionKey]; v == classVersion {
			return fmt.Sprintf("claim %s still has the hash version %s", claim.Name, v)
		}
	}
	var class awsv1.EC2NodeClass
	if err := p.Get(context.Background(), client.ObjectKey{Name: "default"}, &class); err != nil {
		return err.Error()
	}
	if !condition.Ready(&class) {
		return fmt.Sprintf("the node class is not ready: %v", class.Status.Conditions)
	}
	return ""
}

// passes waits until this project's controller has searched for instances without a claim n more times. It does so between all
// its other work.
func (p *place) passes(t *testing.T, n int) {
	t.Helper()
	mark := p.now(t)
	p.Poll(t, func(context.Context) string {
		seen := 0
		for _, c := range p.calls(t, mark) {
			if c.Action == "DescribeInstances" && strings.Contains(fmt.Sprint(c.Params), "tag-key") {
				seen++
			}
		}
		if seen >= n {
			return ""
		}
		return fmt.Sprintf("the controller listed its instances %d times, want %d", seen, n)
	})
}

// noLaunchNorEnd checks that no instance was launched or terminated since mark.
func (p *place) noLaunchNorEnd(t *testing.T, mark int64) {
	t.Helper()
	for _, c := range p.calls(t, mark) {
		switch c.Action {
		case "CreateFleet", "RunInstances", "TerminateInstances":
			if c.Params["DryRun"] != "true" {
				t.Errorf("call %d: %s %v", c.Seq, c.Action, c.Params)
			}
		}
	}
}

// kept checks that the nodes, their claims and instances are the same as before, and that there are no others.
func (p *place) kept(t *testing.T, nodes []upstreamNode, mark int64) {
	t.Helper()
	p.noLaunchNorEnd(t, mark)
	var claims apiv1.NodeClaimList
	if err := p.List(t.Context(), &claims, client.MatchingLabels{"karpenter.k8s.aws/ec2nodeclass": "default"}); err != nil {
		t.Fatal(err)
	}
	if len(claims.Items) != len(nodes) {
		t.Errorf("there are %d claims, want the %d of upstream", len(claims.Items), len(nodes))
	}
	for _, n := range nodes {
		var claim apiv1.NodeClaim
		var node corev1.Node
		for o, name := range map[client.Object]string{&claim: n.claim.Name, &node: n.node.Name} {
			if err := p.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
				t.Fatal(err)
			}
			if o.GetDeletionTimestamp() != nil {
				t.Errorf("%T %s is being deleted", o, o.GetName())
			}
		}
		if claim.UID != n.claim.UID || node.UID != n.node.UID || claim.Generation != n.claim.Generation {
			t.Errorf("claim %s or node %s is another one", claim.Name, node.Name)
		}
		if len(node.Spec.Taints) != 0 {
			t.Errorf("node %s has taints %v", node.Name, node.Spec.Taints)
		}
		if drifted := condition.IsTrue(&claim, apiv1.ConditionTypeDrifted); drifted != (n.claim.Labels["karpenter.sh/nodepool"] == "held") {
			t.Errorf("claim %s drifted: %v", claim.Name, claim.Status.Conditions)
		}
		if got := claim.Annotations[poolHashVersionKey]; got != "v3" {
			t.Errorf("claim %s has the pool's hash version %q, want upstream's v3", claim.Name, got)
		}
	}
}

// stillDrifted checks that a claim that upstream has marked as drifted keeps its old hash.
func (p *place) stillDrifted(t *testing.T, n upstreamNode) {
	t.Helper()
	var claim apiv1.NodeClaim
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(n.claim), &claim); err != nil {
		t.Fatal(err)
	}
	if got := claim.Annotations[poolHashKey]; got != "1111111111111111111" {
		t.Errorf("the hash of drifted claim %s became %q", claim.Name, got)
	}
}

// launchesForNewPods checks that the controller, which has changed nothing before, launches a node for a new pod.
func (p *place) launchesForNewPods(t *testing.T, pool *apiv1.NodePool) {
	t.Helper()
	p.put(t, pod("new", map[string]string{"karpenter.sh/nodepool": pool.Name}, "1500m"))
	p.Poll(t, func(context.Context) string { return p.notRunning(t, "new") })
	p.endLaunched(t)
}

// endLaunched deletes the claims that this project's controller has created, and waits until their nodes are gone.
func (p *place) endLaunched(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	p.Poll(t, func(context.Context) string {
		var claims apiv1.NodeClaimList
		if err := p.List(ctx, &claims); err != nil {
			return err.Error()
		}
		left := ""
		for i := range claims.Items {
			claim := &claims.Items[i]
			if claim.Annotations["ext.karpenter.sh/launch"] == "" {
				continue // a claim of upstream
			}
			left = "claim " + claim.Name + " is still there"
			if claim.DeletionTimestamp == nil {
				if err := p.Delete(ctx, claim); err != nil {
					return err.Error()
				}
			}
		}
		return left
	})
}

// seesDrift changes the node class and waits until the claims of upstream are drifted. The budget of the pool prevents that
// they are replaced.
func (p *place) seesDrift(t *testing.T, nodes []upstreamNode) {
	t.Helper()
	merge := func(o client.Object, patch string) {
		if err := p.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	merge(&apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, `{"spec":{"disruption":{"budgets":[{"nodes":"0"}]}}}`)
	merge(&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, `{"spec":{"tags":{"team":"other"}}}`)
	p.Poll(t, func(context.Context) string {
		for _, n := range nodes {
			var claim apiv1.NodeClaim
			if err := p.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(n.claim), &claim); err != nil {
				return err.Error()
			}
			if c := condition.Get(&claim, apiv1.ConditionTypeDrifted); c == nil || c.Reason != "NodeClassDrift" {
				return fmt.Sprintf("claim %s is not drifted by its class: %v", claim.Name, claim.Status.Conditions)
			}
		}
		return ""
	})
}
