package cloudtest

import (
	"context"
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/conformance"
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
type Offering = conformance.Offering

// patience bounds how long anything may take. It is no assertion about speed: it only keeps a hanging test from hanging
// the suite.
const patience = 30 * time.Second

// Run opens a fresh world for each check of the suite and runs it.
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

// world returns the harness as the checks use it. Its functions end the test if they fail.
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
