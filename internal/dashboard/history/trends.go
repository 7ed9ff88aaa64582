package history

import (
	"time"

	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// Step is the time between two samples of trends. maxSamples is the maximum number of stored samples: those of a day.
const (
	Step       = time.Minute
	maxSamples = 24 * 60
)

// Trends are samples of the strip at a fixed interval, Step. The zero value is empty. It must not be used concurrently.
type Trends struct {
	samples []sample
}

type sample struct {
	at                                          int64 // in Unix seconds, a multiple of Step
	dollars, floor, nodes, pending, cpu, memory *float64
}

// Add adds a sample, unless there is one for the same step.
func (t *Trends) Add(now time.Time, s view.Strip) {
	x := sample{
		at: now.Truncate(Step).Unix(), dollars: s.DollarsPerHour, floor: s.FloorPerHour, nodes: number(s.Nodes), pending: number(s.PodsPending),
		cpu: share(s.Requested.CPU, s.Allocatable.CPU), memory: share(float64(s.Requested.Memory), float64(s.Allocatable.Memory)),
	}
	if n := len(t.samples); n > 0 && t.samples[n-1].at >= x.at {
		return
	}
	if len(t.samples) >= maxSamples {
		t.samples = append(t.samples[:0], t.samples[1:]...)
	}
	t.samples = append(t.samples, x)
}

// Due reports whether there is no sample yet for the step that contains the time.
func (t *Trends) Due(now time.Time) bool {
	n := len(t.samples)
	return n == 0 || t.samples[n-1].at < now.Truncate(Step).Unix()
}

func number(n int) *float64 {
	v := float64(n)
	return &v
}

func share(used, have float64) *float64 {
	if have <= 0 {
		return nil
	}
	v := used / have
	return &v
}

// View returns the samples. Steps without a sample are null, for example those in which no update ran. They are left out
// once the list has twice maxSamples values.
func (t *Trends) View() view.Trends {
	out := view.Trends{
		Time: []int64{}, DollarsPerHour: []*float64{}, FloorPerHour: []*float64{}, Nodes: []*float64{}, Pending: []*float64{},
		CPU: []*float64{}, Memory: []*float64{},
	}
	step := int64(Step / time.Second)
	for i, x := range t.samples {
		if i > 0 && len(out.Time) < 2*maxSamples {
			for at := t.samples[i-1].at + step; at < x.at && len(out.Time) < 2*maxSamples; at += step {
				out = appended(out, sample{at: at})
			}
		}
		out = appended(out, x)
	}
	return out
}

func appended(v view.Trends, x sample) view.Trends {
	v.Time = append(v.Time, x.at)
	v.DollarsPerHour = append(v.DollarsPerHour, x.dollars)
	v.FloorPerHour = append(v.FloorPerHour, x.floor)
	v.Nodes = append(v.Nodes, x.nodes)
	v.Pending = append(v.Pending, x.pending)
	v.CPU = append(v.CPU, x.cpu)
	v.Memory = append(v.Memory, x.memory)
	return v
}
