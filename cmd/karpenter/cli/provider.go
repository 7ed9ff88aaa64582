package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
	"github.com/karpenter-go/karpenter/provider/kwok"
	"github.com/karpenter-go/karpenter/provider/remote"
	"github.com/karpenter-go/karpenter/provider/remote/check"
	"github.com/karpenter-go/karpenter/provider/remote/serve"
)

func providerCommand(version operator.Version) *cobra.Command {
	c := &cobra.Command{
		Use:   "provider serve|check",
		Short: "Offer a cloud provider to other processes, or check one",
		Long: "Offer a cloud provider of this program to controllers in other processes, or check any program that offers one.\n" +
			"Both use the protocol karpenter.cloud.v1.",
		Example: "  karpenter provider serve --provider aws --listen unix:///run/karpenter/aws.sock\n" +
			"  karpenter provider check unix:///run/toy.sock",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(providerServeCommand(version), providerCheckCommand())
	return c
}

func providerServeCommand(version operator.Version) *cobra.Command {
	var listener serve.Listener
	c := &cobra.Command{
		Use:   "serve",
		Short: "Offer a cloud provider to controllers in other processes",
		Long: "Run the provider that --provider names, with its own controllers, and offer it at --listen. The controller of\n" +
			"Karpenter uses it with --provider remote. All flags of the controller that concern the provider apply.\n" +
			"Of several processes only the leader serves; the Lease is karpenter-provider-NAME.",
		Example: "  karpenter provider serve --provider aws --listen unix:///run/karpenter/aws.sock --cluster-name production\n" +
			"  karpenter controller --provider remote --provider-address unix:///run/karpenter/aws.sock",
		Args: noArgs,
	}
	f := c.Flags()
	core := settings.AddFlags(f)
	clouds := providers{aws: aws.AddFlags(f), kwok: kwok.AddFlags(f), clusterapi: clusterapi.AddFlags(f), remote: remote.AddFlags(f)}
	f.StringVar(&listener.Address, "listen", "", "Address: unix:///path, or host:port with TLS")
	f.StringVar(&listener.CertFile, "tls-certificate-file", "", "PEM file with the certificate for host:port")
	f.StringVar(&listener.KeyFile, "tls-key-file", "", "PEM file with the key of --tls-certificate-file")
	f.StringVar(&listener.ClientCAFile, "tls-client-ca-file", "", "PEM file with the certificates that sign those of clients, for host:port")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		core.Complete()
		errs := []error{core.Validate(), clouds.validate(core.Providers())}
		if err := remote.CheckAddress(listener.Address); err != nil {
			errs = append(errs, fmt.Errorf("--listen: %w", err))
		}
		if _, err := listener.Credentials(); err != nil {
			errs = append(errs, fmt.Errorf("--listen: %w", err))
		}
		if len(core.Providers()) != 1 || core.Provider == settings.ProviderRemote {
			errs = append(errs, errors.New("--provider: name one provider of this program"))
		}
		if err := errors.Join(errs...); err != nil {
			return coded{exitUsage, fmt.Errorf("invalid configuration: %w", err)}
		}
		if !f.Changed("leader-election-name") {
			core.LeaderElectionName = "karpenter-provider-" + core.Provider
		}
		instead := func(env operator.Env, p operator.Provider) []operator.Controller {
			return []operator.Controller{serve.NewController(serve.Config{
				Provider: p.Cloud, Version: version.Number, Clock: clock.RealClock{}, Log: env.Log.WithName("serve"),
				Without: withoutCalls[core.Provider],
			}, listener)}
		}
		return runProgram(cmd.Context(), version, core, clouds, instead)
	}
	return c
}

// withoutCalls are the optional calls that the providers of this program do not support.
var withoutCalls = map[string][]cloudv1.Capability{
	settings.ProviderClusterAPI: {cloudv1.Capability_CAPABILITY_REBOOT},
}

