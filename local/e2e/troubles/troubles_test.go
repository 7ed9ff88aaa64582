package troubles

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// A trouble is a cluster with one obstacle.
type trouble struct {
	name string
	// pool has more fields of spec of the NodePool, and template more fields of its template's spec. They are lines of YAML
	// with the right indent. meta has more fields of the NodePool's metadata, and class of the spec of its node class.
	pool, template, meta, class string
	// capacity makes offerings unavailable.
	capacity *control.Capacity
	// pod has more fields of the spec of pod shop/web, in YAML's flow style.
	pod string
	// more are further manifests.
	more string
	// node is true if the trouble is that the node with pod shop/db is kept. Otherwise it is that shop/web is refused.
	node bool
	// onDB has more fields of the metadata of pod shop/db, in YAML's flow style.
	onDB string
	// why and fix are parts of the sentence and of the fix. rule is the label of the metrics.
	why, fix, rule string
}

// twelve are the twelve kinds of trouble.
func twelve() []trouble {
	now := time.Now().UTC()
	return []trouble{
		{
			name: "taint", template: "      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]\n",
			why: "does not tolerate taint nvidia.com/gpu:NoSchedule", rule: "taint",
			fix: "add the toleration {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule} to the pod",
		},
		{
			name: "architecture", pod: ", nodeSelector: {kubernetes.io/arch: arm64}",
			why: "requires kubernetes.io/arch in [arm64], but the NodePool allows [amd64]", rule: "labels",
			fix: "add arm64 to requirement kubernetes.io/arch of NodePool default",
		},
		{
			name: "zone of a volume", pod: ", volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]",
			more: volumeIn("us-east-1z"), why: "a volume of the pod is in another zone", rule: "labels",
			fix: "allow the zone of the volume in NodePool default and in its node class, or move the volume",
		},
		{
			name: "limit of the NodePool", pool: "  limits: {cpu: 1}\n",
			why: "would exceed spec.limits.cpu of the NodePool", fix: "raise spec.limits.cpu of NodePool default to at least 2", rule: "limit",
		},
		{
			name: "no capacity", pod: ", nodeSelector: {node.kubernetes.io/instance-type: m5.2xlarge}",
			capacity: &control.Capacity{Pool: control.Pool{Type: "m5.2xlarge", Zone: "*", Capacity: "*"}},
			why:      "no available offering for m5.2xlarge", fix: "allow spot for karpenter.sh/capacity-type in NodePool default", rule: "capacity",
		},
		{
			name: "affinity to nothing", pod: ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
				"[{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: missing}}}]}}",
			why: "no domain satisfies pod affinity over topology.kubernetes.io/zone", rule: "topology",
			fix: "create pods that match the labelSelector of the affinity first",
		},
		{
			name: "node class not ready", class: "missing", why: "is not ready", rule: "nodepool",
			fix: "kubectl describe nodepool default, see the conditions",
		},
		{
			name: "PodDisruptionBudget", node: true, rule: "pdb", more: `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {namespace: shop, name: db}
spec: {minAvailable: 1, selector: {matchLabels: {app: db}}}
`, why: "PodDisruptionBudget shop/db allows no further disruption (pod shop/db", fix: "run more replicas than the PodDisruptionBudget needs",
		},
		{
			name: "window of a budget", node: true, rule: "budget",
			pool: fmt.Sprintf("  disruption: {consolidateAfter: 0s, budgets: [{nodes: \"0\", schedule: %q, duration: 8h}]}\n",
				fmt.Sprintf("%d %d * * *", now.Minute(), now.Hour())),
			why: `disruption budget of NodePool "default" is used up (nodes: "0")`,
			fix: `allow nodes in spec.disruption.budgets of NodePool "default", or wait until ` +
				now.Truncate(time.Minute).Add(8*time.Hour).Format("2006-01-02 15:04 UTC"),
		},
		{
			name: "do-not-disrupt", node: true, rule: "do_not_disrupt", onDB: `, annotations: {karpenter.sh/do-not-disrupt: "true"}`,
			why: "has annotation karpenter.sh/do-not-disrupt", fix: "remove the annotation",
		},
		{
			name: "a price that does not pay back", node: true, rule: "payback",
			meta: `, annotations: {ext.karpenter.sh/eviction-cost: "100"}`,
			why:  "within the payback period", fix: `raise annotation ext.karpenter.sh/payback-period of NodePool "default"`,
		},
		{ // the last, because the quota concerns all types and stays used up for some minutes
			name: "quota", pod: ", nodeSelector: {node.kubernetes.io/instance-type: m5.4xlarge}",
			capacity: &control.Capacity{Pool: control.Pool{Type: "m5.4xlarge", Zone: "*", Capacity: "on-demand"}, Code: "VcpuLimitExceeded"},
			why:      "the account's quota of on-demand vCPUs for Standard (A, C, D, H, I, M, R, T, Z) instances is used up", rule: "capacity",
			fix: "raise the quota, or allow spot for karpenter.sh/capacity-type in NodePool default",
		},
	}
}

