package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Ten pods of the quickstart get nodes. When the pods are deleted, the nodes and instances are deleted as well.
func TestQuickstart(t *testing.T) {
	inflate := []client.ListOption{
		client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{"app": "inflate"},
	}
	t.Cleanup(func() {
		if out, err := shared.Run(t, "kubectl", "delete", "-f", "../../examples/quickstart", "--wait=false"); err != nil {
			t.Errorf("remove the quickstart: %v\n%s", err, out)
		}
	})
	out, err := shared.Run(t, "demo", "--example", "../../examples/quickstart", "--timeout", patience.String())
	if err != nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	for _, want := range []string{
		"10 pods pending", "plan: 10 pods on", "CreateFleet:", " registered", " initialized",
		"10 of 10 Running", "lower bound", "Try next:",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q", want)
		}
	}
	var pods corev1.PodList
	if err := shared.List(t.Context(), &pods, inflate...); err != nil {
		t.Fatal(err)
	}
	var nodes corev1.NodeList
	if err := shared.List(t.Context(), &nodes, client.HasLabels{apiv1.NodePoolLabelKey}); err != nil {
		t.Fatal(err)
	}
	home := map[string]bool{}
	for _, node := range nodes.Items {
		home[node.Name] = true
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || !home[pod.Spec.NodeName] {
			t.Errorf("pod %s is %s on %q, want it Running on a node of a pool", pod.Name, pod.Status.Phase, pod.Spec.NodeName)
		}
	}
	if len(pods.Items) != 10 || t.Failed() {
		t.Fatalf("%d pods; the demo said:\n%s", len(pods.Items), out)
	}

	if out, err := shared.Run(t, "demo", "--example", "../../examples/quickstart"); err != nil ||
		!strings.Contains(out, "inflate runs already: 10 of 10") {
		t.Errorf("second demo: %v\n%s", err, out)
	}

	shared.Kubectl(t, "patch", "nodepool", "default", "--type=merge", "-p", `{"spec":{"disruption":{"consolidateAfter":"0s"}}}`)
	shared.Kubectl(t, "scale", "deployment", "inflate", "--replicas=0")
	shared.Await(t, &nodes, func() string {
		if len(nodes.Items) == 0 {
			return ""
		}
		return fmt.Sprintf("%d nodes are left", len(nodes.Items))
	}, client.HasLabels{apiv1.NodePoolLabelKey})
	instances, err := shared.Steer().Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range instances {
		if i.Tags[apiv1.NodePoolLabelKey] != "" && (i.State == "pending" || i.State == "running") {
			t.Errorf("instance %s is still %s", i.ID, i.State)
		}
	}
}
