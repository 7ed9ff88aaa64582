package sim

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
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
	// Replaced counts claims that the operator deleted when a claim in their place was recorded.
	Replaced int
	// Evicted counts the pods that the operator evicted.
	Evicted int
	// Fleet has the instances that are pending or running at the end, each as POOL TYPE/ZONE/CAPACITY, sorted.
	Fleet []string
	// Templates is the number of launch templates at the end.
	Templates int
	// Profiles is the number of instance profiles at the end.
	Profiles int
	// Calls counts the calls of the cloud that replicas made, by operation. Calls that a fault answered are not among them.
	Calls map[string]int
	// Statuses has the status of the objects that users configure, by KIND/NAME.
	Statuses map[string]map[string]any
	// Pods counts the running pods at the end by their annotations, each as KEY=VALUE.
	Pods map[string]int
	// Told has the Kubernetes events of the operator, each as KIND REASON MESSAGE.
	Told []string
	// Length is the virtual time that was simulated.
	Length time.Duration
}

// Summary returns the counts of a result as one line.
func (r Result) Summary() string {
	return fmt.Sprintf("launches %d, terminations %d, voluntary disruptions %d", r.Launches, r.Terminations, r.Disruptions)
}

// Unmet returns which lines of a file "want" do not hold. A line is one of
//
//	launches 3, terminations 1, voluntary disruptions 1
//	replaced 2
//	evicted 3
//	fleet 2 default m5.*/us-east-1b/on-demand
//	event NodeClaim InsufficientCapacityError m5.large
//	no event NodeClaim InsufficientCapacityError
//	templates 0
//	profiles 1
//	calls 7 CreateFleet
//	pods 1 example.com/important=yes
//	status NodePool/default nodes=2
//
// "launches" is Summary. "replaced", "evicted", "templates", "profiles", "calls" and "pods" are Replaced, Evicted, Templates, Profiles, Calls
// of an operation and Pods with an annotation. "fleet" counts running instances of a NodePool, where * in their type, zone or capacity type
// stands for any text. If there is such a line, each running instance must be in one of them. "fleet 0" means that no instance runs. "event" names an event
// about an object of the kind, with the reason, whose message has the text. "no event" means that there is none. "status" is a value in the
// status of an object that users configure. Its path has names of fields and, for the status of a condition, "conditions" and the type.
func (r Result) Unmet(want string) (unmet []string) {
	counted, listed := 0, false
	for line := range strings.Lines(want) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		got := ""
		switch kind {
		case "launches":
			got = r.Summary()
		case "replaced":
			got = fmt.Sprint("replaced ", r.Replaced)
		case "evicted":
			got = fmt.Sprint("evicted ", r.Evicted)
		case "templates":
			got = fmt.Sprint("templates ", r.Templates)
		case "profiles":
			got = fmt.Sprint("profiles ", r.Profiles)
		case "calls":
			_, op, _ := strings.Cut(rest, " ")
			got = fmt.Sprintf("calls %d %s", r.Calls[op], op)
		case "pods":
			_, annotation, _ := strings.Cut(rest, " ")
			got = fmt.Sprintf("pods %d %s", r.Pods[annotation], annotation)
		case "status":
			of, value, _ := strings.Cut(rest, " ")
			path, _, _ := strings.Cut(value, "=")
			got = fmt.Sprintf("status %s %s=%s", of, path, valueAt(r.Statuses[of], path))
		case "fleet":
			n, pattern, _ := strings.Cut(rest, " ")
			some := r.running(pattern)
			counted, listed = counted+some, true
			got = strings.TrimSpace(fmt.Sprintf("fleet %d %s", some, pattern))
			if got != line {
				unmet = append(unmet, fmt.Sprintf("fleet has %d %s, want %s: %q", some, pattern, n, r.Fleet))
			}
			continue
		case "event":
			if !slices.ContainsFunc(r.Told, func(told string) bool { return matches(told, rest) }) {
				unmet = append(unmet, fmt.Sprintf("no %s, events are %q", line, r.Told))
			}
			continue
		case "no":
			if i := slices.IndexFunc(r.Told, func(told string) bool { return matches(told, strings.TrimPrefix(rest, "event ")) }); i >= 0 {
				unmet = append(unmet, fmt.Sprintf("%s: %q", line, r.Told[i]))
			}
			continue
		}
		if got != line {
			unmet = append(unmet, fmt.Sprintf("%s, want %s", got, line))
		}
	}
	if listed && counted != len(r.Fleet) {
		unmet = append(unmet, fmt.Sprintf("%d of %d running instances are in lines of want: %q", counted, len(r.Fleet), r.Fleet))
	}
	return unmet
}

// valueAt returns the value at a path in a status as text, empty if there is none.
func valueAt(status map[string]any, path string) string {
	var value any = status
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any: // conditions
			value = nil
			for _, c := range v {
				if c, ok := c.(map[string]any); ok && c["type"] == name {
					value = c["status"]
				}
			}
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// running returns the number of running instances that match a pattern, of all if it is empty.
func (r Result) running(pattern string) (n int) {
	for _, i := range r.Fleet {
		if ok, err := path.Match(pattern, i); err == nil && ok || pattern == "" {
			n++
		}
	}
	return n
}

// matches reports whether an event has the kind and the reason of want, and its text in the message.
func matches(told, want string) bool {
	of, with := strings.SplitN(told, " ", 3), strings.SplitN(want, " ", 3)
	if len(with) < 2 || of[0] != with[0] || of[1] != with[1] {
		return false
	}
	return len(with) == 2 || strings.Contains(of[2], with[2])
}

// Play plays a scenario. It stops at the first violation. An error means that the scenario could not be played.
func Play(t *testing.T, sc *Scenario, o Options) (result Result, err error) {
	cryptotest.SetGlobalRandom(t, sc.Seed) // the SDK's jitter and tokens
	inBubble(t, func() {
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
	var fleet, told []string
	for _, i := range w.account.instances() {
		if alive(i) {
			fleet = append(fleet, fmt.Sprintf("%s %s/%s/%s", i.Tags[apiv1.NodePoolLabelKey], i.Type, i.Zone, i.Capacity))
		}
	}
	slices.Sort(fleet)
	for _, e := range kubeapi.List[*corev1.Event](w.platform.server) {
		if strings.Contains(e.Source.Component+e.ReportingController, "karpenter") {
			told = append(told, fmt.Sprintf("%s %s %s", e.InvolvedObject.Kind, e.Reason, e.Message))
		}
	}
	pods := map[string]int{}
	for _, p := range kubeapi.List[*corev1.Pod](w.platform.server) {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			for key, value := range p.Annotations {
				pods[key+"="+value]++
			}
		}
	}
	return Result{
		Pods: pods, Fleet: fleet, Told: told, Statuses: w.platform.statuses(), Templates: w.account.templates(), Replaced: w.judge.moves.replaced,
		Evicted:  w.judge.drains.evicted(),
		Profiles: len(w.account.profiles()), Calls: w.judge.quiet.made,
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
