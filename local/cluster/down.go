package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/karpenter-go/karpenter/local/process"
)

// grace is the time between SIGTERM and SIGKILL. It is short, since the data of the parts is deleted anyway.
const grace = 2 * time.Second

// Down stops every part and removes the state directory. A directory without a cluster is not an error.
func (c *Cluster) Down(ctx context.Context) error {
	if !c.dir.Exists() {
		c.step("nothing to stop in %s", c.dir)
		return nil
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// Another command may have changed the record since Open.
	if c.state, err = c.dir.Load(); err != nil {
		return err
	}
	if err := process.Stop(ctx, c.processes(), grace); err != nil {
		return err
	}
	if err := c.dir.Remove(); err != nil {
		return err
	}
	c.step("stopped, and removed %s", c.dir)
	return nil
}

// processes returns the processes that Down stops: all that were started, except the calling one if that is the
// watchdog.
func (c *Cluster) processes() []process.ID {
	var ids []process.ID
	for _, id := range c.state.Parts {
		if id.PID != os.Getpid() {
			ids = append(ids, id)
		}
	}
	return ids
}

// Kill kills one part, like a crash, and returns when it has ended. The next Up starts it again.
func (c *Cluster) Kill(ctx context.Context, part string) error {
	s, err := c.dir.Load()
	if err != nil {
		return err
	}
	id, known := s.Parts[part]
	if !known || !id.Alive() {
		return fmt.Errorf("kill %s: it is not running", part)
	}
	c.killed.Store(part, true)
	return process.Kill(ctx, []process.ID{id})
}