func providerCheckCommand() *cobra.Command {
	var file, caFile, certFile, keyFile, pool string
	var out output
	c := &cobra.Command{
		Use:   "check ADDRESS",
		Short: "Check whether a provider in another process follows the protocol",
		Long: "Run the conformance suite against a provider that listens at ADDRESS: unix:///path, or host:port with TLS. The\n" +
			"provider must have no instances. The check launches some, which costs money on a real cloud, and terminates them.\n" +
			"It needs a cluster only for a provider that reads NodeClaims from its own cluster, as those of karpenter provider\n" +
			"serve do. Then KUBECONFIG must select that cluster, and --nodepool is required. The cluster must have no NodeClaims\n" +
			"and no controller.\n" +
			"Exit code 1 if a check fails, 3 if the provider or the cluster cannot be reached.",
		Example: "  karpenter provider check unix:///run/toy.sock\n" +
			"  karpenter provider check unix:///run/karpenter/aws.sock --nodepool default\n" +
			"  karpenter provider check toy.example.com:443 --filename nodeclass.yaml -o json",
		Args: cobra.ExactArgs(1),
	}
	f := c.Flags()
	f.StringVarP(&file, "filename", "f", "", "File with the node class to launch from (default: the example of the provider)")
	f.StringVar(&pool, "nodepool", "", "NodePool for the NodeClaims of the check, for a provider that reads NodeClaims from its cluster")
	f.StringVar(&caFile, "ca-file", "", "PEM file with the certificates that sign that of the provider")
	f.StringVar(&certFile, "certificate-file", "", "PEM file with the certificate of the client")
	f.StringVar(&keyFile, "key-file", "", "PEM file with the key of --certificate-file")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if err := remote.CheckAddress(args[0]); err != nil {
			return coded{exitUsage, err}
		}
		trust, err := (&remote.Settings{CAFile: caFile, CertFile: certFile, KeyFile: keyFile}).TLS()
		if err != nil {
			return coded{exitUsage, err}
		}
		class, err := readNodeClass(file)
		if err != nil {
			return err
		}
		ctrl.SetLogger(logr.Discard()) // what matters is in the report
		metrics := remote.NewMetrics(nil)
		options := check.Options{
			Class: class, Clock: clock.RealClock{},
			Connect: func(ctx context.Context, classes client.Reader) (*remote.Provider, error) {
				return remote.Connect(ctx, remote.Config{
					Address: args[0], TLS: trust, Reader: classes, Clock: clock.RealClock{}, Metrics: metrics,
				})
			},
		}
		if pool != "" {
			if options.Cluster, options.Pool, err = openCheckedCluster(cmd.Context(), pool); err != nil {
				return err
			}
		}
		if out != asJSON {
			options.Done = func(l check.Line) { printLine(cmd.OutOrStdout(), l) }
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "connecting to %s, at most %v\n", args[0], remote.StartPatience)
		report, err := check.Run(cmd.Context(), options)
		var access *check.AccessError
		if err != nil && !errors.As(err, &access) && len(report.Lines) == 0 {
			return coded{exitUnreachable, err}
		}
		return errors.Join(err, printReport(cmd.OutOrStdout(), report, out))
	}
	return c
}

// readNodeClass reads the node class in a file, nil without a file.
func readNodeClass(file string) (*unstructured.Unstructured, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, coded{exitUsage, fmt.Errorf("read node class: %w", err)}
	}
	class := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &class.Object); err != nil {
		return nil, fmt.Errorf("read node class: %s: %w", file, err)
	}
	return class, nil
}

func printLine(w io.Writer, l check.Line) {
	fmt.Fprintf(w, "%-8s%s\n", l.Result, l.Check)
	for _, p := range l.Problems {
		fmt.Fprintf(w, "        %s\n", strings.ReplaceAll(p, "\n", "\n        "))
	}
}

// printReport prints the summary, or the whole report as JSON. It returns an error if a check has failed.
func printReport(w io.Writer, r check.Report, out output) error {
	if out == asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(w, "\nProvider %s %s, node classes %s.\n", r.Provider, r.Version, strings.Join(r.NodeClasses, ", "))
		for _, m := range r.Missing {
			fmt.Fprintf(w, "Omitted: %s.\n", m)
		}
		if n := len(r.Left); n > 0 {
			fmt.Fprintf(w, "Left: the check could not end all instances that it launched (%d); end them yourself: %s.\n", n, strings.Join(r.Left, ", "))
		}
	}
	if n := r.Failed(); n > 0 {
		return fmt.Errorf("%d of %d checks failed", n, len(r.Lines))
	}
	if out != asJSON && len(r.Lines) > 0 {
		fmt.Fprintf(w, "All %d checks passed or were skipped.\n", len(r.Lines))
	}
	return nil
}
