package kwok

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// The conditions of a pool report whether its class exists and whether its spec is valid. If both hold, pods get nodes.
func TestPoolValidation(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "validation")
	p := c.pool(func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.NodeClassRef = classRef("validation")
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in("karpenter.kwok.sh/colour", "red"))
	})
	says := func(kind string) string {
		c.t.Helper()
		if err := c.Get(t.Context(), clientKey(p), p); err != nil {
			t.Fatal(err)
		}
		if got := condition.Get(p, kind); got != nil {
			return string(got.Status) + " " + got.Reason
		}
		return ""
	}
	c.poll(func() string {
		class, valid := says(apiv1.ConditionTypeNodeClassReady), says(apiv1.ConditionTypeValidationSucceeded)
		return missing(class == "False NodeClassNotFound" && valid == "False NodePoolValidationFailed",
			"class is %q, validation %q", class, valid)
	})
	d := c.deploy("web", 1, "1")
	class := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "validation"}}
	c.put(class)
	t.Cleanup(func() {
		if err := shared.Delete(t.Context(), class); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	c.change(p, func() { p.Spec.Template.Spec.Requirements = p.Spec.Template.Spec.Requirements[:2] })
	c.awaitRunning(d.Name, 1)
	if got := says("Ready"); got != "True Ready" {
		t.Errorf("the pool is %q", got)
	}
}

// The API server rejects pools that the schema does not allow, and accepts the others.
func TestPoolSchema(t *testing.T) {
	t.Parallel()
	need := func(key string, op corev1.NodeSelectorOperator, min *int, values ...string) func(*apiv1.NodePool) {
		return func(p *apiv1.NodePool) {
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements,
				apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: op, Values: values, MinValues: min})
		}
	}
	label := func(key, value string) func(*apiv1.NodePool) {
		return func(p *apiv1.NodePool) { p.Spec.Template.Labels[key] = value }
	}
	budget := func(b apiv1.Budget) func(*apiv1.NodePool) {
		return func(p *apiv1.NodePool) { p.Spec.Disruption.Budgets = []apiv1.Budget{b} }
	}
	hourly, hour := "@hourly", &apiv1.Duration{Duration: time.Hour}
	for _, tt := range []struct {
		name    string
		change  func(*apiv1.NodePool)
		refused bool
	}{
		{"nothing special", func(*apiv1.NodePool) {}, false},
		{"label of the pool", label(apiv1.NodePoolLabelKey, "x"), true},
		{"label of the domain", label("karpenter.sh/custom", "x"), true},
		{"hostname as label", label(corev1.LabelHostname, "x"), true},
		{"label of kubernetes.io", label("kubernetes.io/custom", "x"), false},
		{"label of node-restriction", label("node-restriction.kubernetes.io/custom", "x"), false},
		{"label value", label("team", "no good"), true},
		{"requirement on the pool", need(apiv1.NodePoolLabelKey, corev1.NodeSelectorOpIn, nil, "x"), true},
		{"requirement on the hostname", need(corev1.LabelHostname, corev1.NodeSelectorOpIn, nil, "x"), true},
		{"requirement of node-restriction", need("node-restriction.kubernetes.io/custom", corev1.NodeSelectorOpIn, nil, "x"), false},
		{"In nothing", need("team", corev1.NodeSelectorOpIn, nil), true},
		{"Gt two values", need("team", corev1.NodeSelectorOpGt, nil, "1", "2"), true},
		{"Gt below zero", need("team", corev1.NodeSelectorOpGt, nil, "-1"), true},
		{"unknown operator", need("team", "Like", nil, "x"), true},
		{"minValues above the values", need("team", corev1.NodeSelectorOpIn, ptr.To(2), "x"), true},
		{"minValues above 50", need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpExists, ptr.To(51)), true},
		{"minValues", need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpExists, ptr.To(2)), false},
		{"budget below zero", budget(apiv1.Budget{Nodes: "-1"}), true},
		{"budget above all", budget(apiv1.Budget{Nodes: "101%"}), true},
		{"schedule without a duration", budget(apiv1.Budget{Nodes: "1", Schedule: &hourly}), true},
		{"duration without a schedule", budget(apiv1.Budget{Nodes: "1", Duration: hour}), true},
		{"scheduled budget", budget(apiv1.Budget{Nodes: "1", Schedule: &hourly, Duration: hour}), false},
		{"unknown reason", budget(apiv1.Budget{Nodes: "1", Reasons: []apiv1.DisruptionReason{"Bored"}}), true},
		{"weight of zero", func(p *apiv1.NodePool) { p.Spec.Weight = ptr.To(int32(0)) }, true},
		{"weight above 100", func(p *apiv1.NodePool) { p.Spec.Weight = ptr.To(int32(101)) }, true},
		{"taint without a key", func(p *apiv1.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Effect: corev1.TaintEffectNoSchedule}}
		}, true},
		{"class without a kind", func(p *apiv1.NodePool) { p.Spec.Template.Spec.NodeClassRef.Kind = "" }, true},
		{"group with a version", func(p *apiv1.NodePool) { p.Spec.Template.Spec.NodeClassRef.Group = "karpenter.kwok.sh/v1" }, true},
		{"static with a weight", func(p *apiv1.NodePool) { p.Spec.Replicas, p.Spec.Weight = ptr.To(int64(1)), ptr.To(int32(1)) }, true},
		{"static with a limit of cpu", func(p *apiv1.NodePool) {
			p.Spec.Replicas, p.Spec.Limits = ptr.To(int64(1)), apiv1.Limits{corev1.ResourceCPU: *quantity("1")}
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &corner{WithWatch: shared, t: t, name: "schema"}
			p := c.poolObject(tt.change)
			err := c.Create(t.Context(), p, &client.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case tt.refused && err == nil:
				t.Error("taken")
			case !tt.refused && err != nil, tt.refused && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
				t.Error(err)
			}
		})
	}
}