// volumeIn returns a claim and its volume in a zone.
func volumeIn(zone string) string {
	return `---
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  claimRef: {namespace: shop, name: data}
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [` + zone + `]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data}
spec: {volumeName: data, storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
}

// manifests returns the node class and the NodePool default, and the other manifests of the trouble.
func (x trouble) manifests() string {
	subnets := cluster.Name
	if x.class != "" {
		subnets = x.class
	}
	pool := x.pool
	if !strings.Contains(pool, "disruption:") {
		pool += "  disruption: {consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]}\n"
	}
	return `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: KarpenterNodeRole-local
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: ` + subnets + `}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: ` + cluster.Name + `}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default` + x.meta + `}
spec:
` + pool + `  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m5.xlarge, m5.2xlarge, m5.4xlarge]}
` + x.template + x.more
}

// pod returns the manifest of a pod in namespace shop, with more fields of its metadata and its spec.
func pod(name, cpu, metadata, spec string) string {
	return `---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: shop, name: ` + name + `}
spec:
  replicas: 1
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + `}` + metadata + `}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: pause, resources: {requests: {cpu: ` + cpu + `}}}]` + spec + `}
`
}

// Each trouble has one correct sentence and one correct fix, the same in karpenter explain, the event, karpenter top and the
// metrics.
func TestTwelveTroubles(t *testing.T) {
	kubectl(t, "", "create", "namespace", "shop")
	for _, x := range twelve() {
		t.Run(x.name, func(t *testing.T) {
			t.Cleanup(func() { clean(t, x) })
			if x.capacity != nil {
				if err := here.Steer().SetCapacity(t.Context(), *x.capacity); err != nil {
					t.Fatal(err)
				}
			}
			kubectl(t, x.manifests(), "apply", "-f", "-")
			if x.node {
				x.checkNode(t)
			} else {
				x.checkPod(t)
			}
			here.Poll(t, func(ctx context.Context) string { return x.missingMetric(ctx, t) })
		})
	}
}

// checkPod creates pod shop/web and compares the texts about it.
func (x trouble) checkPod(t *testing.T) {
	kubectl(t, pod("web", "1", "", x.pod), "apply", "-f", "-")
	var event string
	var name string
	here.Poll(t, func(ctx context.Context) string {
		var err error
		event, name, err = x.event(ctx, "Pod", "", "FailedScheduling")
		return textOf(err)
	})
	var said struct {
		Reasons []struct{ Why, Fix string }
	}
	here.Poll(t, func(context.Context) string { // the controller publishes unavailable offerings a few seconds after its event
		said.Reasons = nil
		karpenter(t, &said, "explain", "pod", name, "-n", "shop", "-o", "json")
		return unless(len(said.Reasons) == 1 && strings.Contains(said.Reasons[0].Why, x.why), "explain has reasons %+v, want one with %q", said.Reasons, x.why)
	})
	var shown struct {
		Pending []struct{ Reason, Fix string }
	}
	karpenter(t, &shown, "top", "--once", "-o", "json")
	if len(shown.Pending) != 1 {
		t.Fatalf("top shows pending pods %+v, want one", shown.Pending)
	}
	x.compare(t, event, said.Reasons[0].Why, said.Reasons[0].Fix, shown.Pending[0].Reason, shown.Pending[0].Fix)
}

// checkNode makes a node that is larger than its pod shop/db needs, and compares the texts about it.
func (x trouble) checkNode(t *testing.T) {
	kubectl(t, pod("db", "1", x.onDB, "")+pod("large", "2", `, annotations: {karpenter.sh/do-not-disrupt: "true"}`, ""), "apply", "-f", "-")
	var nodes corev1.NodeList
	here.Poll(t, func(ctx context.Context) string {
		var pods corev1.PodList
		if err := here.List(ctx, &pods, client.InNamespace("shop")); err != nil {
			return err.Error()
		}
		on := map[string]int{}
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning {
				on[pods.Items[i].Spec.NodeName]++
			}
		}
		if err := here.List(ctx, &nodes, client.HasLabels{apiv1.NodePoolLabelKey}); err != nil {
			return err.Error()
		}
		return unless(len(on) == 1 && len(nodes.Items) == 1 && on[nodes.Items[0].Name] == 2, "pods run on %v, want both on one node", on)
	})
	kubectl(t, "", "delete", "replicaset", "-n", "shop", "large", "--wait=true")
	node := nodes.Items[0].Name
	var event string
	here.Poll(t, func(ctx context.Context) string {
		var err error
		if x.rule == "budget" { // budgets are the NodePool's, so there is one event and not one for each node
			event, _, err = x.event(ctx, "NodePool", "default", "DisruptionBlocked")
		} else {
			event, _, err = x.event(ctx, "Node", node, "DisruptionBlocked", "Unconsolidatable")
		}
		return textOf(err)
	})
	var said struct{ Reason, Fix string }
	karpenter(t, &said, "explain", "node", node, "-o", "json")
	var shown struct {
		Nodes []struct{ Name, Rule, Reason, Fix string }
	}
	karpenter(t, &shown, "top", "--once", "-o", "json")
	if len(shown.Nodes) != 1 || shown.Nodes[0].Rule != x.rule {
		t.Fatalf("top shows nodes %+v, want one with rule %s", shown.Nodes, x.rule)
	}
	x.compare(t, event, said.Reason, said.Fix, shown.Nodes[0].Reason, shown.Nodes[0].Fix)
}

