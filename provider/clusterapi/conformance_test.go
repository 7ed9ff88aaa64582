package clusterapi

import (
	"testing"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/cloudtest"
	"github.com/karpenter-go/karpenter/provider/remote/remotetest"
)

func TestConformance(t *testing.T) {
	conform(t, func(_ *testing.T, w *world) cloud.Provider { return w.provider() })
}

// The provider also passes it from another process: behind a socket.
func TestConformanceOverSocket(t *testing.T) {
	conform(t, func(t *testing.T, w *world) cloud.Provider { return remotetest.Over(t, w.provider(), w.kube) })
}

func conform(t *testing.T, open func(*testing.T, *world) cloud.Provider) {
	t.Helper()
	cloudtest.Run(t, func(t *testing.T) *cloudtest.Harness {
		w := newWorld(t)
		return &cloudtest.Harness{
			Pool:     pool(),
			Provider: func(t *testing.T) cloud.Provider { return open(t, w) },
			Store:    w.store, Load: w.load, Launched: w.launched, Alive: w.alive,
			Exhaust: func(_ *testing.T, o cloudtest.Offering) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.exhausted[[2]string{o.Type, o.Zone}] = true
			},
			LoseAnswer: func(*testing.T) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.lost = true
			},
		}
	})
}
