package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-go/karpenter/local/cluster"
)

// A nurse restarts parts of the control plane that end unexpectedly, as a kubelet restarts static pods, and keeps
// their logs. It does not restart the controller, which tests may kill.
type nurse struct {
	rig Rig
	dir string
	// off is set before the cluster is stopped.
	mu  sync.Mutex // guards off
	off bool
}

// leave disables the restarts.
func (n *nurse) leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = true
}

// ended is called when a part has ended. It copies the log of the part and restarts the part. It does nothing for the
// controller, and after leave.
func (n *nurse) ended(part string, how error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.off || part == cluster.ControllerName {
		return
	}
	log := filepath.Join(n.dir, "logs", part+".log")
	text, err := os.ReadFile(log)
	if err != nil {
		text = []byte(err.Error())
	}
	kept := filepath.Join(os.TempDir(), fmt.Sprintf("karpenter-%s-%s-%d.log", n.rig.Name, part, os.Getpid()))
	if err := os.WriteFile(kept, text, 0o600); err != nil {
		kept = err.Error()
	}
	fmt.Printf("%s: %s ended by itself (%v); its log: %s; from it:\n%s\n", time.Now().UTC().Format(time.RFC3339Nano), part, how, kept,
		causeOfDeath(string(text)))
	again := n.rig
	c, err := again.open(n.dir, nil)
	if err == nil {
		err = c.Up(context.Background())
	}
	if err != nil {
		fmt.Printf("%s: not started again: %v\n", part, err)
	}
}

// lastWords matches the first line that a Go program prints when it crashes.
var lastWords = regexp.MustCompile(`(?m)^(panic:|fatal error:|runtime:|SIG[A-Z]+:|F[0-9]{4} )`)

// causeOfDeath returns the lines of a log that show why the program crashed, or its last lines if there are none.
func causeOfDeath(log string) string {
	const most = 40
	if at := lastWords.FindStringIndex(log); at != nil {
		lines := strings.Split(log[at[0]:], "\n")
		return strings.Join(lines[:min(len(lines), most)], "\n")
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
