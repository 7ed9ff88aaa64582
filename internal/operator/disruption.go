package operator

import (
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/disruption"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
)

// disruption returns the controller that takes nodes away.
func (b base) disruption(actor *act.Actor) Controller {
	gates := b.settings.FeatureGates
	return &disruption.Controller{
		Cluster: b.cluster, Actor: actor, Cloud: b.offers("disruption"), Clock: b.Clock, Events: b.Events,
		Metrics: b.metrics, Repair: gates.NodeRepair, Buffers: b.buffers, Daemons: b.daemons, Spread: b.spread,
		Options: disrupt.Options{
			Pack:       b.packing(),
			SpotToSpot: gates.SpotToSpotConsolidation, Static: gates.StaticCapacity,
			Mode: b.settings.Mode,
		},
		Throttle: b.throttle,
	}
}

// newThrottle returns what holds the whole cluster back.
func (b base) newThrottle() *throttle.Throttle {
	s := b.settings
	return &throttle.Throttle{
		Settings: throttle.Limits{
			PauseLaunches: s.PauseLaunches, PauseDisruption: s.PauseDisruption, MaxLaunches: s.MaxLaunchesPerMinute,
			MaxReplacements: s.MaxReplacementsPerMinute, MaxDisruptions: s.MaxDisruptionsPerMinute,
		},
		Reader: b.Live, Namespace: s.Namespace(),
		Metrics: b.metrics, Wake: b.cluster.Wake,
	}
}
