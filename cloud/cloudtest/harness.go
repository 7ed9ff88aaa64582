package cloudtest

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// A Harness is one world and the hands on it. Functions end the test if they fail.
type Harness struct {
	// Provider starts a provider in this world, as a new process would. The one before is not used any more.
	Provider func(t *testing.T) cloud.Provider
	// Pool is stored, and its node class is ready.
	Pool *apiv1.NodePool
	// Store stores a new claim and brings it up to date with what was stored: UID and all.
	Store func(t *testing.T, claim *apiv1.NodeClaim)
	// Load reads the claim as it is stored now.
	Load func(t *testing.T, name string) *apiv1.NodeClaim
	// Launched writes to the stored claim's status what a controller does after a launch.
	Launched func(t *testing.T, name string, i *cloud.Instance)
	// Alive returns how many instances there are that have not begun to end, as seen from outside the provider.
	Alive func(t *testing.T) int

	// NamesNodes means that Create returns the name of the node. Other clouds leave it empty.
	NamesNodes bool
	// Exhaust takes all capacity of an offering away. Nil if the cloud cannot run out.
	Exhaust func(t *testing.T, o Offering)
	// Reboots returns how often the instance was rebooted, as seen from outside. Nil if the cloud cannot reboot instances.
	Reboots func(t *testing.T, providerID string) int
	// LoseAnswer makes launches happen without their answer ever coming back, until the next Provider. Nil if that cannot be.
	LoseAnswer func(t *testing.T)
}

// An Offering names a type, a zone and a capacity type.
type Offering struct{ Type, Zone, CapacityType string }

// patience bounds how long anything may take. It is no assertion about speed: it only keeps a hanging test from hanging
// the suite.
const patience = 30 * time.Second

// Run opens a fresh world for each test of the suite and runs it.
func Run(t *testing.T, open func(t *testing.T) *Harness) {
	for _, tt := range []struct {
		name string
		test func(t *testing.T, h *Harness)
	}{
		{"facts are complete", testFacts},
		{"instance types are well formed", testTypes},
		{"create gives what was asked for", testCreate},
		{"create honours requests", testRequests},
		{"create tells the name of the node", testNodeName},
		{"create twice gives one instance", testTwice},
		{"create at once gives as many instances", testMany},
		{"create again after a restart adopts", testRestart},
		{"a lost answer is found again", testLostAnswer},
		{"claims share out what a crash left", testCrash},
		{"get, list and delete agree", testLife},
		{"reboot reaches the instance", testReboot},
		{"delete finds an instance that was never noted", testDeleteUnnoted},
		{"what does not exist is not found", testNotFound},
		{"a claim that nothing meets is out of capacity", testImpossible},
		{"an exhausted offering is told and remembered", testExhausted},
		{"a missing node class is not ready", testMissingClass},
		{"a fresh instance has not drifted", testFresh},
		{"cancelled calls return", testCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open(t)) })
	}
}

// claim stores a claim of the pool that requests 1 CPU, with the requirements reqs.
func (h *Harness) claim(t *testing.T, name string, reqs ...apiv1.NodeSelectorRequirementWithMinValues) *apiv1.NodeClaim {
	t.Helper()
	c := &apiv1.NodeClaim{}
	c.Name = name
	c.Labels = map[string]string{apiv1.NodePoolLabelKey: h.Pool.Name}
	c.Spec.NodeClassRef = h.Pool.Spec.Template.Spec.NodeClassRef
	c.Spec.Requirements = append(append([]apiv1.NodeSelectorRequirementWithMinValues{}, h.Pool.Spec.Template.Spec.Requirements...), reqs...)
	c.Spec.Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("2"),
	}
	h.Store(t, c)
	return c
}

// in is a requirement that a label has one of values.
func in(key string, values ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}
