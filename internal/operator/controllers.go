package operator

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/apiclock"
	"github.com/karpenter-go/karpenter/internal/controller/costledger"
	"github.com/karpenter-go/karpenter/internal/controller/decisionlog"
	"github.com/karpenter-go/karpenter/internal/controller/interruption"
	"github.com/karpenter-go/karpenter/internal/controller/metrics"
	nodehydration "github.com/karpenter-go/karpenter/internal/controller/node/hydration"
	"github.com/karpenter-go/karpenter/internal/controller/node/termination"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/consistency"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/disruptionstatus"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/expiration"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/garbagecollection"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/hydration"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/lifecycle"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/podevents"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/reboot"
	"github.com/karpenter-go/karpenter/internal/controller/nodepool"
	"github.com/karpenter-go/karpenter/internal/controller/nomination"
	"github.com/karpenter-go/karpenter/internal/controller/pod/deletioncost"
	"github.com/karpenter-go/karpenter/internal/controller/provision"
	"github.com/karpenter-go/karpenter/internal/controller/stagedmove"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/limits"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/tracing"
)

// base has the dependencies of controllers.
type base struct {
	Env
	settings *settings.Settings
	metrics  *telemetry.Metrics
	provider cloud.Provider
	labels   apiv1.LabelRules
	cluster  *observe.Cluster
	timeline *metrics.Timeline
	health   *nodepool.Health
	nominate *nomination.Controller
	moves    *stagedmove.Controller
	throttle *throttle.Throttle
	limits   *limits.Ledger
	repair   *repair.Policies
	costs    *ledger.Ledger
	log      *decisions.Log
	// latest is nil if the dashboard is off.
	latest *decisions.Latest
	tracer *tracing.Tracer
	features
}

// controllers returns all controllers of the program, including those of the provider. It also starts the watches of the
// observed cluster, and adds the dashboard to mgr if it is on.
func controllers(
	ctx context.Context, mgr ctrl.Manager, p Program, env Env, f features, provider Provider, log *decisions.Log,
) ([]Controller, error) {
	labels := apiv1.CoreLabels().With(provider.Cloud.Facts().Labels)
	m := telemetry.NewMetrics(env.Metrics, labels.WellKnown.UnsortedList())
	if c, ok := env.Clock.(*apiclock.Clock); ok {
		c.Report(m.ClusterState.ClockOffsetSeconds.WithLabelValues().Set)
	}
	p.Panics.Export(m.RecoveredPanicsTotal.WithLabelValues())
	m.SetBuildInfo(p.Version.Number, p.Version.Commit)
	b := base{
		Env: env, settings: p.Settings, metrics: m, provider: provider.Cloud, labels: labels,
		cluster: observe.New(env.Clock).From(&model.Snapshot{
			Aliases: labels.Aliases, DynamicResources: !p.Settings.IgnoreDRARequests,
		}), timeline: metrics.NewTimeline(m.Pods), health: nodepool.NewHealth(), features: f,
		limits: &limits.Ledger{}, costs: ledger.New(m.Cost, p.Settings.CostAllocationLabel), log: log, tracer: p.Tracer,
	}
	b.cluster.Live = env.Live
	if p.Settings.DashboardPort != 0 {
		b.latest = &decisions.Latest{}
	}
	if b.overlays != nil {
		b.overlays.Labels = labels
	}
	b.throttle = b.newThrottle()
	policies, err := RepairPolicies(p.Settings, provider.Cloud.Facts())
	if err != nil {
		return nil, err
	}
	b.repair = policies
	nominator, err := newNominator(b.Rest, b.Client, p.Settings)
	if err != nil {
		return nil, err
	}
	b.nominate = &nomination.Controller{
		Cluster: b.cluster, Nominator: nominator, Clock: b.Clock, Metrics: m.Scheduler, On: p.Settings.NominatePods,
	}
	b.moves = &stagedmove.Controller{Cluster: b.cluster, Clock: b.Clock}
	if err := b.cluster.Watch(ctx, mgr.GetCache()); err != nil {
		return nil, fmt.Errorf("observe the cluster: %w", err)
	}
	all := append(b.deciding(), b.claims()...)
	all = append(all, b.interruptions()...)
	all = append(all, b.logging()...)
	all = append(append(all, b.pools()...), b.featured()...)
	reporting, err := b.reporting()
	if err != nil {
		return nil, err
	}
	all = append(all, reporting...)
	if err := b.serveDashboard(mgr, p); err != nil {
		return nil, err
	}
	return append(all, provider.Controllers...), nil
}

