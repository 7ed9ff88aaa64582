package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Stop terminates the processes. It sends SIGTERM to all of them, waits until all have ended but at most for grace,
// kills the rest, and waits until these have ended. Processes that have ended before are not an error.
func Stop(ctx context.Context, ids []ID, grace time.Duration) error {
	running := alive(ids)
	if err := signal(running, syscall.SIGTERM); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, id := range running {
		if err := id.Wait(patient); err != nil {
			break // the time is over; the remaining processes are killed together
		}
	}
	return Kill(ctx, running)
}

// Kill kills the processes and returns when they have ended.
func Kill(ctx context.Context, ids []ID) error {
	running := alive(ids)
	if err := signal(running, syscall.SIGKILL); err != nil {
		return err
	}
	for _, id := range running {
		if err := id.Wait(ctx); err != nil {
			return fmt.Errorf("wait for process %d to die: %w", id.PID, err)
		}
	}
	return nil
}

// alive returns those of ids that still run.
func alive(ids []ID) []ID {
	var running []ID
	for _, id := range ids {
		if id.Alive() {
			running = append(running, id)
		}
	}
	return running
}

// signal sends sig to each process that still runs. It checks the start time first, so that no other process with the
// same ID gets the signal.
func signal(ids []ID, sig syscall.Signal) error {
	for _, id := range ids {
		if !id.Alive() {
			continue
		}
		if err := syscall.Kill(id.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d (%s): %w", id.PID, id.Binary, err)
		}
	}
	return nil
}

// Alive reports whether a process with this ID, start time and program runs and is not a zombie.
func (id ID) Alive() bool {
	born, err := birth(id.PID)
	return err == nil && born == id.Born && born != "" && runs(id.PID, id.Binary)
}
