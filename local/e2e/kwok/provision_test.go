package kwok

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// The cluster has its ports, but nothing of a cloud: no emulator, no credentials, and no Lease of another provider.
func TestBareCluster(t *testing.T) {
	status, err := local.Status(t.Context())
	if err != nil || !status.Ready {
		t.Fatalf("status is %+v, %v", status, err)
	}
	for _, p := range status.Parts {
		if p.Name == "awsemu" {
			t.Error("the AWS emulator runs")
		}
		if p.Name != "karpenter" {
			continue
		}
		response, err := http.Get("http://" + p.Address + "/healthz")
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("healthz: %v, %v", response, err)
		}
	}
}

// Pods get a node with all fields of the pool's template. Claim and node have the labels and status that describe the node.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "provisioning")
	p := c.pool(func(p *apiv1.NodePool) {
		p.Spec.Template.Labels["team"] = "blue"
		p.Spec.Template.Annotations = map[string]string{"example.com/owner": "us"}
		p.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: "example.com/cni", Effect: corev1.TaintEffectNoSchedule}}
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements,
			in(apiv1.CapacityTypeLabelKey, "on-demand"), in("tier", "gold", "silver"))
		p.Spec.Limits = apiv1.Limits{corev1.ResourceCPU: resource.MustParse("20")}
	})
	c.deploy("web", 3, "1", func(t *corev1.PodTemplateSpec) { t.Spec.NodeSelector["tier"] = "gold" })
	var node corev1.Node
	c.poll(func() string {
		nodes := c.nodes()
		if len(nodes) == 1 {
			node = nodes[0]
		}
		return missing(len(nodes) == 1 && node.Labels[apiv1.NodeRegisteredLabelKey] == "true", "%d nodes, want 1 registered", len(nodes))
	})
	if node.Labels[apiv1.NodeInitializedLabelKey] != "" {
		t.Error("the node is initialized in spite of its start-up taint")
	}
	for key, want := range map[string]string{
		"team": "blue", "tier": "gold", apiv1.NodePoolLabelKey: p.Name, apiv1.CapacityTypeLabelKey: "on-demand",
		"karpenter.kwok.sh/kwoknodeclass": "default", corev1.LabelInstanceTypeStable: "c-4x-amd64-linux",
		corev1.LabelHostname: node.Name, "kwok-partition": "a",
	} {
		if node.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, node.Labels[key], want)
		}
	}
	if node.Annotations["example.com/owner"] != "us" || node.Spec.ProviderID != "kwok://"+node.Name {
		t.Errorf("annotations %v, provider id %s", node.Annotations, node.Spec.ProviderID)
	}
	taints := fmt.Sprint(node.Spec.Taints)
	if !strings.Contains(taints, cornerKey) || !strings.Contains(taints, "example.com/cni") || strings.Contains(taints, "unregistered") {
		t.Errorf("taints are %v", node.Spec.Taints)
	}
	c.change(&node, func() {
		var kept []corev1.Taint
		for _, taint := range node.Spec.Taints {
			if taint.Key != "example.com/cni" {
				kept = append(kept, taint)
			}
		}
		node.Spec.Taints = kept
	})
	c.awaitRunning("web", 3)
	c.awaitNodes(1)
	c.poll(func() string {
		claim := c.claims()[0]
		return missing(condition.IsTrue(&claim, "Launched", "Registered", "Initialized", "Ready") &&
			claim.Status.NodeName == node.Name && claim.Status.Allocatable.Cpu().String() == "3900m",
			"claim says %v", claim.Status)
	})
	c.poll(func() string {
		if err := c.Get(t.Context(), clientKey(p), p); err != nil {
			t.Fatal(err)
		}
		return missing(p.Status.Nodes == 1 && p.Status.Resources.Cpu().String() == "4",
			"pool counts %v", p.Status.Resources)
	})
}

// With a nodeRegistrationDelay, the claim is launched at once, and is registered when its node joins.
func TestRegistrationDelay(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "later")
	class := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "later"}}
	class.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: 8 * time.Second}
	c.put(class)
	t.Cleanup(func() {
		if err := shared.Delete(t.Context(), class); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	c.pool(func(p *apiv1.NodePool) { p.Spec.Template.Spec.NodeClassRef = classRef("later") })
	c.deploy("web", 1, "1")
	c.poll(func() string {
		claims := c.claims()
		return missing(len(claims) == 1 && condition.IsTrue(&claims[0], "Launched"), "claims are %v", claims)
	})
	c.awaitRunning("web", 1)
	claims, nodes := c.claims(), c.nodes()
	if len(claims) != 1 || len(nodes) != 1 {
		t.Fatalf("%d claims and %d nodes for one pod", len(claims), len(nodes))
	}
	if took := nodes[0].CreationTimestamp.Sub(claims[0].CreationTimestamp.Time); took < 8*time.Second {
		t.Errorf("the node came %v after its claim, want 8s or more", took)
	}
}

// The controller serves its metrics.
func TestMetrics(t *testing.T) {
	c := &corner{WithWatch: shared, t: t}
	c.poll(func() string {
		body, err := scrape()
		if err != nil {
			return err.Error()
		}
		for _, want := range []string{"karpenter_build_info", "karpenter_cluster_state_synced"} {
			if !strings.Contains(body, want) {
				return "metrics lack " + want
			}
		}
		return ""
	})
}
