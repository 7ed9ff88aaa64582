package operator

import (
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// nominationShare is how many times the rate of everything else nominations may have: one is written for every pod of a plan,
// and the nodes stay closed meanwhile. That few are under way at a time protects the API server.
const nominationShare = 5

// newNominator makes a Nominator with a client of its own, like c but for the rate.
func newNominator(config *rest.Config, c client.Client, s *settings.Settings) (*act.Nominator, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = nominationShare*float32(s.KubeClientQPS), nominationShare*s.KubeClientBurst
	writer, err := client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("make client for nominations: %w", err)
	}
	return act.NewNominator(writer), nil
}
