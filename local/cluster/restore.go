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
	"go.uber.org/zap"

	"github.com/karpenter-go/karpenter/local/process"
)

// RevisionBump is how much larger the revision of etcd is after a restore than in the snapshot, unless the revision is kept. It
// is more than the number of writes between any snapshot and its restore.
const RevisionBump = 1_000_000_000

// Snapshot writes a snapshot of etcd to the file, while the cluster runs. It replaces the file once the snapshot is complete.
func (c *Cluster) Snapshot(ctx context.Context, file string) (err error) {
	if !c.dir.Exists() {
		return fmt.Errorf("open %s: %w", c.dir, ErrNone)
	}
	etcd, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{"http://" + c.state.Address("etcd")}, Logger: zap.NewNop(), // the error says what failed
	})
	if err != nil {
		return fmt.Errorf("connect to etcd: %w", err)
	}
	defer etcd.Close()
	stream, err := etcd.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("get snapshot: %w", err)
	}
	defer stream.Close()
	out, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	_, err = io.Copy(out, stream)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write snapshot: %w", errors.Join(err, os.Remove(out.Name())))
	}
	c.step("snapshot is %s", file)
	return nil
}

// Restore stops the API server and etcd, replaces the data of etcd by those of the snapshot, and starts both again. The other
// parts keep running, and continue with the restored state. If etcd or the API server does not start, such as because the file is
// no snapshot, Restore starts both with the former data, and returns an error.
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
	data := c.dir.Data("etcd")
	former := data + ".before-restore"
	if _, err := os.Stat(data); err != nil { // former may be all that is left
		return fmt.Errorf("keep data of etcd: %w", err)
	}
	if err := errors.Join(os.RemoveAll(former), os.Rename(data, former)); err != nil {
		return fmt.Errorf("keep data of etcd: %w", err)
	}
	err = c.startStore(ctx, k, "--restore="+file, "--bump-revision="+strconv.FormatUint(bump, 10))
	if err != nil {
		if failed := c.takeBack(context.WithoutCancel(ctx), k, former); failed != nil {
			return fmt.Errorf("restore %s: %w; return to the former data: %w", file, err, failed)
		}
		return fmt.Errorf("restore %s: %w; the former data are in use again", file, err)
	}
	c.step("restored %s", file)
	if err := os.RemoveAll(former); err != nil {
		return fmt.Errorf("remove former data of etcd: %w", err)
	}
	return nil
}

// takeBack starts etcd and the API server with the data in the directory former, in place of those of a failed restore.
func (c *Cluster) takeBack(ctx context.Context, k keys, former string) error {
	if err := c.killAll(ctx, "kube-apiserver", "etcd"); err != nil {
		return err
	}
	data := c.dir.Data("etcd")
	if err := errors.Join(os.RemoveAll(data), os.Rename(former, data)); err != nil {
		return err
	}
	return c.startStore(ctx, k)
}

// startStore starts etcd, with the additional arguments, and then the API server.
func (c *Cluster) startStore(ctx context.Context, k keys, args ...string) error {
	etcd := c.etcd(c.state)
	etcd.args = append(etcd.args, args...)
	for _, stage := range with([][]spec{{etcd}, {c.apiServer(c.state, k)}}, c.options.Arguments) {
		if err := c.startAll(ctx, stage); err != nil {
			return err
		}
	}
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
