package parts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// restore makes the data directory from the snapshot. It does nothing without a snapshot, or if the data directory exists, as
// after a restart.
//
// With bumpRevision, the revisions continue that far above those of the snapshot, and all earlier ones count as compacted. So
// clients that have seen later revisions than the snapshot list all objects again. With zero, they do not notice the restore.
func (o etcdOptions) restore() error {
	if o.snapshot == "" {
		return nil
	}
	if _, err := os.Stat(o.dataDir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	cfg, err := o.config()
	if err != nil {
		return err
	}
	err = snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: o.snapshot, Name: cfg.Name, OutputDataDir: o.dataDir, PeerURLs: []string{o.peerURL},
		InitialCluster: cfg.InitialCluster, InitialClusterToken: cfg.InitialClusterToken,
		RevisionBump: o.bumpRevision, MarkCompacted: o.bumpRevision > 0,
	})
	if err != nil {
		return fmt.Errorf("restore %s: %w", o.snapshot, err)
	}
	return nil
}
