package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/internal/doctor"
	"github.com/karpenter-go/karpenter/internal/finding"
	"github.com/karpenter-go/karpenter/internal/report"
	awsdoctor "github.com/karpenter-go/karpenter/provider/aws/doctor"
)

func doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor cluster|aws",
		Short: "Check a cluster and an AWS account for what the controller needs",
		Long: "Check a cluster and an AWS account for what the controller needs. Each finding comes with its fix; nothing is\n" +
			"changed. Exit code 1 if there are errors.",
		Example: "  karpenter doctor cluster\n  karpenter doctor aws --cluster-name production --interruption-queue production",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(doctorClusterCommand(), doctorAWSCommand())
	return c
}

func doctorClusterCommand() *cobra.Command {
	var namespace, deployment, as string
	var out output
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Check the cluster: kinds, rights, controller, pools, claims, budgets",
		Long: "Check the cluster of KUBECONFIG, or the one that the program runs in: kinds, rights, the controller and its lease,\n" +
			"pools and node classes, claims that hang, budgets that block, other autoscalers, pods that wait.",
		Example: "  karpenter doctor cluster --namespace kube-system\n" +
			"  karpenter doctor cluster --as system:serviceaccount:kube-system:karpenter    # with the controller's rights",
		Args: cobra.NoArgs,
	}
	c.Flags().StringVarP(&namespace, "namespace", "n", "kube-system", "namespace of the controller")
	c.Flags().StringVar(&deployment, "deployment", "karpenter", "name of the controller's Deployment")
	c.Flags().StringVar(&as, "as", "", "look as this user, for example the controller's ServiceAccount")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		kube, err := config.GetConfig()
		if err != nil {
			return coded{exitUnreachable, fmt.Errorf("find the cluster: %w (set KUBECONFIG)", err)}
		}
		if as != "" {
			kube.Impersonate = rest.ImpersonationConfig{UserName: as}
		}
		findings, err := lookAtCluster(cmd.Context(), kube, namespace, deployment)
		if err != nil {
			return coded{exitUnreachable, err}
		}
		return tell(cmd.OutOrStdout(), out, findings)
	}
	return c
}

func lookAtCluster(ctx context.Context, kube *rest.Config, namespace, deployment string) ([]finding.Finding, error) {
	scheme := api.Scheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	kube.Timeout = 30 * time.Second
	asked, err := discovery.NewDiscoveryClientForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("make discovery client: %w", err)
	}
	reader, err := client.New(kube, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	c := &doctor.Cluster{Discovery: asked, Client: reader, Namespace: namespace, Deployment: deployment, Now: time.Now()}
	return c.Check(ctx)
}

func doctorAWSCommand() *cobra.Command {
	var o awsdoctor.Config
	var out output
	c := &cobra.Command{
		Use:   "aws",
		Short: "Check the AWS account: permissions, tags, queue, rules, node role, quotas",
		Long: "Check the AWS account of the environment's credentials: each permission by a dry run, tags on subnets and security\n" +
			"groups, the interruption queue and its rules, the role of nodes and its access, quotas.",
		Example: "  AWS_PROFILE=production karpenter doctor aws --cluster-name production --interruption-queue production",
		Args:    cobra.NoArgs,
	}
	c.Flags().StringVar(&o.Cluster, "cluster-name", "", "name of the cluster; required")
	c.Flags().StringVar(&o.Queue, "interruption-queue", "", "name of the interruption queue")
	c.Flags().StringVar(&o.NodeRole, "node-role", "", "name of the role of nodes (default KarpenterNodeRole-<cluster>)")
	c.Flags().StringVar(&o.Discovery, "discovery-tag", "karpenter.sh/discovery", "key of the tag of subnets and security groups")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Cluster == "" {
			return coded{exitUsage, errors.New("--cluster-name is missing")}
		}
		if err := out.check(); err != nil {
			return err
		}
		sdk, err := awsconfig.LoadDefaultConfig(cmd.Context(), awsconfig.WithAppID("karpenter"), awsconfig.WithLogger(logging.Nop{}))
		if err != nil {
			return coded{exitUnreachable, fmt.Errorf("configure the AWS SDK: %w", err)}
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

// tell prints findings. The error is that some of them are errors.
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
		return errors.New(report.Count(errs, "error"))
	}
	return nil
}
