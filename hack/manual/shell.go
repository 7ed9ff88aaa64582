package manual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// A Shell runs steps one after the other, each in a new bash. Exported variables and the current directory are passed
// from one to the next.
type Shell struct {
	// Dir is the initial directory.
	Dir string
	// State is an empty directory for the state that is passed between steps.
	State string
	// Env is the environment, as in exec.Cmd.
	Env []string
}

// Run runs a step and returns its output. A wrong exit code is an error. If the step has Until, an end before that
// output is an error as well.
func (s *Shell) Run(ctx context.Context, step *Step) (string, error) {
	// The step gets a process group, so that it can be stopped together with its child processes.
	script := fmt.Sprintf("if [ -e %[1]s ]; then . %[1]s; cd \"$PWD\"; fi\ntrap 'export -p > %[1]s' EXIT\n%[2]s",
		filepath.Join(s.State, "exports"), step.Command)
	cmd := exec.CommandContext(ctx, "bash", "-eu", "-c", script)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("%s: start bash: %w", step.Where(), err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = writer.Close() // closing a pipe never fails
		ended <- err
	}()
	out, stopped := watch(reader, step.Until, cmd.Cancel)
	err := <-ended
	if stopped {
		return out, nil
	}
	return out, judge(step, err)
}

// watch reads and returns all output. As soon as the output contains the string until, watch calls the function stop, once.
// An empty string stops nothing.
func watch(r io.Reader, until string, stop func() error) (out string, stopped bool) {
	var all bytes.Buffer
	part := make([]byte, 4096)
	for {
		n, err := r.Read(part)
		all.Write(part[:n])
		if !stopped && until != "" && strings.Contains(all.String(), until) {
			stopped = true
			_ = stop() // an error means that the step has ended by itself
		}
		if err != nil {
			return all.String(), stopped
		}
	}
}

// judge returns an error if a step did not end as specified on its page.
func judge(step *Step, err error) error {
	if step.Until != "" {
		return fmt.Errorf("%s: it ended and never printed %q: %v", step.Where(), step.Until, err)
	}
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		return fmt.Errorf("%s: %w", step.Where(), err)
	}
	if code != step.Exit {
		return fmt.Errorf("%s: exit code %d, want %d", step.Where(), code, step.Exit)
	}
	return nil
}
