package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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
	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	awsdoctor "github.com/karpenter-go/karpenter/provider/aws/doctor"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// A clusterCheck has the flags of the checks of a cluster.
type clusterCheck struct{ namespace, deployment, as string }

func (k *clusterCheck) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&k.namespace, "namespace", "n", "kube-system", "Namespace of the controller")
	f.StringVar(&k.deployment, "deployment", "karpenter", "Name of the controller's Deployment")
	f.StringVar(&k.as, "as", "", "User to impersonate, for example the controller's ServiceAccount")
}

// run checks the cluster of KUBECONFIG. It also returns the checked cluster, which knows settings of the controller. An error
// has the exit code exitUnreachable.
func (k *clusterCheck) run(ctx context.Context) (*doctor.Cluster, []finding.Finding, error) {
	kube, err := clusterConfig("")
	if err != nil {
		return nil, nil, err
	}
	if k.as != "" {
		kube.Impersonate = rest.ImpersonationConfig{UserName: k.as}
	}
	c, err := k.open(kube)
	if err != nil {
		return nil, nil, coded{exitUnreachable, err}
	}
	findings, err := c.Check(ctx)
	if err != nil {
		return nil, nil, coded{exitUnreachable, err}
	}
	return c, findings, nil
}

func addAWSFlags(c *cobra.Command, o *awsdoctor.Config, otherwise string) {
	f := c.Flags()
	f.StringVar(&o.Cluster, "cluster-name", "", "Name of the EKS cluster ("+otherwise+")")
	f.StringVar(&o.Queue, "interruption-queue", "", "Name of the interruption queue")
	f.StringVar(&o.NodeRole, "node-role", "", "Name of the IAM role of nodes (default KarpenterNodeRole-CLUSTER)")
	f.StringVar(&o.Discovery, "discovery-tag", "karpenter.sh/discovery", "Tag key by which subnets and security groups are found")
}

func doctorCommand(version operator.Version) *cobra.Command {
	var k clusterCheck
	var o awsdoctor.Config
	var out output
	c := &cobra.Command{
		Use:   "doctor [cluster|aws]",
		Short: "Check that a cluster and an AWS account have what the controller needs",
		Long: "Check that a cluster and an AWS account have what the controller needs. Print each problem with its fix. The command\n" +
			"changes nothing. Exit code 1 if there are errors, 3 if the cluster or AWS cannot be reached.\n\n" +
			"Without a subcommand, the cluster is checked, and then AWS. The checks of AWS are skipped, with a note, if the provider\n" +
			"is another one, if credentials or the region are missing, or if the name of the cluster is not known. The name and the\n" +
			"interruption queue are those of the flags, or else of the controller's Deployment.",
		Example: "  karpenter doctor\n" +
			"  karpenter doctor --cluster-name production --interruption-queue production -o json\n" +
			"  karpenter doctor cluster\n  karpenter doctor aws --cluster-name production --interruption-queue production",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
	}
	k.addFlags(c)
	addAWSFlags(c, &o, "default: that of the controller's Deployment")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		cluster, findings, err := k.run(cmd.Context())
		if err != nil {
			return err
		}
		more, unreachable := checkAccount(cmd.Context(), version.Number, o, cluster.Setting)
		err = tell(cmd.OutOrStdout(), out, append(findings, more...))
		if unreachable != nil {
			return unreachable
		}
		return err
	}
	c.AddCommand(doctorClusterCommand(), doctorAWSCommand(version))
	return c
}

// checkAccount checks AWS, if the controller uses it and the command has what the check needs. Otherwise the finding is a note
// with the reason. setting returns a setting of the controller, or its last argument if it is not set.
func checkAccount(
	ctx context.Context, version string, o awsdoctor.Config, setting func(flag, env, otherwise string) string,
) ([]finding.Finding, error) {
	left := func(why, fix string) []finding.Finding {
		return []finding.Finding{{Check: "aws", Level: finding.Note, Message: "AWS is not checked: " + why, Fix: fix}}
	}
	if used := setting("provider", "KARPENTER_PROVIDER", "aws"); o.Cluster == "" && !slices.Contains(strings.Split(used, ","), "aws") {
		return left("the provider of the controller is "+used, ""), nil
	}
	o.Cluster = cmp.Or(o.Cluster, setting("cluster-name", "CLUSTER_NAME", ""))
	o.Queue = cmp.Or(o.Queue, setting("interruption-queue", "INTERRUPTION_QUEUE", ""))
	o.Isolated, _ = strconv.ParseBool(setting("isolated-vpc", "ISOLATED_VPC", "false"))
	if o.Cluster == "" {
		return left("the name of the EKS cluster is not known", "pass --cluster-name"), nil
	}
	sdk, err := loadAWS(ctx, version, logging.Nop{})
	if err != nil {
		return left(err.Error(), "set AWS_PROFILE and AWS_REGION"), nil
	}
	if sdk.Region == "" {
		return left("no region is set", "set AWS_REGION"), nil
	}
	if _, err := sdk.Credentials.Retrieve(ctx); err != nil {
		return left("no credentials were found: "+strings.ReplaceAll(err.Error(), "\n", "; "), "set AWS_PROFILE, or log in"), nil
	}
	o.AWS = sdk
	return accountFindings(ctx, o)
}

// accountFindings checks AWS. The error has the exit code exitUnreachable.
func accountFindings(ctx context.Context, o awsdoctor.Config) ([]finding.Finding, error) {
	found, err := awsdoctor.Check(ctx, o)
	if err != nil {
		return nil, coded{exitUnreachable, err}
	}
	return found, nil
}

func doctorClusterCommand() *cobra.Command {
	var k clusterCheck
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
	k.addFlags(c)
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		_, findings, err := k.run(cmd.Context())
		if err != nil {
			return err
		}
		return tell(cmd.OutOrStdout(), out, findings)
	}
	return c
}

// open returns the cluster, not checked yet.
func (k *clusterCheck) open(kube *rest.Config) (*doctor.Cluster, error) {
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
	c := &doctor.Cluster{Discovery: asked, Client: reader, Namespace: k.namespace, Deployment: k.deployment, Now: time.Now()}
	c.JoinTimes = func(ctx context.Context, setting func(flag, env, otherwise string) string) (map[schema.GroupKind]time.Duration, error) {
		times, err := launchTimeouts(ctx, reader, k.namespace, setting)
		for kind, launch := range times {
			times[kind] = lifecycle.RegistrationTimeout(launch)
		}
		return times, err
	}
	return c, nil
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

func doctorAWSCommand(version operator.Version) *cobra.Command {
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
	addAWSFlags(c, &o, "required")
	out.addFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Cluster == "" {
			return coded{exitUsage, errors.New("required flag --cluster-name not set")}
		}
		if err := out.check(); err != nil {
			return err
		}
		sdk, err := loadAWS(cmd.Context(), version.Number, logging.Nop{})
		if err != nil {
			return coded{exitUnreachable, fmt.Errorf("load the AWS configuration: %w (set AWS_PROFILE and AWS_REGION)", err)}
		}
		o.AWS = sdk
		found, err := accountFindings(cmd.Context(), o)
		if err != nil {
			return err
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
