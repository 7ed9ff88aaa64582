package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// A Cluster is a control plane on this machine with a Karpenter controller.
type Cluster struct {
	// Bin is the directory of karpenter and karpenter-local. Dir is the directory for the cluster's state.
	Bin, Dir string
	// Controller is the program of the controller; empty for none.
	Controller string
	// MetricsPort is the port at which the controller serves its metrics and profiles; 0 for any port and no profiles.
	MetricsPort int
}

// run runs a program of Bin with input and returns what it printed.
func (c *Cluster) run(ctx context.Context, input []byte, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, program), args...)
	cmd.Stdin = bytes.NewReader(input)
	if c.MetricsPort > 0 {
		cmd.Env = append(os.Environ(), "ENABLE_PROFILING=true") // the controller inherits it
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, args[0], err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}

// local runs karpenter-local on the cluster.
func (c *Cluster) local(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	return c.run(ctx, input, "karpenter-local", append(args[:1:1], append([]string{"--dir", c.Dir}, args[1:]...)...)...)
}

// Up starts the cluster.
func (c *Cluster) Up(ctx context.Context) error {
	who := []string{"--no-controller"}
	if c.Controller != "" {
		who = []string{"--controller", c.Controller}
	}
	if c.MetricsPort > 0 {
		who = append(who, "--port", fmt.Sprintf("karpenter-metrics=%d", c.MetricsPort))
	}
	_, err := c.local(ctx, nil, append([]string{"up", "--provider", "kwok"}, who...)...)
	return err
}

// Down stops the cluster, even if ctx is done.
func (c *Cluster) Down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	_, err := c.local(ctx, nil, "down")
	return err
}

// keepLogs copies the logs of the cluster to the directory to; nothing if it is empty.
func (c *Cluster) keepLogs(to string) error {
	if to == "" {
		return nil
	}
	return os.CopyFS(to, os.DirFS(filepath.Join(c.Dir, "logs")))
}

// Apply creates or changes objects.
func (c *Cluster) Apply(ctx context.Context, objects ...any) error {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return err
	}
	_, err = c.local(ctx, list, "kubectl", "apply", "--server-side", "-f", "-")
	return err
}

// Types returns the types of the KWOK provider for Linux on amd64, on-demand, with at most maxCPU cores; 0 means no
// limit.
func (c *Cluster) Types(ctx context.Context, maxCPU int) ([]catalogue.Type, error) {
	out, err := c.run(ctx, nil, "karpenter", "catalog", "--provider", "kwok", "-o", "json")
	if err != nil {
		return nil, err
	}
	var all, kept []catalogue.Type
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	for _, t := range all {
		cores, err := strconv.Atoi(t.Labels[coresLabel])
		if err != nil {
			return nil, fmt.Errorf("read catalogue: cores of %s: %w", t.Name, err)
		}
		if strings.HasSuffix(t.Name, "-amd64-linux") && (maxCPU == 0 || cores <= maxCPU) {
			kept = append(kept, t)
		}
	}
	return kept, nil
}

// Usage is the resource usage of the controller so far.
type Usage struct {
	// PeakMB is the maximum resident memory in MB. CPU is the CPU time.
	PeakMB int
	CPU    time.Duration
}

// Usage returns the resource usage of the controller so far. It is zero without a controller.
func (c *Cluster) Usage(ctx context.Context) (Usage, error) {
	if c.Controller == "" {
		return Usage{}, nil
	}
	out, err := c.local(ctx, nil, "status", "-o", "json")
	if err != nil {
		return Usage{}, err
	}
	var status struct {
		Parts []struct {
			Name string
			PID  int
		}
	}
	if err := json.Unmarshal(out, &status); err != nil {
		return Usage{}, fmt.Errorf("read status: %w", err)
	}
	for _, p := range status.Parts {
		if p.Name == "karpenter" {
			return usageOf(p.PID)
		}
	}
	return Usage{}, fmt.Errorf("the cluster in %s has no controller", c.Dir)
}

// usageOf returns the resource usage of a process, from /proc.
func usageOf(pid int) (u Usage, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				return u, fmt.Errorf("read /proc: %w", err)
			}
			u.PeakMB = kb / 1024
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name before the ")" may contain any character
	fields := strings.Fields(after)
	const user, system, tick = 11, 12, 10 * time.Millisecond
	if len(fields) <= system {
		return u, fmt.Errorf("/proc/%d/stat is %q", pid, stat)
	}
	for _, i := range []int{user, system} {
		ticks, err := strconv.Atoi(fields[i])
		if err != nil {
			return u, fmt.Errorf("read /proc: %w", err)
		}
		u.CPU += time.Duration(ticks) * tick
	}
	return u, nil
}
