// Package overhead computes from profiles which share of the controller's work is to explain and to price its decisions: decision
// log, ledger, and the events and metrics that upstream Karpenter does not have.
package overhead

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/karpenter-go/karpenter/bench/e2e"
)

const (
	module     = "github.com/karpenter-go/karpenter/"
	collection = "garbage collection"
)

// A Part is one part of the work, with prefixes of its functions.
type Part struct {
	Name      string
	Functions []string
	// Apart is true if the part is not in the sum. Its samples belong to no other part.
	Apart bool
	// Own returns which share of the part upstream does not have, from 0 to 1. The rest of the part is not in the sum. dir is the
	// directory of the profiles. nil means that upstream has nothing of the part.
	Own func(n *Names, dir string) (float64, error)
}

// Parts are the parts whose shares are computed. A sample belongs to the first part that has a function of its stack.
var Parts = []Part{
	{Name: "logs", Functions: []string{
		"log/slog.", "github.com/go-logr/", module + "internal/telemetry.(*byCause)", module + "internal/telemetry.(*countsPanics)",
		module + "internal/telemetry.(*sampled)", module + "internal/telemetry.quiet",
	}, Apart: true},
	{Name: "decision log", Functions: []string{module + "internal/decisions.", module + "internal/controller/decisionlog."}},
	{Name: "ledger", Functions: []string{module + "internal/ledger.", module + "engine/cost.", module + "internal/controller/costledger."}},
	{Name: "sentences", Functions: []string{module + "engine/explain."}},
	{Name: "events", Functions: []string{
		module + "internal/telemetry.(*EventRecorder)", "k8s.io/client-go/tools/record.", "k8s.io/client-go/tools/record/", "k8s.io/client-go/tools/events.",
	}, Own: func(n *Names, dir string) (float64, error) { return n.ownEvents(filepath.Join(dir, e2e.Events)) }},
	{Name: "metrics", Functions: []string{
		module + "internal/controller/metrics.", module + "internal/telemetry.", "github.com/prometheus/", "k8s.io/component-base/metrics",
	}, Own: func(n *Names, dir string) (float64, error) { return n.ownSamples(filepath.Join(dir, e2e.Metrics)) }},
}

// A Share is the share of one part in all samples, from 0 to 1.
type Share struct {
	Name string `json:"name"`
	// CPU is the share of CPU time without garbage collection, and Allocated that of allocated bytes.
	CPU       float64 `json:"cpu"`
	Allocated float64 `json:"allocated"`
	// All is the share of all CPU time: garbage collection is divided among the parts by what they allocated.
	All float64 `json:"all"`
	// Counted is false if the share is not in the sum.
	Counted bool `json:"counted"`
}

// times returns the share with another name and all amounts multiplied by f.
func (s Share) times(name string, f float64) Share {
	return Share{Name: name, CPU: f * s.CPU, Allocated: f * s.Allocated, All: f * s.All, Counted: s.Counted}
}

// A Result has the shares of the profiles of a run.
type Result struct {
	// CPUSeconds is the profiled CPU time of the controller, Collection the share of garbage collection in it.
	CPUSeconds float64 `json:"cpuSeconds"`
	Collection float64 `json:"garbageCollection"`
	// Shares are those of Parts, in their order. A part that upstream has partly has two shares. Sum is the sum of those that are
	// counted.
	Shares []Share `json:"shares"`
	Sum    Share   `json:"sum"`
}

// Of returns the result of the profiles in the directory, which e2e.Run has written. n are the names of upstream.
//
// A profile does not tell which metric or event a function works for. So the time of all metrics is divided between those that
// upstream has and the others as the samples of a scrape are, and the time of events as the events are.
func Of(dir string, n *Names) (*Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, e2e.CPUProfiles))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no CPU profiles in %s", dir)
	}
	var all []*profile.Profile
	for _, file := range files {
		p, err := read(file)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	cpu, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("merge CPU profiles: %w", err)
	}
	allocated, err := read(filepath.Join(dir, e2e.Allocations))
	if err != nil {
		return nil, err
	}
	r, err := compute(sums(cpu, "cpu"), sums(allocated, "alloc_space"))
	if err != nil {
		return nil, err
	}
	return r, r.divide(dir, n)
}

// divide divides the shares of the parts that upstream has partly, and computes the sum.
func (r *Result) divide(dir string, n *Names) error {
	shares := r.Shares
	r.Shares = nil
	for i, p := range Parts {
		s := shares[i]
		s.Counted = !p.Apart
		if p.Own == nil {
			r.Shares = append(r.Shares, s)
			continue
		}
		own, err := p.Own(n, dir)
		if err != nil {
			return err
		}
		both := s.times(s.Name+" that upstream has too", 1-own)
		both.Counted = false
		r.Shares = append(r.Shares, s.times(s.Name+" that only this controller has", own), both)
	}
	r.Sum = Share{Name: "sum", Counted: true}
	for _, s := range r.Shares {
		if s.Counted {
			r.Sum.CPU, r.Sum.Allocated, r.Sum.All = r.Sum.CPU+s.CPU, r.Sum.Allocated+s.Allocated, r.Sum.All+s.All
		}
	}
	return nil
}

func read(file string) (*profile.Profile, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer in.Close() // was read only
	p, err := profile.Parse(in)
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", file, err)
	}
	return p, nil
}

// rest is the name of the samples of no part.
const rest = "rest"

// sums returns the sums of the samples by part, of the value with the name.
func sums(p *profile.Profile, value string) map[string]int64 {
	at := 0
	for i, t := range p.SampleType {
		if t.Type == value {
			at = i
		}
	}
	out := map[string]int64{}
	for _, s := range p.Sample {
		out[partOf(s)] += s.Value[at]
	}
	return out
}

// partOf returns the name of the part of a sample: collection for garbage collection, rest if it belongs to no part.
func partOf(s *profile.Sample) string {
	found := len(Parts)
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			if strings.HasPrefix(name, "runtime.gcBgMarkWorker") || strings.HasPrefix(name, "runtime.bgsweep") ||
				strings.HasPrefix(name, "runtime.bgscavenge") || strings.HasPrefix(name, "runtime.gcAssistAlloc") {
				return collection
			}
			for i := range found {
				if hasPrefix(name, Parts[i].Functions) {
					found = i
					break
				}
			}
		}
	}
	if found == len(Parts) {
		return rest
	}
	return Parts[found].Name
}

func hasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// compute returns the shares of Parts, without a sum. Garbage collection is divided by allocated bytes.
func compute(cpu, allocated map[string]int64) (*Result, error) {
	var total, bytes float64
	for _, v := range cpu {
		total += float64(v)
	}
	for _, v := range allocated {
		bytes += float64(v)
	}
	if total == 0 || bytes == 0 {
		return nil, fmt.Errorf("the profiles have no samples")
	}
	collecting := float64(cpu[collection]) / total
	r := &Result{CPUSeconds: total / 1e9, Collection: collecting}
	for _, p := range Parts {
		s := Share{Name: p.Name, Allocated: float64(allocated[p.Name]) / bytes}
		if working := total - float64(cpu[collection]); working > 0 {
			s.CPU = float64(cpu[p.Name]) / working
		}
		s.All = s.CPU*(1-collecting) + s.Allocated*collecting
		r.Shares = append(r.Shares, s)
	}
	return r, nil
}
