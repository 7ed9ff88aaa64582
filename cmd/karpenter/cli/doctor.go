package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/doctor"
	"github.com/karpenter-go/karpenter/internal/finding"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	awsdoctor "github.com/karpenter-go/karpenter/provider/aws/doctor"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
	"github.com/karpenter-go/karpenter/provider/remote"
)

func doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor cluster|aws",
		Short: "Check that a cluster and an AWS account have what the controller needs",
		Long: "Check that a cluster and an AWS account have what the controller needs. Print each problem with its fix. The command\n" +
			"changes nothing. Exit code 1 if there are errors.",
		Example: "  karpenter doctor cluster\n  karpenter doctor aws --cluster-name production --interruption-queue production",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(doctorClusterCommand(), doctorAWSCommand())
	return c
}

func doctorClusterCommand() *cobra.Command {
	var namespace, deployment, as string
	var out output
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Check CRDs, permissions, controller, NodePools, NodeClaims and disruption budgets",
		Long: "Check the cluster that KUBECONFIG selects, or the one in which the program runs: CRDs, permissions, the controller\n" +
			"and its Lease, NodePools and node classes, stuck NodeClaims, PodDisruptionBudgets that block evictions, other\n" +
			"autoscalers and pending pods. The permissions are those of the user; use --as for those of the controller.",
		Example: "  karpenter doctor cluster --namespace kube-system\n" +
			"  karpenter doctor cluster --as system:serviceaccount:kube-system:karpenter    # permissions of the controller",
		Args: noArgs,
	}
	c.Flags().StringVarP(&namespace, "namespace", "n", "kube-system", "Namespace of the controller")
	c.Flags().StringVar(&deployment, "deployment", "karpenter", "Name of the controller's Deployment")
	c.Flags().StringVar(&as, "as", "", "User to impersonate, for example the controller's ServiceAccount")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		kube, err := clusterConfig("")
		if err != nil {
			return err
		}
		if as != "" {
			kube.Impersonate = rest.ImpersonationConfig{UserName: as}
		}
		findings, err := checkCluster(cmd.Context(), kube, namespace, deployment)
		if err != nil {
			return coded{exitUnreachable, err}
		}
		return tell(cmd.OutOrStdout(), out, findings)
	}
	return c
}

func checkCluster(ctx context.Context, kube *rest.Config, namespace, deployment string) ([]finding.Finding, error) {
	scheme := api.Scheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	kube.Timeout = 30 * time.Second
	asked, err := discovery.NewDiscoveryClientForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	reader, err := client.New(kube, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", kube.Host, err)
	}
	c := &doctor.Cluster{Discovery: asked, Client: reader, Namespace: namespace, Deployment: deployment, Now: time.Now()}
	c.JoinTimes = func(ctx context.Context, setting func(flag, env, otherwise string) string) (map[schema.GroupKind]time.Duration, error) {
		times, err := launchTimeouts(ctx, reader, namespace, setting)
		for kind, launch := range times {
			times[kind] = lifecycle.RegistrationTimeout(launch)
		}
		return times, err
	}
	return c.Check(ctx)
}

// launchTimeouts returns the launch timeouts of Cluster API and of the remote providers that a controller in the namespace
// uses, by kind of node class. setting returns a setting of the controller, or its last argument if it is not set.
func launchTimeouts(
	ctx context.Context, c client.Reader, namespace string, setting func(flag, env, otherwise string) string,
) (map[schema.GroupKind]time.Duration, error) {
	out := map[schema.GroupKind]time.Duration{
		{Group: clusterapiv1alpha1.Group, Kind: clusterapiv1alpha1.Kind}: clusterapi.LaunchTimeoutOf(setting),
	}
	if !strings.Contains(setting("provider", "KARPENTER_PROVIDER", ""), settings.ProviderRemote) {
		return out, nil
	}
	stored, err := remote.StoredLaunchTimeouts(ctx, c, namespace)
	maps.Copy(out, stored)
	return out, err
}

func doctorAWSCommand() *cobra.Command {
	var o awsdoctor.Config
	var out output
	c := &cobra.Command{
		Use:   "aws",
		Short: "Check AWS permissions, tags, queue, rules, node role and quotas",
		Long: "Check the AWS account of the credentials in the environment: permissions (by dry runs and reads), tags of subnets and\n" +
			"security groups, the interruption queue and its EventBridge rules, the node role and its access entry, quotas.",
		Example: "  AWS_PROFILE=production karpenter doctor aws --cluster-name production --interruption-queue production",
		Args:    noArgs,
	}
	c.Flags().StringVar(&o.Cluster, "cluster-name", "", "Name of the EKS cluster (required)")
	c.Flags().StringVar(&o.Queue, "interruption-queue", "", "Name of the interruption queue")
	c.Flags().StringVar(&o.NodeRole, "node-role", "", "Name of the IAM role of nodes (default KarpenterNodeRole-CLUSTER)")
	c.Flags().StringVar(&o.Discovery, "discovery-tag", "karpenter.sh/discovery", "Tag key by which subnets and security groups are found")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Cluster == "" {
			return coded{exitUsage, errors.New("required flag --cluster-name not set")}
		}
		if err := out.check(); err != nil {
			return err
		}
		sdk, err := awsconfig.LoadDefaultConfig(cmd.Context(), awsconfig.WithAppID("karpenter"), awsconfig.WithLogger(logging.Nop{}))
		if err != nil {
			return coded{exitUnreachable, fmt.Errorf("load the AWS configuration: %w (set AWS_PROFILE and AWS_REGION)", err)}
		}
		o.AWS = sdk
		found, err := awsdoctor.Check(cmd.Context(), o)
		if err != nil {
			return coded{exitUnreachable, err}
		}
		return tell(cmd.OutOrStdout(), out, found)
	}
	return c
}

// tell prints findings. It returns an error if some of them are errors.
func tell(w io.Writer, out output, findings []finding.Finding) error {
	if out == asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(append([]finding.Finding{}, findings...)); err != nil {
			return err
		}
	}
	errs := 0
	for _, f := range findings {
		if out == asText {
			fmt.Fprintln(w, f)
		}
		if f.Level == finding.Error {
			errs++
		}
	}
	if errs > 0 {
		return errors.New(units.Counted(errs, "error"))
	}
	return nil
}
