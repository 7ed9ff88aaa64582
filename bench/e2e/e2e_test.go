package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/bench/workload"
)

// Apps returns deployments with the requested number of pods in total. Quarter keeps at most a quarter of the pods of each
// deployment, but at least one.
func TestApps(t *testing.T) {
	apps := Apps(workload.Micro, 1000, 7)
	if n := len(Pods(apps)); n != 1000 {
		t.Errorf("%d pods, want 1000", n)
	}
	left := Quarter(apps)
	for i, a := range left {
		if all := apps[i].Replicas; a.Replicas < 1 || a.Replicas > max(1, all/4) {
			t.Errorf("%d of %d pods of %s stay", a.Replicas, all, a.Name)
		}
	}
	if n := len(Pods(left)); n < 230 || n > 300 {
		t.Errorf("%d of 1000 pods stay, want about a quarter", n)
	}
}

func see(s *Seen, k kind, what, name string, set func(*object)) {
	c := change{Type: what}
	c.Object.Metadata.Name = name
	if set != nil {
		set(&c.Object)
	}
	s.take(k, c)
}

func TestSeen(t *testing.T) {
	s := &Seen{ran: map[string]bool{}}
	for k := range kinds {
		s.now[k], s.ever[k] = map[string]object{}, map[string]bool{}
	}
	runs := func(o *object) { o.Status.Phase = "Running" }
	costs := func(o *object) { o.Metadata.Labels = map[string]string{priceLabel: "0.25"} }
	see(s, pods, "ADDED", "a", nil)
	see(s, pods, "ADDED", "b", nil)
	see(s, claims, "ADDED", "n1", nil)
	see(s, nodes, "ADDED", "n1", costs)
	see(s, pods, "MODIFIED", "a", runs)
	see(s, claims, "ADDED", "n2", nil)
	see(s, nodes, "ADDED", "n2", costs)
	see(s, pods, "MODIFIED", "b", func(o *object) { now := time.Now(); o.Metadata.DeletionTimestamp = &now })
	l := s.Look()
	if l.Pods != 1 || l.Running != 1 || l.Nodes != 2 || l.Price != 0.5 || l.Claims != 2 || l.Planned != 1 {
		t.Errorf("seen is %+v", l)
	}
	if l.FirstClaim.Before(l.LastPod) {
		t.Error("the first claim came after the last pod")
	}
	see(s, pods, "DELETED", "a", nil)
	see(s, pods, "ADDED", "c", runs)
	see(s, pods, "MODIFIED", "c", runs)
	if s.Ran() != 2 || s.RanAt(1).Before(s.RanAt(0)) {
		t.Errorf("%d pods ran, want those two that ever did, in order", s.Ran())
	}
	see(s, nodes, "DELETED", "n1", nil)
	if l := s.Look(); l.Nodes != 1 || l.Price != 0.25 {
		t.Errorf("seen is %+v", l)
	}
}

func TestReport(t *testing.T) {
	r := Result{Name: "ours", Pods: 1000, Left: 263, Made: 3 * time.Second, FirstClaim: 1200 * time.Millisecond, HalfRun: 6 * time.Second, AllRun: 9 * time.Second, Planned: 60, Needed: 61, OverFloor: 1.012,
		Near: -1, Finally: 1.2, Settled: 40 * time.Second, FinalNodes: 30, Usage: Usage{PeakMB: 90, CPU: 3 * time.Second},
		Course: []Point{{0, 61, 4}, {40 * time.Second, 30, 1.2}}}
	up, down := r.Rows()
	if up != "| ours | 1000 | 3.0 s | 1.2 s | 6.0 s | 9.0 s | 60 | 61 | 1.012 | 90 MB | 3.0 s |\n" ||
		down != "| ours | 1000 to 263 | never | 40.0 s | 1.200 | 30 | 4.00 at 0s, 1.20 at 40s |\n" {
		t.Errorf("rows are\n%s%s", up, down)
	}
	none := Result{Name: "none", MaxCPU: 8, Pods: 10, Made: time.Second, HalfRun: time.Second, AllRun: 2 * time.Second, Needed: 3}
	if up, down := none.Rows(); up != "| none, nodes of up to 8 cores | 10 | 1.0 s | – | 1.0 s | 2.0 s | – | 3 | – | – | – |\n" || down != "" {
		t.Errorf("without a controller, rows are\n%s%s", up, down)
	} else if strings.Count(up, "|") != strings.Count(strings.Split(Up, "\n")[0], "|") {
		t.Errorf("columns of\n%s%s", Up, up)
	}
	for _, head := range []string{Up, Down} {
		lines := strings.Split(head, "\n")
		row := up
		if head == Down {
			row = down
		}
		if strings.Count(lines[0], "|") != strings.Count(lines[1], "|") || strings.Count(lines[0], "|") != strings.Count(row, "|") {
			t.Errorf("columns of\n%s%s", head, row)
		}
	}
}

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.md")
	if err := os.WriteFile(file, []byte("a\n"+begin+"old\n"+end+"b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Write(file, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(file); string(got) != "a\n"+begin+"\nnew\n\n"+end+"b\n" {
		t.Errorf("file is %q", got)
	}
	if err := os.WriteFile(file, []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, "new\n"); err == nil {
		t.Error("a file without marks was written")
	}
}
