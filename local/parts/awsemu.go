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
	flags.StringVar(&p.Addr, "address", "", "Address to listen on, as HOST:PORT")
	flags.StringVar(&p.Kubeconfig, "kubeconfig", "", "Kubeconfig with which instances join the cluster (default: they do not join)")
	flags.StringVar(&p.Region, "region", "", "Region of the account")
	flags.Uint64Var(&p.Seed, "seed", 1, "Seed of prices, identifiers and random choices")
	flags.StringVar(&p.Throttle, "throttle", "", "ec2 for the documented API limits of EC2 (default: no limits)")
	flags.StringVar(&p.ClusterName, "cluster-name", "", "Name of the cluster")
	flags.StringVar(&p.ClusterEndpoint, "cluster-endpoint", "", "URL of the API server")
	flags.StringVar(&o.caFile, "cluster-ca", "", "File with the certificate authority of the cluster")
	flags.StringVar(&p.Version, "cluster-version", "", "Kubernetes version of the cluster, for example 1.36")
	flags.StringVar(&p.ServiceCIDR, "service-cidr", "", "CIDR block of services")
	flags.DurationVar(&p.BootDelay, "nodes-boot", 3*time.Second, "Time from launch to registration of a node")
	return cmd
}

// run serves until ctx is done.
func (o awsemuOptions) run(ctx context.Context) error {
	ca, err := os.ReadFile(o.caFile)
	if err != nil {
		return fmt.Errorf("read certificate authority: %w", err)
	}
	// 0 would select the default.
	o.process.BootDelay = max(o.process.BootDelay, time.Nanosecond)
	o.process.CA = base64.StdEncoding.EncodeToString(ca)
	o.process.Log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	return awsemu.Run(ctx, o.process)
}
