package aws_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// stored stores a claim of the pool and returns it.
func (w *world) stored(t *testing.T, name string) *apiv1.NodeClaim {
	t.Helper()
	c := w.claim(name)
	w.store(t, c)
	return c
}

// A class that enables enclaves launches types that support them, with the option set. Enabling them on an existing class
// is drift.
func TestEnclaves(t *testing.T) {
	w := newWorldSelling(t, "m5.large", "m5.xlarge", "t3.*", "m5.metal")
	p := w.start(t)
	plain := create(t, p, w.stored(t, "plain"))
	w.launched(t, "plain", plain)
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} })
	w.reconcile(t, "nodeclass.hash", "default")
	if why, err := p.Drift(t.Context(), w.load(t, "plain")); err != nil || why != aws.DriftNodeClass {
		t.Errorf("drift of a node without enclaves is %q, %v", why, err)
	}
	list, err := p.InstanceTypes(t.Context(), pool())
	if err != nil || len(list) != 1 || list[0].Name != "m5.xlarge" {
		t.Fatalf("%d instance types, the first %v, %v", len(list), list, err)
	}
	if i := create(t, p, w.stored(t, "enclave")); i.Labels[corev1.LabelInstanceTypeStable] != "m5.xlarge" {
		t.Errorf("launched a %s", i.Labels[corev1.LabelInstanceTypeStable])
	}
	templates := w.calls(t, "CreateLaunchTemplate")
	if got := templates[len(templates)-1].Params["LaunchTemplateData.EnclaveOptions.Enabled"]; got != "true" {
		t.Errorf("EnclaveOptions.Enabled is %q", got)
	}
}
