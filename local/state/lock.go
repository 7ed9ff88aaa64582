package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Lock prevents other commands from starting or stopping the cluster, until unlock is called or the process ends.
// While another command holds the lock, Lock waits. If ctx ends first, Lock returns an error.
func (d Dir) Lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(d.join("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	tryAgain := time.NewTicker(50 * time.Millisecond)
	defer tryAgain.Stop()
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			// Closing the file releases the lock. An error has no consequence, because the end of the process also
			// releases it.
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", d, err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(
				fmt.Errorf("lock %s: another up or down is at work there", d), file.Close())
		case <-tryAgain.C:
		}
	}
}
