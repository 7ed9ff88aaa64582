package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is the time after which a command without output prints its current step. Tests set a longer one, because they compare
// standard error on machines of any speed.
var patience = time.Second

// A progress shows the current step of a command that takes longer than patience. On a terminal it rewrites one line,
// otherwise it writes a line for each step.
type progress struct {
	w        io.Writer
	terminal bool
	quit     chan struct{}
	done     sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	step  string
	began time.Time
	told  string // the step that was reported last
	shown bool   // a line is on the terminal
}

// newProgress starts to show the progress of a command. The command must call end when it ends.
func newProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: isTerminal(w), quit: make(chan struct{}), began: time.Now()}
	p.done.Go(func() {
		tick := time.NewTicker(patience / 4)
		defer tick.Stop()
		for {
			select {
			case <-p.quit:
				return
			case now := <-tick.C:
				p.tell(now)
			}
		}
	})
	return p
}

// say sets the current step.
func (p *progress) say(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
}

// pause removes the line from the terminal, so that other output can be written.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// end stops the progress.
func (p *progress) end() {
	close(p.quit)
	p.done.Wait()
	p.pause()
}

// clear removes the line. The caller holds mu.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) tell(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	past := now.Sub(p.began)
	switch {
	case past < patience || p.step == "":
	case p.terminal:
		p.clear()
		fmt.Fprintf(p.w, "%s ... %.0fs", p.step, past.Seconds())
		p.shown = true
	case p.told != p.step:
		fmt.Fprintln(p.w, p.step, "...")
		p.told = p.step
	}
}
