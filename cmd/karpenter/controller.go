package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws"
)

func controllerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "controller",
		Short: "Run the controllers in a cluster",
		Long: "Run the controllers: pods that wait get nodes, nodes that nothing needs end.\n\n" +
			"Every flag can be given by the environment variable in brackets; a flag goes before its variable.\n" +
			"The cluster is that of KUBECONFIG, or the one that the program runs in.",
		Example: "  karpenter controller --cluster-name production --log-level debug\n" +
			"  CLUSTER_NAME=production karpenter controller",
		Args: cobra.NoArgs,
	}
	core, cloud := settings.AddFlags(c.Flags()), aws.AddFlags(c.Flags())
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		core.Complete()
		if err := errors.Join(core.Validate(), cloud.Validate()); err != nil {
			return coded{exitUsage, fmt.Errorf("settings:\n%w", err)}
		}
		if core.Provider != settings.ProviderAWS {
			return coded{exitUsage, fmt.Errorf("--provider %s is not part of this build, which has: aws", core.Provider)}
		}
		return runController(cmd.Context(), core, cloud)
	}
	return c
}

func runController(ctx context.Context, core *settings.Settings, cloud *aws.Settings) error {
	out, closeLog, err := telemetry.OpenLog(core.LogOutputPaths)
	if err != nil {
		return coded{exitUsage, fmt.Errorf("--log-output-paths (LOG_OUTPUT_PATHS): %w", err)}
	}
	defer closeLog()
	log, err := telemetry.NewLogger(telemetry.LogOptions{
		Level: core.LogLevel, Commit: build().Commit, Out: out, Clock: clock.RealClock{},
	})
	if err != nil {
		return coded{exitUsage, err}
	}
	kube, err := config.GetConfig()
	if err != nil {
		return coded{exitUnreachable, fmt.Errorf("find the cluster: %w (set KUBECONFIG)", err)}
	}
	err = operator.Run(ctx, operator.Program{
		Settings: core, Rest: kube, Log: log, Version: build(),
		Provider: func(ctx context.Context, env operator.Env) (operator.Provider, error) {
			return newAWS(ctx, env, core, cloud)
		},
	})
	if err != nil {
		log.Error(err, "stopped")
		return coded{exitUnreachable, err}
	}
	return nil
}
