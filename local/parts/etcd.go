package parts

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdOptions are the arguments of the etcd part.
type etcdOptions struct {
	dataDir   string
	clientURL string
	peerURL   string
	// snapshot is the file from which the data directory is made if it does not exist; empty to start without data.
	// bumpRevision is added to the revision of the snapshot.
	snapshot     string
	bumpRevision uint64
}

func newEtcd() *cobra.Command {
	var o etcdOptions
	cmd := &cobra.Command{
		Use:  "etcd",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&o.dataDir, "data-dir", "", "Directory of the data")
	cmd.Flags().StringVar(&o.clientURL, "client-url", "", "URL for clients")
	cmd.Flags().StringVar(&o.peerURL, "peer-url", "", "URL for other members")
	cmd.Flags().StringVar(&o.snapshot, "restore", "", "Snapshot to make the directory of the data from, if there is none")
	cmd.Flags().Uint64Var(&o.bumpRevision, "bump-revision", 0, "How far to increase the revision of the snapshot")
	return cmd
}

// config returns the configuration of a store with one member. Writes to the disk are not synchronized, because the
// data need not survive a crash of the machine.
func (o etcdOptions) config() (*embed.Config, error) {
	client, err := url.Parse(o.clientURL)
	if err != nil {
		return nil, fmt.Errorf("parse --client-url: %w", err)
	}
	peer, err := url.Parse(o.peerURL)
	if err != nil {
		return nil, fmt.Errorf("parse --peer-url: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Name = "local"
	cfg.Dir = o.dataDir
	cfg.ListenClientUrls = []url.URL{*client}
	cfg.AdvertiseClientUrls = []url.URL{*client}
	cfg.ListenPeerUrls = []url.URL{*peer}
	cfg.AdvertisePeerUrls = []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "warn"
	cfg.WarningUnaryRequestDuration = time.Second
	cfg.QuotaBackendBytes = 4 << 30
	cfg.AutoCompactionMode = embed.CompactorModePeriodic
	cfg.AutoCompactionRetention = "5m"
	return cfg, nil
}

// run serves until ctx is done or the store fails.
func (o etcdOptions) run(ctx context.Context) error {
	cfg, err := o.config()
	if err != nil {
		return err
	}
	if err := o.restore(); err != nil {
		return err
	}
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("serve etcd: %w", err)
	case <-server.Server.StopNotify():
		return fmt.Errorf("serve etcd: stopped by itself")
	}
}
