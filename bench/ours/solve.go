package ours

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// Labels are the label rules for all plans. They are those of the AWS provider.
var Labels = apiv1.CoreLabels().With(awsv1.Labels())

// A Meter measures time, CPU time and allocations between Start and Stop.
type Meter struct {
	began     time.Time
	cpu       float64
	allocated uint64
}

// A Reading is the result of a Meter.
type Reading struct {
	// Seconds is wall time. CPU is the CPU time of all threads of the process, on which other processes have little
	// effect.
	Seconds, CPU float64
	// Allocated is in bytes.
	Allocated uint64
}

// Start collects garbage and returns a running Meter.
func Start() Meter {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Meter{began: time.Now(), cpu: cpuSeconds(), allocated: m.TotalAlloc}
}

// Stop returns the measured values.
func (m Meter) Stop() Reading {
	r := Reading{Seconds: time.Since(m.began).Seconds(), CPU: cpuSeconds() - m.cpu}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	r.Allocated = after.TotalAlloc - m.allocated
	return r
}

// cpuSeconds returns the CPU time that this process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // cannot happen for this process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// Solve plans the cluster once, from decoded objects to finished plan, and checks the plan after the measurement.
func Solve(c *workload.Cluster, o pack.Options) (*result.Run, error) {
	d, err := c.Delta()
	if err != nil {
		return nil, err
	}
	meter := Start()
	s := model.Compile(d)
	plan := pack.Solve(s, o)
	reading := meter.Stop()

	run := &result.Run{
		Engine: "karpenter-go", Pods: len(s.Pending()), Floor: plan.Floor, Unplaced: []string{},
		Seconds: reading.Seconds, CPU: reading.CPU, Allocated: reading.Allocated,
	}
	began := time.Now()
	for _, v := range verify.Plan(s, plan, o.Labels) {
		run.Violations = append(run.Violations, v.String())
	}
	run.VerifySeconds = time.Since(began).Seconds()
	describe(run, c, plan)
	return run, nil
}

// describe adds the plan's nodes and refusals to the run.
func describe(run *result.Run, c *workload.Cluster, plan *model.Plan) {
	zones := result.Values(c.Catalogue, func(o catalogue.Offering) string { return o.Zone })
	capacityTypes := result.Values(c.Catalogue, func(o catalogue.Offering) string { return o.CapacityType })
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		node := result.Node{
			Zones: admitted(n, corev1.LabelTopologyZone, zones), CapacityTypes: admitted(n, apiv1.CapacityTypeLabelKey, capacityTypes),
			Pods: keys(n.Pods),
		}
		for _, t := range n.Options {
			node.Options = append(node.Options, t.Name)
		}
		run.Nodes = append(run.Nodes, node)
	}
	for _, r := range plan.Refusals {
		run.Unplaced = append(run.Unplaced, keys(r.Pods)...)
		run.Reasons = append(run.Reasons, fmt.Sprintf("%d pods (%s): %s", len(r.Pods), r.Pods[0].Key, r))
	}
}

// admitted returns the values that the node's requirements allow for a label.
func admitted(n *model.PlannedNode, key string, values []string) []string {
	r, ok := n.Requirements.Get(key)
	if !ok {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !r.Has(v) })
}

func keys(pods []*model.Pod) []string {
	out := make([]string, len(pods))
	for i, p := range pods {
		out[i] = p.Key
	}
	return out
}
