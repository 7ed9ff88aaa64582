package cli

import (
	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/local/cluster"
)

func (a *app) snapshot() *cobra.Command {
	return &cobra.Command{
		Use:     "snapshot FILE",
		Short:   "Write a snapshot of etcd to a file",
		Long:    "Write a snapshot of etcd, which holds all objects, to a file. The cluster keeps running.",
		Example: "  karpenter-local snapshot before.db",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.open(cluster.Options{Out: cmd.OutOrStdout()})
			if err != nil {
				return err
			}
			return c.Snapshot(cmd.Context(), args[0])
		},
	}
}

func (a *app) restore() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore etcd from a snapshot",
		Long: "Stop the API server and etcd, replace all objects by those of a snapshot, and start both again. The other parts and\n" +
			"the instances of the emulated AWS are not changed. If etcd does not start with the snapshot, the former objects are kept.",
		Example: "  karpenter-local restore before.db",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.open(cluster.Options{Out: cmd.OutOrStdout()})
			if err != nil {
				return err
			}
			bump := uint64(cluster.RevisionBump)
			if keep {
				bump = 0
			}
			return c.Restore(cmd.Context(), args[0], bump)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-revision", false, "Continue with the revisions of the snapshot, so that clients do not notice the restore")
	return cmd
}