// cloud returns the provider for the named controller. Its calls are measured.
func (b base) cloud(controller string) cloud.Provider {
	return instrument(b.provider, controller, b.metrics, b.Clock, b.tracer)
}

// deciding returns the controllers that decide for the whole cluster.
func (b base) deciding() []Controller {
	actor := &act.Actor{Client: b.Client, Live: b.Live, Labels: b.labels, Nominates: b.settings.NominatePods, Turns: b.settings.NominatePods}
	b.moves.Actor = actor
	return []Controller{
		&provision.Controller{
			Cluster: b.cluster, Actor: actor, Cloud: b.offers("provisioner"), Clock: b.Clock, Events: b.Events,
			Metrics: b.metrics, Timeline: b.timeline, Buffers: b.buffers, Daemons: b.daemons,
			Spread: b.spread, Options: b.packing(), Throttle: b.throttle, Limits: b.limits, Nominations: b.nominate.Tally,
			BatchIdle: b.settings.BatchIdleDuration, BatchMax: b.settings.BatchMaxDuration, Mode: b.settings.Mode,
			Decisions: b.log, Latest: b.latest, Tracer: b.tracer,
		},
		b.disruption(actor),
		b.nominate, b.moves, b.throttle,
		&costledger.Controller{Ledger: b.costs, Client: b.Client, Reader: b.Live, Namespace: b.settings.Namespace()},
		&deletioncost.Controller{
			Client: b.Client, Cluster: b.cluster, Metrics: b.metrics.DeletionCost, On: b.settings.FeatureGates.PodDeletionCostManagement,
		},
	}
}

// packing returns the options of the packer for provisioning and disruption.
func (b base) packing() pack.Options {
	o := PackOptions(b.settings)
	o.Labels = b.labels
	return o
}

// PackOptions returns the options of the packer that the settings contain. They have no label rules.
func PackOptions(s *settings.Settings) pack.Options {
	return pack.Options{
		RelaxMinValues:   s.MinValuesPolicy == settings.MinValuesPolicyBestEffort,
		PreferencePolicy: pack.PreferencePolicy(s.PreferencePolicy), NodeOverheadCost: s.NodeOverheadCost, MaxNodeCPU: s.MaxNodeCPU,
		Slack: s.NewNodeHeadroom,
	}
}

// claims returns the controllers of claims and their nodes.
func (b base) claims() []Controller {
	cpu := b.settings.CPURequests
	return []Controller{
		&lifecycle.Controller{
			Client: b.Client, Live: b.Live, Clock: b.Clock, Events: b.Events, Metrics: b.metrics,
			Cloud: b.cloud("nodeclaim.lifecycle"), Health: b.health, Planned: b.cluster, DRA: b.slices, CPUMillis: cpu,
		},
		&termination.Controller{
			Client: b.Client, Live: b.Live, Clock: b.Clock, Events: b.Events, Metrics: b.metrics,
			Cloud: b.cloud("node.termination"), Turns: b.moves, CPUMillis: cpu,
		},
		&nodehydration.Controller{Client: b.Client, Cloud: b.cloud("node.hydration"), CPUMillis: cpu},
		&consistency.Controller{
			Client: b.Client, Clock: b.Clock, Events: b.Events, Cloud: b.cloud("nodeclaim.consistency"), CPUMillis: cpu,
		},
		&disruptionstatus.Controller{
			Client: b.Client, Clock: b.Clock, Cloud: b.cloud("nodeclaim.disruption"), CPUMillis: cpu,
		},
		&expiration.Controller{
			Client: b.Client, Clock: b.Clock, Metrics: b.metrics, Cloud: b.cloud("nodeclaim.expiration"), CPUMillis: cpu,
			Decisions: b.log,
		},
		&garbagecollection.Controller{
			Client: b.Client, Clock: b.Clock, Metrics: b.metrics, Cloud: b.cloud("nodeclaim.garbagecollection"),
		},
		&reboot.Controller{
			Client: b.Client, Clock: b.Clock, Events: b.Events, Metrics: b.metrics, Cloud: b.cloud("nodeclaim.reboot"),
		},
		&hydration.Controller{Client: b.Client, Cloud: b.cloud("nodeclaim.hydration"), CPUMillis: cpu},
		&podevents.Controller{Client: b.Client, Clock: b.Clock, Cloud: b.cloud("nodeclaim.podevents"), CPUMillis: cpu},
	}
}

