package operator

import (
	"context"
	"fmt"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/disruption"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// disruption returns the controller of disruption.
func (b base) disruption(actor *act.Actor) Controller {
	var shifted func(context.Context) []string
	if shifter, ok := b.provider.(cloud.Shifter); ok {
		shifted = shifter.ShiftedZones
	}
	var current func() bool
	if p, ok := b.provider.(cloud.Pricer); ok {
		current = p.PricesCurrent
	}
	return &disruption.Controller{
		PricesCurrent: current,
		ShiftedZones:  shifted,
		Cluster:       b.cluster, Actor: actor, Cloud: b.offers("disruption"), Clock: b.Clock, Events: b.Events,
		Metrics: b.metrics, Buffers: b.buffers, Daemons: b.daemons, Spread: b.spread,
		Options:  b.disruptOptions(),
		Latest:   b.latest,
		Throttle: b.throttle, Limits: b.limits, Costs: b.costs, Decisions: b.log, Tracer: b.tracer,
	}
}

// disruptOptions returns the options of the decisions of disruption.
func (b base) disruptOptions() disrupt.Options {
	o := DisruptOptions(b.settings)
	o.Pack, o.Repair = b.packing(), b.repair
	return o
}

// DisruptOptions returns the options of disruption that the settings contain. They have no policies of node repair, and no
// options of the packer.
func DisruptOptions(s *settings.Settings) disrupt.Options {
	gates := s.FeatureGates
	return disrupt.Options{
		SpotToSpot: gates.SpotToSpotConsolidation, IgnoreDeletionCost: gates.PodDeletionCostManagement, Static: gates.StaticCapacity,
		TerminateFirst: terminateFirst(gates), Mode: s.Mode, LegacyRepair: s.LegacyNodeRepair,
	}
}

// terminateFirst returns the reasons for which a node may be terminated before it is replaced.
func terminateFirst(gates settings.FeatureGates) (reasons []apiv1.DisruptionReason) {
	if gates.TerminateFirstDrift {
		reasons = append(reasons, apiv1.DisruptionReasonDrifted)
	}
	if gates.TerminateFirstRepair {
		reasons = append(reasons, status.ReasonUnhealthy)
	}
	return reasons
}

// RepairPolicies returns the checked policies of node repair, nil if the feature is off. If the provider has none, or
// invalid ones, it returns an error, so that the program does not start.
func RepairPolicies(s *settings.Settings, facts cloud.Facts) (*repair.Policies, error) {
	if !s.FeatureGates.NodeRepair {
		return nil, nil
	}
	list := facts.RepairPolicies
	if s.LegacyNodeRepair && facts.LegacyRepairPolicies != nil {
		list = facts.LegacyRepairPolicies
	}
	policies, err := repair.Compile(list)
	if err != nil {
		return nil, fmt.Errorf("feature gate NodeRepair: %w", err)
	}
	return policies, nil
}

// Limits returns the pauses and rate limits that the settings contain. A ConfigMap may override them.
func Limits(s *settings.Settings) throttle.Limits {
	return throttle.Limits{
		PauseLaunches: s.PauseLaunches, PauseDisruption: s.PauseDisruption, MaxLaunches: s.MaxLaunchesPerMinute,
		MaxReplacements: s.MaxReplacementsPerMinute, MaxDisruptions: s.MaxDisruptionsPerMinute,
	}
}

// newThrottle returns the throttle, which has the rate limits and pauses of the whole cluster.
func (b base) newThrottle() *throttle.Throttle {
	return &throttle.Throttle{
		Settings: Limits(b.settings), Reader: b.Live, Namespace: b.settings.Namespace(),
		Metrics: b.metrics, Wake: b.cluster.Wake,
	}
}
