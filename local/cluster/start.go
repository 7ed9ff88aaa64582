package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-go/karpenter/local/process"
)

// pollEvery is the interval in which the health of a starting part is checked, because the parts send no notification.
const pollEvery = 25 * time.Millisecond

// startAll starts those parts of one stage that do not run, and returns when all parts of the stage are healthy.
func (c *Cluster) startAll(ctx context.Context, stage []spec) error {
	children := make([]*process.Child, len(stage))
	for i, p := range stage {
		if c.state.Parts[p.name].Alive() {
			continue
		}
		child, err := c.start(p)
		if err != nil {
			return err
		}
		children[i] = child
	}
	for i, p := range stage {
		if err := c.waitHealthy(ctx, p, children[i]); err != nil {
			return err
		}
		if children[i] == nil {
			c.step("%s is running", p.name)
		} else {
			c.step("%s started", p.name)
		}
	}
	return nil
}

// start runs one part that is not running.
func (c *Cluster) start(p spec) (*process.Child, error) {
	for _, purpose := range p.purposes {
		if err := c.state.CheckPortFree(purpose); err != nil {
			return nil, err
		}
	}
	if err := rotate(c.dir.Log(p.name)); err != nil {
		return nil, err
	}
	child, err := process.Start(process.Program{
		Binary: p.binary, Args: p.args, Env: append(c.collector(p), p.env...), Log: c.dir.Log(p.name),
	})
	if err != nil {
		return nil, err
	}
	if c.options.OnEnd != nil {
		go func() { // ends with the child
			<-child.Exited()
			if _, meant := c.killed.LoadAndDelete(p.name); !meant {
				c.options.OnEnd(p.name, child.ExitError())
			}
		}()
	}
	return child, c.remember(p.name, child.ID)
}

// collector returns the setting GOGC for a part that is a subcommand of karpenter-local, and none for other parts. With it,
// the heap may grow twice as much between garbage collections as by default. With the default, collections take an eighth
// of the API server's CPU time. GOGC in the environment has precedence.
func (c *Cluster) collector(p spec) []string {
	if _, set := os.LookupEnv("GOGC"); set || p.binary != c.binary {
		return nil
	}
	return []string{"GOGC=200"}
}

// rotate renames the log of the previous run to PART.log.old, so that the log has only one run.
func rotate(log string) error {
	if err := os.Rename(log, log+".old"); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("rotate log: %w", err)
	}
	return nil
}

// waitHealthy returns nil when p is healthy, or an error when p has ended or is not healthy after Options.Patience. child is
// nil for a part that was running before.
func (c *Cluster) waitHealthy(ctx context.Context, p spec, child *process.Child) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	var exited <-chan struct{}
	if child != nil {
		exited = child.Exited()
	}
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		select {
		case <-exited:
			return false, fmt.Errorf("start %s: it ended with %w; its last words:\n%s",
				p.name, child.ExitError(), tail(c.dir.Log(p.name), 15))
		default:
			return c.healthy(ctx, p) == nil, nil
		}
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("start %s: not healthy after %s (%w); its last words:\n%s",
			p.name, c.options.Patience, c.healthy(context.Background(), p), tail(c.dir.Log(p.name), 15))
	}
	return err
}

// healthy returns an error if p is not healthy.
func (c *Cluster) healthy(ctx context.Context, p spec) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.health, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", p.name, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", p.name, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10)) // Only for the message.
		return fmt.Errorf("ask %s: %s: %s", p.name, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// tail returns the last n lines of a file, indented.
func tail(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "    (no log)"
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	lines = lines[max(0, len(lines)-n):]
	return "    " + strings.Join(lines, "\n    ")
}
