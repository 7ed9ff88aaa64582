package state

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock keeps other commands from starting or stopping the cluster until
// unlock is called or the process ends. It waits for nobody.
func (d Dir) Lock() (unlock func(), err error) {
	file, err := os.OpenFile(d.join("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(
			fmt.Errorf("lock %s: another up or down is at work there", d), file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d, err), file.Close())
	}
	// Closing the file gives up the lock; there is nobody to tell of a failure.
	return func() { _ = file.Close() }, nil
}
