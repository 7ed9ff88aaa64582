//go:build linux || darwin

package top

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"
)

// On a real terminal, keys switch pages, select, search and quit. With NO_COLOR no colour is written.
func TestKeysOnTerminal(t *testing.T) {
	for _, env := range [][]string{{"TERM=xterm-256color"}, {"TERM=xterm-256color", "NO_COLOR=1"}} {
		master, terminal, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
			t.Fatal(err)
		}
		source := func() (Data, time.Duration, error) { return sample(), time.Hour, nil }
		program := tea.NewProgram(New(source), tea.WithInput(terminal), tea.WithOutput(terminal), tea.WithEnvironment(env), tea.WithoutSignalHandler())
		ended := make(chan error, 1)
		go func() {
			_, err := program.Run()
			terminal.Close()
			ended <- err
		}()
		var out bytes.Buffer
		for _, step := range []struct{ keys, shows string }{
			{"", "ip-10-0-0-4"}, {"\x1b[B", "costs $0.4637/h"}, {"2", "train-0"}, {"\t", "NodeClassReady=False"}, {"4", "11:59:00"},
			{"1/pdb\r", "search: pdb"}, {"p", "paused"},
		} {
			if _, err := master.WriteString(step.keys); err != nil {
				t.Fatal(err)
			}
			readUntil(t, master, &out, step.shows)
		}
		if _, err := master.WriteString("q"); err != nil {
			t.Fatal(err)
		}
		_, _ = out.ReadFrom(master) // until the terminal is closed, which some systems report as an error
		if err := <-ended; err != nil {
			t.Errorf("%v: ended with %v", env, err)
		}
		master.Close()
		coloured := strings.Contains(out.String(), "\x1b[32m") || strings.Contains(out.String(), "\x1b[31m") || strings.Contains(out.String(), ";32m")
		if coloured == (len(env) > 1) {
			t.Errorf("%v: coloured is %v", env, coloured)
		}
	}
}

// readUntil reads from the terminal until the text has been drawn since the last call. Unchanged cells are not drawn again, so
// the text must be new on the screen.
func readUntil(t *testing.T, from *os.File, out *bytes.Buffer, want string) {
	t.Helper()
	seen := out.Len()
	buffer := make([]byte, 4096)
	for !strings.Contains(out.String()[seen:], want) {
		n, err := from.Read(buffer)
		out.Write(buffer[:n])
		if err != nil && !errors.Is(err, os.ErrClosed) || n == 0 && err != nil {
			t.Fatalf("the terminal ended with %v before it showed %q:\n%q", err, want, out.String()[seen:])
		}
	}
}
