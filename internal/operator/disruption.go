package operator

import (
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/disruption"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// disruption returns the controller that takes nodes away.
func (b base) disruption(actor *act.Actor) Controller {
	gates := b.settings.FeatureGates
	return &disruption.Controller{
		Cluster: b.cluster, Actor: actor, Cloud: b.offers("disruption"), Clock: b.Clock, Events: b.Events,
		Metrics: b.metrics, Repair: gates.NodeRepair, Buffers: b.buffers, Daemons: b.daemons,
		Options: disrupt.Options{
			Pack: pack.Options{
				Labels:         b.labels,
				RelaxMinValues: b.settings.MinValuesPolicy == settings.MinValuesPolicyBestEffort,
			},
			SpotToSpot: gates.SpotToSpotConsolidation, Static: gates.StaticCapacity,
			Mode: b.settings.Mode, Paused: b.settings.PauseDisruption,
		},
		PerMinute: disruption.Rates{
			Disruptions: b.settings.MaxDisruptionsPerMinute, Launches: b.settings.MaxReplacementsPerMinute,
		},
	}
}
