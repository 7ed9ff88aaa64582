package parts

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/awsemu"
)

// awsemuOptions are the arguments of the emulator part.
type awsemuOptions struct {
	process awsemu.ProcessOptions
	caFile  string
}

func newAwsemu() *cobra.Command {
	var o awsemuOptions
	cmd := &cobra.Command{
		Use:  "awsemu",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	flags, p := cmd.Flags(), &o.process
	flags.StringVar(&p.Addr, "address", "", "host:port to listen on")
	flags.StringVar(&p.Kubeconfig, "kubeconfig", "", "how instances join the cluster; empty: none does")
	flags.StringVar(&p.Region, "region", "", "region of the account")
	flags.Uint64Var(&p.Seed, "seed", 1, "what prices, identifiers and choices come from")
	flags.StringVar(&p.Throttle, "throttle", "", "ec2 for the limits that EC2 documents for each API; empty: none")
	flags.StringVar(&p.ClusterName, "cluster-name", "", "name of the cluster")
	flags.StringVar(&p.ClusterEndpoint, "cluster-endpoint", "", "URL of its API server")
	flags.StringVar(&o.caFile, "cluster-ca", "", "file with its certificate authority")
	flags.StringVar(&p.Version, "cluster-version", "", "its Kubernetes version, such as 1.36")
	flags.StringVar(&p.ServiceCIDR, "service-cidr", "", "range of its service addresses")
	flags.DurationVar(&p.BootDelay, "nodes-boot", 3*time.Second, "time from launch to a node that registers")
	return cmd
}

// run serves until ctx is done.
func (o awsemuOptions) run(ctx context.Context) error {
	ca, err := os.ReadFile(o.caFile)
	if err != nil {
		return fmt.Errorf("read certificate authority: %w", err)
	}
	// None means the default there.
	o.process.BootDelay = max(o.process.BootDelay, time.Nanosecond)
	o.process.CA = base64.StdEncoding.EncodeToString(ca)
	o.process.Log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	return awsemu.Run(ctx, o.process)
}
