package cli

import (
	"context"

	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// newRemotes connects to the providers in other processes.
func newRemotes(ctx context.Context, env operator.Env, core *settings.Settings, own *remote.Settings) ([]operator.Provider, error) {
	trust, err := own.TLS()
	if err != nil {
		return nil, err
	}
	metrics := remote.NewMetrics(env.Metrics)
	var all []operator.Provider
	for _, address := range own.Addresses {
		p, err := remote.Connect(ctx, remote.Config{
			Address: address, TLS: trust, Client: env.Client, Reader: env.Live, Clock: env.Clock, Events: env.Events,
			Metrics: metrics, Overlay: env.Overlay, Namespace: core.Namespace(),
		})
		if err != nil {
			return nil, err
		}
		out := operator.Provider{Cloud: p, Controllers: []operator.Controller{p.Pulse()}}
		for _, c := range p.Statuses() {
			out.Controllers = append(out.Controllers, c)
		}
		all = append(all, out)
	}
	return all, nil
}
