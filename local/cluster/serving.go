package cluster

import (
	"fmt"
	"os"
	"strconv"

	"github.com/karpenter-go/karpenter/local/state"
)

// serving returns the flags by which a Kubernetes program listens on loopback.
func serving(s *state.State, purpose string, k keys) []string {
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(s.Ports[purpose]),
		"--tls-cert-file=" + k.serving.Cert,
		"--tls-private-key-file=" + k.serving.Key,
	}
}

// schedulerConfig raises the rate limits of kube-scheduler's client, for which there are no flags. All other settings
// have their defaults, so that pods wait as long as in other clusters.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %q
  qps: 2000
  burst: 4000
`

// writeSchedulerConfig writes the scheduler's configuration file.
func (c *Cluster) writeSchedulerConfig() error {
	text := fmt.Sprintf(schedulerConfig, c.dir.KubeconfigOf("kube-scheduler"))
	if err := os.WriteFile(c.dir.SchedulerConfig(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write scheduler configuration: %w", err)
	}
	return nil
}
