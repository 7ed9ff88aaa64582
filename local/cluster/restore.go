package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/karpenter-go/karpenter/local/process"
)

// RevisionBump is how much larger the revision of etcd is after a restore than in the snapshot, unless the revision is kept. It
// is more than the number of writes between any snapshot and its restore.
const RevisionBump = 1_000_000_000

// Snapshot writes a snapshot of etcd to the file, while the cluster runs. It replaces the file.
func (c *Cluster) Snapshot(ctx context.Context, file string) (err error) {
	if !c.dir.Exists() {
		return fmt.Errorf("open %s: %w", c.dir, ErrNone)
	}
	etcd, err := clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{"http://" + c.state.Address("etcd")}})
	if err != nil {
		return fmt.Errorf("connect to etcd: %w", err)
	}
	defer etcd.Close()
	stream, err := etcd.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("get snapshot: %w", err)
	}
	defer stream.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	_, err = io.Copy(out, stream)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	c.step("snapshot is %s", file)
	return nil
}

// Restore stops the API server and etcd, replaces the data of etcd by those of the snapshot, and starts both again. The other
// parts keep running, and continue with the restored state.
//
// bump is added to the revision of the snapshot, see RevisionBump. With zero, clients that have seen a later state do not
// notice the restore.
func (c *Cluster) Restore(ctx context.Context, file string, bump uint64) error {
	if !c.dir.Exists() {
		return fmt.Errorf("open %s: %w", c.dir, ErrNone)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("find snapshot: %w", err)
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("find snapshot: %w", err)
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if c.state, err = c.dir.Load(); err != nil {
		return err
	}
	k, err := c.prepare()
	if err != nil {
		return err
	}
	if err := c.killAll(ctx, "kube-apiserver", "etcd"); err != nil {
		return err
	}
	if err := os.RemoveAll(c.dir.Data("etcd")); err != nil {
		return fmt.Errorf("remove data of etcd: %w", err)
	}
	etcd := c.etcd(c.state)
	etcd.args = append(etcd.args, "--restore="+file, "--bump-revision="+strconv.FormatUint(bump, 10))
	for _, stage := range with([][]spec{{etcd}, {c.apiServer(c.state, k)}}, c.options.Arguments) {
		if err := c.startAll(ctx, stage); err != nil {
			return err
		}
	}
	c.step("restored %s", file)
	return nil
}

// killAll kills those of the parts that run, in the given order.
func (c *Cluster) killAll(ctx context.Context, parts ...string) error {
	for _, part := range parts {
		id := c.state.Parts[part]
		if !id.Alive() {
			continue
		}
		c.killed.Store(part, true)
		if err := process.Kill(ctx, []process.ID{id}); err != nil {
			return err
		}
	}
	return nil
}