// A mistake that the schema cannot detect is reported in a condition of the pool. The pool launches nothing until it is
// corrected.
func TestPoolThatContradictsItself(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "contradiction")
	twice := corev1.Taint{Key: "example.com/twice", Effect: corev1.TaintEffectNoSchedule}
	for name, change := range map[string]func(*apiv1.NodePool){
		"taint that is a start-up taint too": func(p *apiv1.NodePool) {
			p.Spec.Template.Spec.Taints = append(p.Spec.Template.Spec.Taints, twice)
			p.Spec.Template.Spec.StartupTaints = []corev1.Taint{twice}
		},
		"unknown capacity type": func(p *apiv1.NodePool) {
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(apiv1.CapacityTypeLabelKey, "free"))
		},
		"label of the provider's domain": func(p *apiv1.NodePool) { p.Spec.Template.Labels["karpenter.kwok.sh/colour"] = "red" },
	} {
		p := c.pool(change)
		c.poll(func() string {
			if err := c.Get(t.Context(), clientKey(p), p); err != nil {
				t.Fatal(err)
			}
			got := condition.Get(p, apiv1.ConditionTypeValidationSucceeded)
			return missing(got != nil && got.Status == metav1.ConditionFalse && got.Reason == "NodePoolValidationFailed" && got.Message != "" &&
				!condition.IsTrue(p, "Ready"), "%s: the pool says %+v", name, got)
		})
	}
}

// A static pool cannot become dynamic, or the reverse, and the kind of a pool's class cannot be changed.
func TestPoolKeepsItsKind(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "kind")
	p := c.pool()
	for name, change := range map[string]func(){
		"becomes static":        func() { p.Spec.Replicas = ptr.To(int64(1)) },
		"another kind of class": func() { p.Spec.Template.Spec.NodeClassRef.Kind = "EC2NodeClass" },
	} {
		if err := c.Get(t.Context(), clientKey(p), p); err != nil {
			t.Fatal(err)
		}
		change()
		for {
			err := c.Update(t.Context(), p)
			if apierrors.IsConflict(err) {
				if err := c.Get(t.Context(), clientKey(p), p); err != nil {
					t.Fatal(err)
				}
				change()
				continue
			}
			if !apierrors.IsInvalid(err) {
				t.Errorf("%s: %v, want it refused", name, err)
			}
			break
		}
	}
}
