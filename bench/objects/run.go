package objects

import (
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/catalogue"
	"github.com/karpenter-go/karpenter/internal/observe"
)

// Options are the size of the cluster.
type Options struct {
	// Nodes is the number of nodes, PodsPerNode that of the pods of each, and Pending that of the pods of each round.
	Nodes, PodsPerNode, Pending, Rounds int
	// Whole stores objects as they are, without shortening them. NoDecision leaves out the decision of disruption.
	Whole, NoDecision bool
}

// A Result has the measured values. Sizes are in bytes, CPU times and times in seconds.
type Result struct {
	Nodes, Pods int
	// NodeSize and PodSize are the lengths of the JSON of a node and a pod.
	NodeSize, PodSize int
	// Objects is the memory in use after all objects were stored, and Snapshot after the first snapshot, with the objects.
	Objects, Snapshot uint64
	// Rounds are the measurements from the snapshot to the checked plan for each batch of pending pods.
	Rounds []ours.Reading
	// Placed is the number of pods that the plans place.
	Placed int
	// Heartbeat is the CPU time for the status update of one node, from the protobuf that caches read to the next snapshot. Decision
	// is that of a pass of disruption that finds nothing to do, and Repeated that of the next pass if nothing has changed since.
	Heartbeat, Decision, Repeated float64
	Commands                      int
}

// Quiet returns the share of a core that a quiet cluster takes: each kubelet reports every five minutes. Disruption decides every
// minute, and every 15 minutes it searches again.
func (r *Result) Quiet() float64 {
	return r.Heartbeat*float64(r.Nodes)/300 + (r.Decision+r.Repeated*repeats)/900
}

// Bound pods are distributed among sets ReplicaSets for each instance type, pending pods among apps of them.
const sets, apps = 3000, 500

// Run measures. progress is called with what is done next.
func Run(o Options, progress func(string)) (*Result, error) {
	types, err := workload.Catalogue("noburst")
	if err != nil {
		return nil, err
	}
	instanceTypes, err := catalogue.InstanceTypes(types)
	if err != nil {
		return nil, err
	}
	pool := workload.Pool("default")
	w := &world{Options: o, sharer: observe.NewSharer(), cluster: observe.New(clocktesting.NewFakeClock(time.Unix(1_790_000_000, 0))), types: usual(types)}
	w.cluster.Set(pool)
	r := &Result{Nodes: o.Nodes, Pods: o.Nodes * o.PodsPerNode}
	progress(fmt.Sprintf("store %d nodes and %d pods", r.Nodes, r.Pods))
	for i := range o.Nodes {
		if err := w.addNode(i, r); err != nil {
			return nil, err
		}
	}
	r.Objects = inUse()
	progress("plan")
	var s *model.Snapshot
	for round := range o.Rounds {
		if err := w.addPending(round); err != nil {
			return nil, err
		}
		m := ours.Start()
		s = w.cluster.Snapshot().Apply(model.Delta{Types: map[string][]*model.InstanceType{pool.Name: instanceTypes}})
		plan := pack.SolveChecked(s, pack.Options{Labels: ours.Labels}).Plan
		r.Rounds = append(r.Rounds, m.Stop())
		for i := range plan.Nodes {
			r.Placed += len(plan.Nodes[i].Pods)
		}
		for _, p := range plan.Placements {
			r.Placed += len(p.Pods)
		}
		if round == 0 {
			r.Snapshot = inUse()
			runtime.KeepAlive(s)
		}
		w.endPending()
	}
	progress("stay quiet")
	if err := w.heartbeats(r); err != nil {
		return nil, err
	}
	if o.NoDecision {
		return r, nil
	}
	progress("decide on disruption")
	return r, w.decide(r)
}

// decide measures a pass of disruption after a first one, which fills caches. Only the types of the nodes may be launched, so that
// nothing can be saved.
func (w *world) decide(r *Result) error {
	types, err := catalogue.InstanceTypes(w.types)
	if err != nil {
		return err
	}
	s := w.cluster.Snapshot().Apply(model.Delta{Types: map[string][]*model.InstanceType{"default": types}})
	options := problem.Options{Pack: pack.Options{Labels: ours.Labels}, Simulate: true}
	cursor := disrupt.Decide(s, options, disrupt.Cursor{}).Cursor
	runtime.GC() // so that each measurement has the collections of its own garbage only
	m := ours.Start()
	d := disrupt.Decide(s, options, cursor)
	r.Decision, r.Commands = m.Stop().CPU, len(d.Commands)
	runtime.GC()
	m = ours.Start()
	for minute := range repeats {
		d = disrupt.Decide(s.At(s.Now.Add(time.Duration(minute+1)*time.Minute)), options, d.Cursor.Unchanged())
		if d.Stats.WhatIfs > 0 {
			return fmt.Errorf("the pass over an unchanged cluster packs %d times", d.Stats.WhatIfs)
		}
	}
	r.Repeated = m.Stop().CPU / repeats
	return nil
}

// repeats is the number of passes between two searches in a cluster without changes, of which there is one a minute.
const repeats = 14

