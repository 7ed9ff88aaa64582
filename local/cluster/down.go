package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/karpenter-go/karpenter/local/process"
)

// grace is how long parts may take to end by themselves. Nothing they would
// still write is kept.
const grace = 2 * time.Second

// Down stops every part and removes the state directory. A directory without
// a cluster is no error.
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

// processes lists what Down stops: all that were started, but not itself when
// the watchdog calls.
func (c *Cluster) processes() []process.ID {
	var ids []process.ID
	for _, id := range c.state.Parts {
		if id.PID != os.Getpid() {
			ids = append(ids, id)
		}
	}
	return ids
}

// Kill ends one part at once, as a crash would, and returns when it is gone.
// The next Up starts it again.
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
