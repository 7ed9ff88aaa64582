package sim

import (
	"fmt"
	"strconv"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A Violation is an invariant that did not hold.
type Violation struct {
	// At is the time since the beginning.
	At time.Duration
	// Rule names the invariant, Detail says what was seen.
	Rule, Detail string
}

// String returns the violation as one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %s", short(v.At.Round(time.Second)), v.Rule, v.Detail)
}

// A Result has the violations and figures of a simulation.
type Result struct {
	Violations []Violation
	// Hash is a hash of the trace, and Lines is the number of its lines.
	Hash  string
	Lines int
	// Struck counts how often each fault had an effect.
	Struck map[string]int
	// Launches and Terminations count instances, Disruptions nodes that were disrupted voluntarily.
	Launches, Terminations, Disruptions int
	// Length is the virtual time that was simulated.
	Length time.Duration
}

// Summary returns the counts of a result as one line.
func (r Result) Summary() string {
	return fmt.Sprintf("launches %d, terminations %d, voluntary disruptions %d", r.Launches, r.Terminations, r.Disruptions)
}

// Play plays a scenario. It stops at the first violation. An error means that the scenario could not be played.
func Play(t *testing.T, sc *Scenario, o Options) (result Result, err error) {
	cryptotest.SetGlobalRandom(t, sc.Seed) // the SDK's jitter and tokens
	synctest.Test(t, func(*testing.T) {
		var w *World
		if w, err = newWorld(sc, o); err != nil {
			return
		}
		w.play()
		w.tellEvents()
		w.close()
		result = w.result()
	})
	return result, err
}

// play starts the replicas, schedules all events, and runs the simulation.
func (w *World) play() {
	for i := range max(1, w.scenario.Replicas) {
		// One after another, since they draw random names from the same source.
		w.driver.After(time.Duration(i)*time.Millisecond, func() { w.processes.start("karpenter-" + strconv.Itoa(i)) })
	}
	for _, e := range w.scenario.Events {
		w.driver.After(e.At, func() {
			if err := w.happen(e); err != nil {
				w.judge.violate("scenario", "%v", err)
			}
		})
	}
	w.platform.changed()
	length := w.scenario.Length
	if length == 0 {
		length = DefaultLength
	}
	end := time.Now().Add(w.scenario.End() + length)
	w.judge.start(end)
	w.driver.Run(end, func() bool { return len(w.judge.violations) == 0 })
}

// close ends all replicas.
func (w *World) close() {
	w.processes.closing = true
	for _, r := range w.processes.running() {
		w.processes.kill(r)
	}
	w.driver.Run(time.Now().Add(grace), func() bool { return true })
}

func (w *World) result() Result {
	return Result{
		Violations: w.judge.violations, Hash: w.trace.Hash(), Lines: w.trace.Lines(), Struck: w.faults.struck,
		Launches: w.judge.fleet.launches, Terminations: w.judge.fleet.terminations, Disruptions: w.judge.moves.disruptions,
		Length: time.Since(w.trace.start),
	}
}

// tellEvents writes the Kubernetes events of the simulation to the log.
func (w *World) tellEvents() {
	if w.options.Log == nil {
		return
	}
	for _, e := range kubeapi.List[*corev1.Event](w.platform.server) {
		fmt.Fprintf(w.options.Log, "event %s %dx %s/%s %s: %s\n", e.LastTimestamp.Format(time.TimeOnly), e.Count, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
}
