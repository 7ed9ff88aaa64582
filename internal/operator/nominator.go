package operator

import (
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// nominationShare is the rate of nominations as a multiple of --kube-client-qps. One nomination is written for each pod of
// a plan, and the new nodes exclude pods until they are written. The limit on concurrent writes (act.Nominator) protects
// the API server.
const nominationShare = 5

// newNominator returns a Nominator with a separate client, which has the scheme and mapper of c, but a higher rate and no
// cache.
func newNominator(config *rest.Config, c client.Client, s *settings.Settings) (*act.Nominator, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = nominationShare*float32(s.KubeClientQPS), nominationShare*s.KubeClientBurst
	writer, err := client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("make client for nominations: %w", err)
	}
	return act.NewNominator(writer), nil
}
