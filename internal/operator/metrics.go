package operator

import (
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/karpenter-go/karpenter/internal/operator/guard"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// metricsServer returns the options of the server of metrics and profiles. Both have the same protection. Without a directory
// of certificates, the server makes a self-signed one.
func metricsServer(s *settings.Settings, c clock.PassiveClock) metricsserver.Options {
	o := metricsserver.Options{
		BindAddress: address(s.MetricsPort), ExtraHandlers: profiling(s.EnableProfiling),
		SecureServing: s.MetricsTLS, CertDir: s.MetricsCertificateDir,
	}
	if s.MetricsAuthentication {
		o.FilterProvider = func(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
			g, err := guard.New(config, httpClient, c)
			if err != nil {
				return nil, err
			}
			return func(_ logr.Logger, next http.Handler) (http.Handler, error) { return g.Protect(next), nil }, nil
		}
	}
	return o
}
