package clusterapi

import (
	"testing"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/cloudtest"
)

func TestConformance(t *testing.T) {
	cloudtest.Run(t, func(t *testing.T) *cloudtest.Harness {
		w := newWorld(t)
		return &cloudtest.Harness{
			Pool:     pool(),
			Provider: func(*testing.T) cloud.Provider { return w.provider() },
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
