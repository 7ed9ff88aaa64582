package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/tracing"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
	"github.com/karpenter-go/karpenter/provider/kwok"
	"github.com/karpenter-go/karpenter/provider/remote"
)

func controllerCommand(version operator.Version) *cobra.Command {
	c := &cobra.Command{
		Use:   "controller",
		Short: "Run the controllers in a cluster",
		Long: "Run the controllers. They launch nodes for pending pods and remove nodes that are not needed.\n\n" +
			"Each flag can also be set by the environment variable in brackets. The flag takes precedence.\n" +
			"The cluster is the one that KUBECONFIG selects, or the one in which the program runs.",
		Example: "  karpenter controller --cluster-name production --log-level debug\n" +
			"  CLUSTER_NAME=production karpenter controller\n" +
			"  karpenter controller --provider clusterapi --management-kubeconfig /etc/management/kubeconfig\n" +
			"  karpenter controller --provider kwok   # simulated nodes, for a cluster with kwok",
		Args: noArgs,
	}
	core := settings.AddFlags(c.Flags())
	clouds := providers{aws: aws.AddFlags(c.Flags()), kwok: kwok.AddFlags(c.Flags()), clusterapi: clusterapi.AddFlags(c.Flags()), remote: remote.AddFlags(c.Flags())}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		core.Complete()
		if err := errors.Join(core.Validate(), clouds.validate(core.Providers())); err != nil {
			problems := strings.Count(err.Error(), "\n") + 1
			return coded{exitUsage, fmt.Errorf("invalid configuration: %s\n%w", units.Counted(problems, "error"), err)}
		}
		return runProgram(cmd.Context(), version, core, clouds, nil)
	}
	return c
}

// providers has the settings of all providers of this build. The setting provider names the ones that are used.
type providers struct {
	aws        *aws.Settings
	kwok       *kwok.Settings
	clusterapi *clusterapi.Settings
	remote     *remote.Settings
	// version is the version of the program. runProgram sets it.
	version string
}

// validate returns an error if the settings of the named providers are invalid. It ignores those of others.
func (p providers) validate(names []string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, p.validateOne(name))
	}
	return errors.Join(errs...)
}

func (p providers) validateOne(name string) error {
	switch name {
	case settings.ProviderAWS:
		return p.aws.Validate()
	case settings.ProviderKWOK:
		_, err := p.kwok.Types()
		return err
	case settings.ProviderClusterAPI:
		return p.clusterapi.Validate()
	case settings.ProviderRemote:
		return p.remote.Validate()
	}
	return nil
}

// kinds returns the kinds of custom resources of the named providers. For ProviderRemote they are not known before the providers have
// answered.
func (p providers) kinds(names []string) (all []schema.GroupVersionKind) {
	for _, name := range names {
		switch name {
		case settings.ProviderAWS:
			all = append(all, aws.Facts().NodeClasses...)
		case settings.ProviderKWOK:
			all = append(all, kwok.Facts().NodeClasses...)
		case settings.ProviderClusterAPI:
			all = append(all, clusterapiv1alpha1.GroupVersion.WithKind(clusterapiv1alpha1.Kind))
		}
	}
	return all
}

// open creates the providers that core.Provider names. If there are several, it combines them into one.
func (p providers) open(ctx context.Context, env operator.Env, core *settings.Settings) (operator.Provider, error) {
	var all []operator.Provider
	for _, name := range core.Providers() {
		parts, err := p.openOne(ctx, env, core, name)
		if err != nil {
			return operator.Provider{}, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, parts...)
	}
	return operator.Join(all...)
}

// openOne creates the providers with one name. For ProviderRemote these may be several.
func (p providers) openOne(ctx context.Context, env operator.Env, core *settings.Settings, name string) ([]operator.Provider, error) {
	if name == settings.ProviderRemote {
		return newRemotes(ctx, env, core, p.remote)
	}
	var one operator.Provider
	var err error
	switch name {
	case settings.ProviderKWOK:
		one, err = newKWOK(env, p.kwok)
	case settings.ProviderClusterAPI:
		one, err = newClusterAPI(env, core, p.clusterapi)
	default:
		one, err = newAWS(ctx, env, core, p.aws, p.version)
	}
	return []operator.Provider{one}, err
}

// lastSpans bounds the time for exporting the last spans when the controller ends.
const lastSpans = 5 * time.Second

// runProgram runs the controllers of Karpenter. If instead is not nil, it runs the controllers that instead
// returns.
func runProgram(
	ctx context.Context, version operator.Version, core *settings.Settings, clouds providers,
	instead func(operator.Env, operator.Provider) []operator.Controller,
) error {
	out, closeLog, err := telemetry.OpenLog(core.LogOutputPaths)
	if err != nil {
		return coded{exitUsage, fmt.Errorf("--log-output-paths (LOG_OUTPUT_PATHS): %w", err)}
	}
	defer closeLog()
	panics := &telemetry.Panics{}
	log, err := telemetry.NewLogger(telemetry.LogOptions{
		Level: core.LogLevel, Commit: version.Commit, Out: out, Clock: clock.RealClock{}, Panics: panics,
	})
	if err != nil {
		return coded{exitUsage, err}
	}
	var record io.Writer
	if core.DecisionLog != "" {
		out, closeDecisions, err := telemetry.OpenLog([]string{core.DecisionLog})
		if err != nil {
			return coded{exitUsage, fmt.Errorf("--decision-log (DECISION_LOG): %w", err)}
		}
		defer closeDecisions()
		record = out
	}
	tracer, stopTracing := tracing.Start(ctx, log, version.Number, os.Getenv)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		if err := stopTracing(ctx); err != nil {
			log.Error(err, "failed to export the last spans")
		}
	}()
	clouds.version = version.Number
	kube, err := clusterConfig("")
	if err != nil {
		return err
	}
	err = operator.Run(ctx, operator.Program{
		Settings: core, Rest: kube, Log: log, Panics: panics, Version: version, ClusterName: clouds.aws.ClusterName, Decisions: record, Tracer: tracer,
		Kinds: clouds.kinds(core.Providers()),
		Provider: func(ctx context.Context, env operator.Env) (operator.Provider, error) {
			return clouds.open(ctx, env, core)
		},
		Instead: instead,
	})
	if err != nil {
		log.Error(err, "stopped")
		return coded{exitUnreachable, err}
	}
	return nil
}
