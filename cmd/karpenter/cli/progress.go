package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is how long a command may be silent.
const patience = time.Second

// A progress shows the current step of a command that takes longer than patience: in one line that is written over on a
// terminal, else in a line for every step.
type progress struct {
	w        io.Writer
	terminal bool
	quit     chan struct{}
	done     sync.WaitGroup

	mu    sync.Mutex // guards all below
	step  string
	began time.Time
	told  string // the step that was reported last
	shown bool   // a line is on the terminal
}

// newProgress begins to watch. end must be called.
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

// say names the step that begins.
func (p *progress) say(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
}

// pause takes the line off the terminal, so that something else can be written.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// end stops watching.
func (p *progress) end() {
	close(p.quit)
	p.done.Wait()
	p.pause()
}

// clear wipes the line. mu is held.
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