// interruptions returns the controllers that act on notices of the provider. It returns none if the provider is no
// cloud.Notifier.
func (b base) interruptions() []Controller {
	notifier, ok := b.provider.(cloud.Notifier)
	if !ok {
		return nil
	}
	replacements := interruption.NewReplacements(b.Client, b.metrics.Interruption.ToLaunchSeconds)
	all := []Controller{replacements}
	for _, source := range notifier.NoticeSources() {
		all = append(all, &interruption.Controller{
			Source: source, Cloud: notifier, Client: b.Client, Clock: b.Clock, Events: b.Events, Metrics: b.metrics,
			Replacements: replacements, Decisions: b.log,
		})
	}
	return all
}

// logging returns the controllers of the decision log.
func (b base) logging() []Controller {
	namespace := ""
	if b.settings.PublishDecisions {
		namespace = b.settings.Namespace()
	}
	return []Controller{
		&decisionlog.Effects{Client: b.Client, Clock: b.Clock, Cloud: b.cloud("decisionlog.effects"), Log: b.log},
		&decisionlog.Publisher{
			Client: b.Client, Live: b.Live, Clock: b.Clock, Log: b.log, Namespace: namespace, Settings: b.settings.Published(),
			Cloud: b.cloud("decisionlog.publisher"),
		},
	}
}

// pools returns the controllers of pools.
func (b base) pools() []Controller {
	cpu := b.settings.CPURequests
	return []Controller{
		&nodepool.Hash{Client: b.Client, Cloud: b.cloud("nodepool.hash"), CPUMillis: cpu},
		&nodepool.Readiness{Client: b.Client, Live: b.Live, Clock: b.Clock, Cloud: b.cloud("nodepool.readiness"), CPUMillis: cpu},
		&nodepool.Validation{Client: b.Client, Live: b.Live, Clock: b.Clock, Cloud: b.cloud("nodepool.validation")},
		&nodepool.Counter{Client: b.Client, Live: b.Live, Cloud: b.cloud("nodepool.counter"), CPUMillis: cpu},
		&nodepool.RegistrationHealth{
			Client: b.Client, Clock: b.Clock, Cloud: b.cloud("nodepool.registrationhealth"), Health: b.health, CPUMillis: cpu,
		},
	}
}

// reporting returns the controllers that only write metrics and events. DisableClusterStateObservability leaves out those that
// report about single objects.
func (b base) reporting() ([]Controller, error) {
	all := []Controller{&metrics.ClusterState{Cluster: b.cluster, Clock: b.Clock, Metrics: b.metrics.ClusterState}}
	if b.settings.DisableClusterStateObservability {
		return all, nil
	}
	watching, err := b.watching()
	return append(all, watching...), err
}

// watching returns the controllers that report about single objects: their metrics, and events about conditions.
func (b base) watching() ([]Controller, error) {
	detail := &metrics.Detail{MaxNodes: b.settings.MetricsDetailMaxNodes}
	all := []Controller{
		&metrics.Pods{
			Detail: detail, Client: b.Client, Clock: b.Clock, Metrics: b.metrics.Pods, Timeline: b.timeline, CPUMillis: b.settings.CPURequests,
		},
		&metrics.Nodes{Cluster: b.cluster, Clock: b.Clock, Metrics: b.metrics, Detail: detail},
		&metrics.NodePools{Client: b.Client, Metrics: b.metrics.NodePools},
	}
	facts := b.provider.Facts()
	kinds := append([]schema.GroupVersionKind{
		apiv1.GroupVersion.WithKind("NodeClaim"), apiv1.GroupVersion.WithKind("NodePool"),
		corev1.SchemeGroupVersion.WithKind("Node"),
	}, facts.NodeClasses...)
	if b.buffers != nil {
		kinds = append(kinds, autoscalingv1beta1.GroupVersion.WithKind("CapacityBuffer"))
	}
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = strings.ToLower(kind.Kind)
	}
	options := metrics.ConditionOptions{
		Client: b.Client, Clock: b.Clock, Events: b.Events, Facts: facts, Detail: detail,
		Metrics: telemetry.NewConditionMetrics(b.Metrics, names...),
	}
	for _, kind := range kinds {
		c, err := metrics.NewConditions(kind, options)
		if err != nil {
			return nil, fmt.Errorf("watch conditions: %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}
