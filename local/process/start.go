package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// An ID identifies one process, even after the system has reused its process ID.
type ID struct {
	PID int `json:"pid"`
	// Born is the start time of the process, in a format of the operating system. It can only be compared.
	Born string `json:"born"`
	// Binary is the program, for messages and as a second check.
	Binary string `json:"binary"`
}

// A Program is a program to start, with its environment.
type Program struct {
	Binary string
	Args   []string
	Env    []string // added to the environment of the caller
	Log    string   // file to which the output is appended
	// Stdin is the standard input; nil for an empty one.
	Stdin *os.File
}

// A Child is a program that this process started.
type Child struct {
	ID     ID
	exited chan struct{}
	err    error
}

// Start runs p in a new session, so that neither the end of the terminal nor Ctrl-C affects it.
func Start(p Program) (*Child, error) {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(p.Binary, p.Args...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdout = log
	cmd.Stderr = log
	if p.Stdin != nil {
		cmd.Stdin = p.Stdin
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Binary, err)
	}
	born, err := birth(cmd.Process.Pid)
	if err != nil {
		born = "" // the process has ended already; Wait below returns why
	}
	c := &Child{
		ID:     ID{PID: cmd.Process.Pid, Born: born, Binary: p.Binary},
		exited: make(chan struct{}),
	}
	// The goroutine ends with the child. A child that outlives this process gets another parent.
	go func() {
		c.err = cmd.Wait()
		close(c.exited)
	}()
	c.awaitCommandLine()
	return c, nil
}

// awaitCommandLine returns when the child has its command line, which Alive compares, or has ended, at the latest after a second. The
// kernel sets the command line a moment after it reports that the program has been started.
func (c *Child) awaitCommandLine() {
	for range 1000 {
		if runs(c.ID.PID, c.ID.Binary) {
			return
		}
		select {
		case <-c.exited:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// Exited returns a channel that is closed when the child has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// ExitError returns how the child ended. Call it only after Exited.
func (c *Child) ExitError() error {
	if c.err == nil {
		return fmt.Errorf("exit status 0")
	}
	return c.err
}
