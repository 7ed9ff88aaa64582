package operator

import (
	"context"
	"fmt"
	"runtime"

	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/disruption"
	"github.com/karpenter-go/karpenter/internal/controller/node/termination"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/lifecycle"
	"github.com/karpenter-go/karpenter/internal/controller/nodepool"
	"github.com/karpenter-go/karpenter/internal/controller/provision"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// controllers returns all controllers of the program, the provider's included, with the observed cluster behind them.
func controllers(ctx context.Context, mgr ctrl.Manager, p Program, env Env, provider Provider) ([]Controller, error) {
	labels := apiv1.CoreLabels().With(provider.Cloud.Facts().Labels)
	metrics := telemetry.NewMetrics(env.Metrics, labels.WellKnown.UnsortedList())
	metrics.BuildInfo.WithLabelValues(p.Version.Number, runtime.Version(), runtime.GOARCH, p.Version.Commit).Set(1)
	cluster := observe.New(env.Clock)
	if err := cluster.Watch(ctx, mgr.GetCache()); err != nil {
		return nil, fmt.Errorf("observe the cluster: %w", err)
	}
	b := base{Env: env, settings: p.Settings, metrics: metrics, provider: provider.Cloud, labels: labels}
	all := b.deciding(cluster)
	all = append(all, b.claims()...)
	all = append(all, b.pools()...)
	return append(all, provider.Controllers...), nil
}

// base is what controllers are made of.
type base struct {
	Env
	settings *settings.Settings
	metrics  *telemetry.Metrics
	provider cloud.Provider
	labels   apiv1.LabelRules
}

// cloud returns the provider as the named controller uses it.
func (b base) cloud(controller string) cloud.Provider {
	return instrument(b.provider, controller, b.metrics, b.Clock)
}

// deciding returns the controllers that decide for the cluster as a whole.
func (b base) deciding(cluster *observe.Cluster) []Controller {
	actor := &act.Actor{Client: b.Client, Labels: b.labels}
	return []Controller{
		&provision.Controller{
			Cluster: cluster, Actor: actor, Cloud: b.cloud("provisioner"), Clock: b.Clock, Events: b.Events, Metrics: b.metrics,
			Options: pack.Options{
				Labels:         b.labels,
				RelaxMinValues: b.settings.MinValuesPolicy == settings.MinValuesPolicyBestEffort,
			},
			BatchIdle: b.settings.BatchIdleDuration, BatchMax: b.settings.BatchMaxDuration,
		},
		&disruption.Controller{
			Cluster: cluster, Actor: actor, Cloud: b.cloud("disruption"), Clock: b.Clock, Events: b.Events, Metrics: b.metrics,
		},
	}
}

// claims returns the controllers of claims and their nodes.
func (b base) claims() []Controller {
	cpu := b.settings.CPURequests
	return []Controller{
		&lifecycle.Controller{
			Client: b.Client, Clock: b.Clock, Events: b.Events, Metrics: b.metrics, Cloud: b.cloud("nodeclaim.lifecycle"),
			DRA: !b.settings.IgnoreDRARequests, CPUMillis: cpu,
		},
		&termination.Controller{
			Client: b.Client, Live: b.Live, Clock: b.Clock, Events: b.Events, Metrics: b.metrics, Cloud: b.cloud("node.termination"),
			CPUMillis: cpu,
		},
	}
}

// pools returns the controllers of pools.
func (b base) pools() []Controller {
	cpu := b.settings.CPURequests
	return []Controller{
		&nodepool.Hash{Client: b.Client, Cloud: b.cloud("nodepool.hash"), CPUMillis: cpu},
		&nodepool.Readiness{Client: b.Client, Clock: b.Clock, Cloud: b.cloud("nodepool.readiness"), CPUMillis: cpu},
		&nodepool.Validation{Client: b.Client, Clock: b.Clock, Cloud: b.cloud("nodepool.validation")},
		&nodepool.Counter{Client: b.Client, Cloud: b.cloud("nodepool.counter"), CPUMillis: cpu},
	}
}