// A world is the cluster while it is generated.
type world struct {
	Options
	cluster *observe.Cluster
	sharer  *observe.Sharer
	types   []catalogue.Type
	// nodes are the stored nodes, beats the protobuf of the first of them (see beating), and pending the pods of the current
	// round.
	nodes   []*corev1.Node
	beats   [][]byte
	pending []*corev1.Pod
	pods    map[string]template // by instance type
}

// usual returns the types of the nodes. The pods of none of them fit on a cheaper one.
func usual(types []catalogue.Type) []catalogue.Type {
	var out []catalogue.Type
	for _, t := range types {
		switch t.Name {
		case "c6i.8xlarge", "m6i.4xlarge", "r6i.2xlarge":
			out = append(out, t)
		}
	}
	return out
}

// beating is the largest number of nodes whose heartbeats are measured.
const beating = 100

func (w *world) addNode(i int, r *Result) error {
	t := w.types[i%len(w.types)]
	name := fmt.Sprintf("ip-10-%d-%d.ec2.internal", i/250, i%250)
	n := workload.NewNode(name, "default", "us-east-1a", "on-demand", t)
	enlargeNode(n, i)
	n.ResourceVersion = "1"
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	beat, err := n.Marshal()
	if err != nil {
		return fmt.Errorf("encode a node: %w", err)
	}
	if i < beating {
		w.beats = append(w.beats, beat)
	}
	stored := &corev1.Node{}
	if err := stored.Unmarshal(beat); err != nil {
		return fmt.Errorf("decode a node: %w", err)
	}
	if err := w.set(stored); err != nil {
		return err
	}
	w.nodes = append(w.nodes, stored)
	p, err := w.podOf(t)
	if err != nil {
		return err
	}
	for k := range w.PodsPerNode {
		id := i*w.PodsPerNode + k
		at := born.Add(time.Duration(id) * time.Second)
		text := p.with(born.Format(time.RFC3339), at.Format(time.RFC3339), "POD", fmt.Sprintf("bound-%06d", id), "NODE", name, "APP", fmt.Sprintf("app%04d-%s", id%sets, t.Name))
		if err := w.store(text, &corev1.Pod{}); err != nil {
			return err
		}
		r.PodSize = len(text)
	}
	r.NodeSize = len(text)
	return nil
}

// podOf returns the template of the pods of a node of the type. Together they fill it to 97%.
func (w *world) podOf(t catalogue.Type) (template, error) {
	if p, ok := w.pods[t.Name]; ok {
		return p, nil
	}
	room, err := t.Resources()
	if err != nil {
		return nil, err
	}
	n := int64(w.PodsPerNode)
	p, err := newTemplate(pod("POD", "NODE", "APP", workload.Requests(room[corev1.ResourceCPU]*97/100/n, (room[corev1.ResourceMemory]>>20)*97/100/n)))
	if w.pods == nil {
		w.pods = map[string]template{}
	}
	w.pods[t.Name] = p
	return p, err
}

// store decodes the object and stores it as an informer does.
func (w *world) store(text []byte, into client.Object) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decode an object: %w", err)
	}
	return w.set(into)
}

// set shortens the object and stores it.
func (w *world) set(o client.Object) error {
	if !w.Whole {
		if _, err := w.sharer.Transform(o); err != nil {
			return err
		}
	}
	w.cluster.Set(o)
	return nil
}

func (w *world) addPending(round int) error {
	for i := range w.Pending {
		text, err := json.Marshal(pod(fmt.Sprintf("new-%d-%06d", round, i), "", fmt.Sprintf("app%04d-%s", i%apps, w.types[0].Name), workload.Requests(int64(100+i%8*250), int64(256+i%5*512))))
		if err != nil {
			return err
		}
		p := &corev1.Pod{}
		if err := w.store(text, p); err != nil {
			return err
		}
		w.pending = append(w.pending, p)
	}
	return nil
}

func (w *world) endPending() {
	for _, p := range w.pending {
		w.cluster.Remove(p)
	}
	w.pending = nil
}

// heartbeats measures status updates of nodes that change nothing.
func (w *world) heartbeats(r *Result) error {
	w.cluster.Snapshot()
	version := w.cluster.Version()
	m := ours.Start()
	for i, text := range w.beats {
		n := &corev1.Node{}
		if err := n.Unmarshal(text); err != nil {
			return fmt.Errorf("decode a node: %w", err)
		}
		n.ResourceVersion = "2"
		if !w.Whole {
			if _, err := w.sharer.Transform(n); err != nil {
				return err
			}
		}
		w.cluster.Replace(w.nodes[i], n)
		if i%33 == 0 { // once a second in a cluster of 10,000 nodes
			w.cluster.Snapshot()
		}
	}
	r.Heartbeat = m.Stop().CPU / float64(len(w.beats))
	if !w.Whole && w.cluster.Version() != version {
		return fmt.Errorf("heartbeats count as changes")
	}
	return nil
}

// inUse returns the memory in use after a collection of garbage.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
