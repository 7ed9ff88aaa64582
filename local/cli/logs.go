package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/local/cluster"
)

// followEvery is the interval in which a followed log is read.
const followEvery = 200 * time.Millisecond

func (a *app) logs() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs PART",
		Short: "Print the log of a part",
		Long:  "Print the log of a part of the cluster. karpenter-local status lists the parts.",
		Example: "  karpenter-local logs karpenter\n" +
			"  karpenter-local logs kube-scheduler -f",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.open(cluster.Options{})
			if err != nil {
				return err
			}
			if !c.Dir().Exists() {
				return fmt.Errorf("open %s: %w", c.Dir(), cluster.ErrNone)
			}
			file, err := openLog(c, args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			if !follow {
				_, err := io.Copy(cmd.OutOrStdout(), file)
				return err
			}
			return followLog(cmd.Context(), cmd.OutOrStdout(), file)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "Print new lines until interrupted")
	return cmd
}

// openLog opens the log of a part. If there is none, the error names the parts that have one.
func openLog(c *cluster.Cluster, part string) (*os.File, error) {
	path := c.Dir().Log(part)
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.log"))
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	var names []string
	for _, log := range logs {
		if log == path {
			return os.Open(path)
		}
		names = append(names, strings.TrimSuffix(filepath.Base(log), ".log"))
	}
	return nil, fmt.Errorf("no log of %q; parts with logs: %s", part, strings.Join(names, ", "))
}

// followLog copies the log and all text that is appended to it, until ctx is done.
func followLog(ctx context.Context, w io.Writer, log io.Reader) error {
	more := time.NewTicker(followEvery)
	defer more.Stop()
	for {
		if _, err := io.Copy(w, log); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read log: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-more.C:
		}
	}
}
