package aws_test

import (
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/cloudtest"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/remote/remotetest"
)

// The provider passes the conformance suite with the real SDK and HTTP calls.
func TestConformance(t *testing.T) {
	conform(t, func(t *testing.T, w *world) cloud.Provider { return w.start(t) })
}

// The provider also passes the suite when it is called over a socket, as a provider in another process is.
func TestConformanceOverSocket(t *testing.T) {
	conform(t, func(t *testing.T, w *world) cloud.Provider { return remotetest.Over(t, w.start(t), w.kube) })
}

func conform(t *testing.T, open func(*testing.T, *world) cloud.Provider) {
	t.Helper()
	cloudtest.Run(t, func(t *testing.T) *cloudtest.Harness {
		w := newWorld(t)
		return &cloudtest.Harness{
			Pool: pool(), NamesNodes: true,
			Provider: func(t *testing.T) cloud.Provider { return open(t, w) },
			Store:    func(t *testing.T, c *apiv1.NodeClaim) { w.store(t, c) },
			Load:     func(t *testing.T, name string) *apiv1.NodeClaim { return w.load(t, name) },
			Launched: func(t *testing.T, name string, i *cloud.Instance) { w.launched(t, name, i) },
			Alive:    func(t *testing.T) int { return len(w.alive(t)) },
			Exhaust: func(t *testing.T, o cloudtest.Offering) {
				err := w.control.ICE(t.Context(), control.Pool{Type: o.Type, Zone: o.Zone, Capacity: o.CapacityType})
				if err != nil {
					t.Fatal(err)
				}
			},
			Reboots: func(t *testing.T, _ string) int { return len(w.calls(t, "RebootInstances")) },
			LoseAnswer: func(t *testing.T) {
				err := w.control.Hang(t.Context(), control.Hang{Op: "CreateFleet", For: forever, After: true})
				if err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
