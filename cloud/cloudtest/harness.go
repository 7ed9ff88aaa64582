package cloudtest

import (
	"context"
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/conformance"
)

// A Harness gives the checks access to one world: a cloud and an API server. Its functions end the test if
// they fail.
type Harness struct {
	// Provider starts a provider in this world, as a new process would. The provider that it started before
	// is not used any more.
	Provider func(t *testing.T) cloud.Provider
	// Pool is the NodePool for the claims of the checks. It is stored in the API server, and its node class
	// is ready.
	Pool *apiv1.NodePool
	// Store stores a new claim in the API server, and updates claim to the stored object, with its UID.
	Store func(t *testing.T, claim *apiv1.NodeClaim)
	// Load reads the claim with the name from the API server.
	Load func(t *testing.T, name string) *apiv1.NodeClaim
	// Launched writes the result of a launch to the status of the stored claim, as a controller does.
	Launched func(t *testing.T, name string, i *cloud.Instance)
	// Alive returns the number of instances whose termination has not begun. It reads them from the cloud, not from the
	// provider.
	Alive func(t *testing.T) int

	// NamesNodes is true if Create returns the name of the node. Other clouds leave it empty.
	NamesNodes bool
	// Exhaust takes all capacity of an offering away. It is nil if the cloud cannot run out.
	Exhaust func(t *testing.T, o Offering)
	// Reboots returns how often the instance was rebooted. It reads that from the cloud, not from the provider. It is nil if
	// the cloud cannot reboot instances.
	Reboots func(t *testing.T, providerID string) int
	// LoseAnswer makes launches happen without a response to the provider, until Provider is called again. It is nil if the
	// cloud cannot do that.
	LoseAnswer func(t *testing.T)
}

// An Offering names a type, a zone and a capacity type.
type Offering = conformance.Offering

// patience bounds each call of a provider, so that a call that hangs does not hang the suite. It is not an assertion
// about speed.
const patience = 30 * time.Second

// Run opens a new world for each check of the suite and runs the check in it.
func Run(t *testing.T, open func(t *testing.T) *Harness) {
	for _, check := range conformance.Checks() {
		t.Run(check.Name, func(t *testing.T) {
			r := check.Run(t.Context(), open(t).world(t))
			for _, failure := range r.Failures {
				t.Error(failure)
			}
			if r.Skipped != "" {
				t.Skip(r.Skipped)
			}
		})
	}
}

// world returns the harness in the form that the checks use. Its functions end the test if they fail.
func (h *Harness) world(t *testing.T) *conformance.World {
	w := &conformance.World{
		Provider: func() cloud.Provider { return h.Provider(t) }, Pool: h.Pool,
		Store: func(c *apiv1.NodeClaim) { h.Store(t, c) }, Load: func(name string) *apiv1.NodeClaim { return h.Load(t, name) },
		Launched: func(name string, i *cloud.Instance) { h.Launched(t, name, i) }, Alive: func() int { return h.Alive(t) },
		Bounded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, patience)
		},
		NamesNodes: &h.NamesNodes, CanReboot: h.Reboots != nil,
	}
	if h.Exhaust != nil {
		w.Exhaust = func(o Offering) { h.Exhaust(t, o) }
	}
	if h.Reboots != nil {
		w.Reboots = func(providerID string) int { return h.Reboots(t, providerID) }
	}
	if h.LoseAnswer != nil {
		w.LoseAnswer = func() { h.LoseAnswer(t) }
	}
	return w
}
