package cli

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
)

// newClusterAPI returns the provider of Cluster API, whose instances are Machines. The management cluster, which has
// the Machines, is the cluster of the nodes unless a kubeconfig is given.
func newClusterAPI(env operator.Env, core *settings.Settings, own *clusterapi.Settings) (operator.Provider, error) {
	config := rest.CopyConfig(env.Rest)
	if own.ManagementKubeconfig != "" {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", own.ManagementKubeconfig); err != nil {
			return operator.Provider{}, fmt.Errorf("read kubeconfig of the management cluster: %w", err)
		}
		config.UserAgent = env.Rest.UserAgent
	}
	config.QPS, config.Burst = float32(core.KubeClientQPS), core.KubeClientBurst
	management, err := clusterapi.Connect(config)
	if err != nil {
		return operator.Provider{}, err
	}
	p := clusterapi.New(clusterapi.Config{
		Client: env.Client, Reader: env.Live, Management: management.Management(), Ledger: env.Ledger, Events: env.Events,
		Clock: env.Clock, Overlay: env.Overlay, PriceFile: own.PriceFile, LaunchTimeout: own.LaunchTimeout,
		Metrics: env.Metrics,
	})
	return operator.Provider{Cloud: p, Controllers: []operator.Controller{management, p.Status(), p.Collector()}}, nil
}
