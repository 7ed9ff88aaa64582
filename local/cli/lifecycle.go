package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/state"
)

func (a *app) up() *cobra.Command {
	var (
		boot         time.Duration
		provider     string
		remote       string
		classes      string
		gates        string
		controller   string
		chart        string
		definitions  string
		noController bool
		dashboard    bool
		ports        map[string]int
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster, or its parts that are not running",
		Long: "Start the cluster, or its parts that are not running: etcd, API server, scheduler, controller manager, emulated AWS\n" +
			"and the Karpenter controller. Return when all are ready and leave them running.",
		Example: "  karpenter-local up\n" +
			"  karpenter-local up --provider clusterapi\n" +
			"  karpenter-local up --provider remote --remote kwok\n" +
			"  karpenter-local up --provider kwok --feature-gates NodeOverlay=true,CapacityBuffer=true",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if noController {
				controller = ""
			}
			c, err := a.open(cluster.Options{
				Out: cmd.OutOrStdout(), Ports: ports, Controller: controller, Chart: chart, ClusterAPI: definitions,
				Settings: given(cmd, boot, state.Settings{
					Provider: provider, Remote: remote, NodeClasses: classes, FeatureGates: gates, Dashboard: strconv.FormatBool(dashboard),
				}),
			})
			if err != nil {
				return err
			}
			return c.Up(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&boot, "nodes-boot", cluster.DefaultNodesBoot, "Time from launch to boot of an instance")
	flags.StringVar(&provider, "provider", cluster.DefaultProvider, "Cloud provider: aws (emulated), clusterapi (simulated machines), kwok (simulated nodes), remote (another process), or several separated by commas")
	flags.StringVar(&remote, "remote", cluster.DefaultRemote,
		"Provider in another process, for --provider remote: aws, clusterapi or kwok, which a part serves, or the address of one that runs")
	flags.StringVar(&classes, "node-classes", "", "Node classes of a provider at an address, as RESOURCE.GROUP,RESOURCE.GROUP")
	flags.StringVar(&gates, "feature-gates", "", "Feature gates of the controller, as Name=true,Name=false")
	flags.StringVar(&controller, "controller", beside("karpenter"), "Path of the controller's binary")
	flags.StringVar(&chart, "chart", beside("../charts/karpenter"), "Path of the Helm chart with its permissions")
	flags.StringVar(&definitions, "cluster-api", beside("cluster-api"), "Path of the CRDs of Cluster API")
	flags.BoolVar(&dashboard, "dashboard", true, "Serve the dashboard and print its address; --dashboard=false leaves it out")
	flags.BoolVar(&noController, "no-controller", false, "Do not start the controller")
	flags.StringToIntVar(&ports, "port", nil, "Port with a fixed number, as NAME=NUMBER: etcd, kube-apiserver, awsemu, karpenter-dashboard or another one that the error of a wrong name lists")
	return cmd
}

// given returns only those settings whose flags are set on the command line.
func given(cmd *cobra.Command, boot time.Duration, all state.Settings) state.Settings {
	all.NodesBoot = boot.String()
	for flag, setting := range map[string]*string{
		"nodes-boot": &all.NodesBoot, "provider": &all.Provider, "remote": &all.Remote, "node-classes": &all.NodeClasses, "feature-gates": &all.FeatureGates,
		"dashboard": &all.Dashboard,
	} {
		if !cmd.Flags().Changed(flag) {
			*setting = ""
		}
	}
	return all
}

// beside returns a path relative to the folder of this program.
func beside(path string) string {
	self, err := os.Executable()
	if err != nil {
		return path
	}
	return filepath.Join(filepath.Dir(self), path)
}

func (a *app) down() *cobra.Command {
	return &cobra.Command{
		Use:     "down",
		Short:   "Stop the cluster and delete its state",
		Example: "  karpenter-local down",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.open(cluster.Options{Out: cmd.OutOrStdout()})
			if err != nil {
				return err
			}
			return c.Down(cmd.Context())
		},
	}
}

// watchdog returns the command that stops the cluster when its standard input ends. The standard input is a pipe from
// the process that started it, which the operating system closes when that process ends.
func (a *app) watchdog() *cobra.Command {
	return &cobra.Command{
		Use:   "watchdog",
		Short: "Stop the cluster when the process that started it ends",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := io.Copy(io.Discard, cmd.InOrStdin()); err != nil {
				return fmt.Errorf("wait for the end of the input: %w", err)
			}
			c, err := a.open(cluster.Options{})
			if err != nil {
				return err
			}
			return c.Down(cmd.Context())
		},
	}
}

func (a *app) status() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the cluster; exit code 1 unless all parts are healthy",
		Long: "Show the state, process ID and address of each part of the cluster. The exit code is 1 unless all parts are\n" +
			"healthy.",
		Example: "  karpenter-local status\n" +
			"  karpenter-local status -o json",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.open(cluster.Options{})
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			err = show(cmd.OutOrStdout(), output, status, func(w io.Writer) { statusTable(w, status) })
			if err != nil {
				return err
			}
			if !status.Ready {
				return exitCode(exitFailed)
			}
			return nil
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func statusTable(w io.Writer, status cluster.Status) {
	if len(status.Parts) == 0 {
		fmt.Fprintf(w, "no cluster in %s\n", status.Dir)
		return
	}
	fmt.Fprintln(w, "PART\tSTATE\tPID\tADDRESS")
	for _, part := range status.Parts {
		word := "healthy"
		if !part.Healthy {
			word = part.Problem
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", part.Name, word, part.PID, part.Address)
	}
}
