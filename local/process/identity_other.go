//go:build !linux

package process

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// errDead means that the process has ended. It may still be a zombie.
var errDead = errors.New("process is dead")

// ask returns one column of the output of ps for the process.
func ask(pid int, column string) (string, error) {
	out, err := exec.Command("ps", "-o", column+"=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", errDead
	}
	return strings.TrimSpace(string(out)), nil
}

// birth returns the process's start time.
func birth(pid int) (string, error) {
	state, err := ask(pid, "state")
	if err != nil || strings.HasPrefix(state, "Z") {
		return "", errDead
	}
	return ask(pid, "lstart")
}

// runs reports whether binary is the program of the process, or the script that its interpreter runs.
func runs(pid int, binary string) bool {
	command, err := ask(pid, "command")
	return err == nil && strings.Contains(" "+command+" ", " "+binary+" ")
}

// Wait returns nil when the process has ended, or the error of ctx if ctx ends first.
func (id ID) Wait(ctx context.Context) error {
	turn := time.NewTicker(50 * time.Millisecond)
	defer turn.Stop()
	for id.Alive() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-turn.C:
		}
	}
	return nil
}
