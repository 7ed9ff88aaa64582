package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/story"
)

func (a *app) demo() *cobra.Command {
	var (
		pods    int
		example string
		patient time.Duration
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Apply the quickstart, scale it up and show its nodes",
		Long: "Apply examples/quickstart to the running cluster, scale its workload up, and show the nodes until all pods run.\n" +
			"Then print commands to try next.",
		Example: "  karpenter-local demo\n" +
			"  karpenter-local demo --pods 50 --timeout 10m",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.open(cluster.Options{})
			if err != nil {
				return err
			}
			watcher, err := newClient(c)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), patient)
			defer cancel()
			s := story.Story{
				Client: watcher, Cloud: control.Client{BaseURL: c.Emulator()},
				Log: c.Dir().Log(cluster.ControllerName), Example: example, Pods: pods,
				Out: cmd.OutOrStdout(), Clock: clock.RealClock{},
			}
			if err := s.Tell(ctx); err != nil {
				return err
			}
			a.tryNext(cmd, c)
			return nil
		},
	}
	cmd.Flags().IntVar(&pods, "pods", 10, "how many pods to scale to")
	cmd.Flags().StringVar(&example, "example", beside("../examples/quickstart"), "directory of manifests")
	cmd.Flags().DurationVar(&patient, "timeout", 5*time.Minute, "Time to wait for the pods")
	return cmd
}

// newClient returns a client for the kinds of Kubernetes and of Karpenter.
func newClient(c *cluster.Cluster) (client.WithWatch, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	return watcher, nil
}

// tryNext prints commands for the running cluster, with the name by which the program was called.
func (a *app) tryNext(cmd *cobra.Command, c *cluster.Cluster) {
	self := invocation(a.dir)
	if c.HasDashboard() {
		fmt.Fprintf(cmd.OutOrStdout(), "\nThe dashboard shows the nodes, the money and the reasons: %s\n", c.Dashboard())
	}
	fmt.Fprintf(cmd.OutOrStdout(), `
Try next:
  %[1]s kubectl get nodepools,nodeclaims,ec2nodeclasses,nodes
  %[1]s kubectl scale deployment inflate --replicas=0   # empty nodes are drained and terminated
  %[1]s aws instances                                   # instances of the account, with prices
  %[1]s aws ice '*/us-east-1a/*'                        # no capacity in that zone; scale up again
  %[1]s logs karpenter -f
  %[1]s down                                            # stop the cluster and delete its state
`, self)
}