// compare fails the test unless all texts say the same.
func (x trouble) compare(t *testing.T, event, why, fix, topWhy, topFix string) {
	t.Helper()
	if !strings.Contains(why, x.why) || !strings.Contains(fix, x.fix) {
		t.Errorf("explain says %q (fix: %s), want %q (fix: %s)", why, fix, x.why, x.fix)
	}
	if !strings.Contains(event, why) || !strings.Contains(event, "fix: "+fix) {
		t.Errorf("the event says %q, explain %q (fix: %s)", event, why, fix)
	}
	if !strings.HasSuffix(topWhy, why) || topFix != fix {
		t.Errorf("top says %q (fix: %s), explain %q (fix: %s)", topWhy, topFix, why, fix)
	}
}

// event returns the message of an event of the controller with one of the reasons that contains x.why, and the name of its
// object. If there is none, it returns the messages of the other events about such objects as an error.
func (x trouble) event(ctx context.Context, kind, name string, reasons ...string) (message, object string, err error) {
	var events corev1.EventList
	if err := here.List(context.WithoutCancel(ctx), &events); err != nil { // when ctx ends, the last result is the message
		return "", "", err
	}
	var others []string
	for i := range events.Items {
		e := &events.Items[i]
		switch {
		case e.InvolvedObject.Kind != kind || name != "" && e.InvolvedObject.Name != name:
		case slices.Contains(reasons, e.Reason) && strings.Contains(e.Message, x.why):
			return e.Message, e.InvolvedObject.Name, nil
		default:
			others = append(others, e.Reason+": "+e.Message)
		}
	}
	return "", "", fmt.Errorf("no event about %s %s says %q, there are %q", kind, name, x.why, others)
}

// missingMetric returns what is missing until the metric of the trouble has a sample with the trouble's rule.
func (x trouble) missingMetric(ctx context.Context, t *testing.T) string {
	t.Helper()
	metric := "karpenter_scheduler_unschedulable_pods_by_rule_count"
	if x.node {
		metric = "karpenter_voluntary_disruption_unrealized_savings_dollars_per_hour"
	}
	recorded, err := here.Cluster.Dir().Load()
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+recorded.Address("karpenter-metrics")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	var seen []string
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, metric+"{") || strings.HasSuffix(line, " 0") {
			continue
		}
		if strings.Contains(line, `rule="`+x.rule+`"`) {
			return ""
		}
		seen = append(seen, line)
	}
	return fmt.Sprintf("no sample of %s has rule %s, there are %v", metric, x.rule, seen)
}

// clean removes everything of the trouble.
func clean(t *testing.T, x trouble) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if x.capacity != nil {
		if err := here.Steer().ClearCapacity(ctx, x.capacity.Pool); err != nil {
			t.Error(err)
		}
	}
	shop := client.InNamespace("shop")
	for _, all := range []struct {
		object client.Object
		opts   []client.DeleteAllOfOption
	}{
		{&policyv1.PodDisruptionBudget{}, []client.DeleteAllOfOption{shop}},
		{&appsv1.ReplicaSet{}, []client.DeleteAllOfOption{shop}},
		{&corev1.Pod{}, []client.DeleteAllOfOption{shop, client.GracePeriodSeconds(0)}},
		{&corev1.PersistentVolumeClaim{}, []client.DeleteAllOfOption{shop}},
		{&corev1.PersistentVolume{}, nil},
		{&apiv1.NodePool{}, nil}, {&apiv1.NodeClaim{}, nil}, {&awsv1.EC2NodeClass{}, nil},
		{&corev1.Event{}, []client.DeleteAllOfOption{shop}},
		{&corev1.Event{}, []client.DeleteAllOfOption{client.InNamespace(metav1.NamespaceDefault)}},
	} {
		if err := here.DeleteAllOf(ctx, all.object, all.opts...); err != nil {
			t.Errorf("delete all %T: %v", all.object, err)
		}
	}
	var classes awsv1.EC2NodeClassList
	here.Await(t, &classes, func() string { return unless(len(classes.Items) == 0, "node classes are left") })
}

// kubectl runs kubectl and ends the test if it fails.
func kubectl(t *testing.T, stdin string, args ...string) {
	t.Helper()
	if out, err := here.Local(t, stdin, append([]string{"kubectl"}, args...)...); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", args, err, out)
	}
}

// karpenter runs a command of karpenter and decodes its JSON.
func karpenter(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := here.Program(t, "", "karpenter", args...)
	if err != nil {
		t.Fatalf("karpenter %s: %v\n%s", args, err, out)
	}
	if begin := strings.Index(out, "{"); begin > 0 {
		out = out[begin:] // warnings come first
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(into); err != nil {
		t.Fatalf("karpenter %s: %v\n%s", args, err, out)
	}
}

// textOf returns the text of an error, empty for nil.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// unless returns the message if ok is false, otherwise an empty text.
func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
