package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// errDead means that the process has ended. It may still be a zombie.
var errDead = errors.New("process is dead")

// birth returns the process's start time in clock ticks since boot.
func birth(pid int) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", fmt.Errorf("read process %d: %w", pid, err)
	}
	// The program's name is in parentheses and may contain any character. The fields after it are numbered from 3
	// (state); 22 is the start time.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("parse process %d: %d fields", pid, len(fields))
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return "", errDead
	}
	return fields[19], nil
}

// runs reports whether binary is the program of the process, or the script that its interpreter runs.
func runs(pid int, binary string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	args := strings.SplitN(string(data), "\x00", 3)
	return slices.Contains(args[:min(2, len(args))], binary)
}

// Wait returns nil when the process has ended, or the error of ctx if ctx ends first.
func (id ID) Wait(ctx context.Context) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return nil // Gone.
	}
	defer unix.Close(fd)
	// If another process has the ID by now, the process has ended. From here on only the descriptor is used, because
	// an ending process has no command line, but may still listen on its ports. It has ended with its last thread. Its first
	// thread may be a zombie before that.
	if born, err := birth(id.PID); !errors.Is(err, errDead) && (err != nil || born != id.Born) {
		return nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(lookUpEvery.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for process %d: %w", id.PID, err)
		}
		if n > 0 {
			return nil
		}
	}
}

// lookUpEvery is the interval in which Wait checks ctx.
const lookUpEvery = 50 * time.Millisecond
