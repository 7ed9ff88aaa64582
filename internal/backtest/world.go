package backtest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A world is the state of the replayed cluster at one time.
type world struct {
	settings Settings
	policy   Policy
	now      int64 // milliseconds since 1970
	shapes   []shape
	// nodes are in the order of their launch.
	nodes  []*node
	byName map[string]*node
	// live are the existing pods, by key. waiting are those of them without a node, in the order of creation. promises are
	// the names of planned nodes, by key of a pod.
	live     map[string]*pod
	waiting  []*pod
	promises map[string]string
	commands []*command
	planner  Planner
	err      error // first error of planner
	state    state
	tally    tally
}

// A shape is a Shape in the form that the replay uses.
type shape struct {
	template *corev1.Pod
	requests model.Resources
	// plain is true if only resources and taints decide to which nodes the pod can be bound.
	plain bool
}

// A pod is one existing pod. After an eviction, it is created again with another key.
type pod struct {
	key    string
	shape  *shape
	object *corev1.Pod
	node   *node
	// since is the time since which the pod has waited. fresh is true until the scheduler has tried it for the first time.
	since int64
	fresh bool
	// refused is the time at which a plan last refused the pod, 0 if none did since the pod last got a planned node.
	refused int64
	made    int // number of times the pod was created
	number  int // number of the pod in the trace
}

// A node is an existing node: it was launched and is not terminated.
type node struct {
	name   string
	claim  *apiv1.NodeClaim
	object *corev1.Node
	// free are the resources that pods can still request, after those of DaemonSets are subtracted.
	free     model.Resources
	room     model.Resources // value of free for the node without pods
	pods     map[string]*pod
	price    float64
	launched int64
	up       int64 // time at which the node joins
	joined   bool
	status   nodeStatus
}

// A nodeStatus is the progress of the disruption of a node.
type nodeStatus uint8

const (
	stays nodeStatus = iota
	marked
	draining
)

// state has the changes since the last snapshot.
type state struct {
	snapshot *model.Snapshot
	pods     map[string]*corev1.Pod // changed
	nodes    map[string]*node       // changed
	gone     map[model.Ref]bool
	// changed is true if something has changed since the last decision of disruption.
	changed bool
	// freed is true if capacity was released since the scheduler last ran.
	freed bool
}

func newWorld(t *Trace, p Policy, s Settings) (*world, error) {
	var planner Planner = &engine{options: p.Options}
	if p.Planner != nil {
		var err error
		if planner, err = p.Planner(); err != nil {
			return nil, err
		}
	}
	objects := p.Objects
	objects.Types = make(map[string][]*model.InstanceType, len(p.Objects.Types))
	repels := slices.ContainsFunc(t.Shapes, func(s Shape) bool {
		a := s.Template.Spec.Affinity
		return a != nil && a.PodAntiAffinity != nil
	})
	shapes, plain := make([]shape, len(t.Shapes)), true
	for i := range t.Shapes {
		shapes[i] = newShape(&t.Shapes[i], s.Slices, repels || p.Options.Pack.DefaultSpread != nil)
		plain = plain && shapes[i].plain
	}
	for _, o := range p.Objects.Pools {
		pool := model.NewPool(o, p.Options.Pack.Labels.Aliases)
		types := usable(pool, p.Objects.Types[o.Name], s.Slices)
		if plain && len(p.Objects.Daemons) == 0 && p.Planner == nil { // another planner may depend on the number of types
			types = competitive(pool, types)
		}
		objects.Types[o.Name] = types
	}
	empty := &model.Snapshot{Aliases: p.Options.Pack.Labels.Aliases, DynamicResources: p.DynamicResources}
	w := &world{
		settings: s, policy: p, shapes: shapes, planner: planner, now: t.Begin.UnixMilli(), byName: map[string]*node{}, live: map[string]*pod{}, promises: map[string]string{},
		state: state{
			snapshot: empty.Apply(objects), pods: map[string]*corev1.Pod{}, nodes: map[string]*node{}, gone: map[model.Ref]bool{},
		},
	}
	return w, nil
}

func newShape(s *Shape, slices int64, constrained bool) shape {
	t := s.Template.DeepCopy()
	for i := range t.Spec.Containers {
		r := &t.Spec.Containers[i].Resources
		if q, ok := r.Requests[gpuResource]; ok && slices > 1 {
			r.Requests[gpuResource] = *resource.NewQuantity(q.Value()*slices, resource.DecimalSI)
		}
	}
	if _, has := t.Spec.Containers[0].Resources.Requests[gpuResource]; !has && s.GPUs > 0 {
		t.Spec.Containers[0].Resources.Requests[gpuResource] = *resource.NewQuantity(s.request(slices), resource.DecimalSI)
	}
	spec := &t.Spec
	out := shape{template: t, requests: model.NewPod(t).Requests}
	out.plain = !constrained && len(spec.NodeSelector) == 0 && spec.Affinity == nil && len(spec.TopologySpreadConstraints) == 0 &&
		!usesHostPorts(spec.Containers)
	return out
}

// usesHostPorts reports whether a container has a host port.
func usesHostPorts(containers []corev1.Container) bool {
	for i := range containers {
		for _, p := range containers[i].Ports {
			if p.HostPort != 0 {
				return true
			}
		}
	}
	return false
}

func (w *world) time() time.Time { return time.UnixMilli(w.now).UTC() }

// look returns a snapshot of the current state.
func (w *world) look() *model.Snapshot {
	s := &w.state
	if len(s.pods)+len(s.nodes)+len(s.gone) > 0 {
		var d model.Delta
		for _, key := range slices.Sorted(maps.Keys(s.pods)) {
			d.Pods = append(d.Pods, s.pods[key])
		}
		for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
			n := s.nodes[name]
			d.Claims = append(d.Claims, n.claim.DeepCopy())
			if n.joined {
				d.Nodes = append(d.Nodes, n.object.DeepCopy())
			}
		}
		for ref := range s.gone {
			d.Gone = append(d.Gone, ref)
		}
		slices.SortFunc(d.Gone, compareRefs)
		s.snapshot = s.snapshot.Apply(d)
		clear(s.pods)
		clear(s.nodes)
		clear(s.gone)
	}
	return s.snapshot.At(w.time()).WithTargets(w.promises)
}

// create adds a pod that waits for a node. made is the number of times that it was created, including this one.
func (w *world) create(number int, s *shape, made int) *pod {
	p := &pod{shape: s, since: w.now, fresh: true, made: made, number: number}
	name := fmt.Sprintf("pod-%09d", number)
	if made > 1 {
		name = fmt.Sprintf("%s-%d", name, made)
	}
	o := *s.template
	o.Name, o.UID, o.CreationTimestamp = name, types.UID(name), metav1.NewTime(w.time())
	o.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
	p.object, p.key = &o, o.Namespace+"/"+name
	w.live[p.key] = p
	w.waiting = append(w.waiting, p)
	w.setPod(p)
	return p
}

func (w *world) setPod(p *pod) {
	w.state.pods[p.key], w.state.changed = p.object, true
	delete(w.state.gone, model.Ref{Kind: model.KindPod, Key: p.key})
}

// remove removes a pod from the cluster. The caller removes it from waiting.
func (w *world) remove(p *pod) {
	if n := p.node; n != nil {
		n.free = n.free.Plus(p.shape.requests)
		delete(n.pods, p.key)
		p.node = nil
		w.state.freed = true
		w.touch(n)
	}
	delete(w.live, p.key)
	delete(w.promises, p.key)
	delete(w.state.pods, p.key)
	w.state.gone[model.Ref{Kind: model.KindPod, Key: p.key}] = true
	w.state.changed = true
}

// bind binds a pod to a node. The caller removes it from waiting.
func (w *world) bind(p *pod, n *node) {
	o := *p.object
	o.Spec.NodeName = n.name
	o.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	p.object, p.node = &o, n
	n.free = n.free.Minus(p.shape.requests)
	n.pods[p.key] = p
	delete(w.promises, p.key)
	w.setPod(p)
	w.touch(n)
	w.tally.bound(p, w.now)
}

// touch sets lastPodEventTime of the node's claim to now, and removes its condition Consolidatable.
func (w *world) touch(n *node) {
	n.claim.Status.LastPodEventTime = metav1.NewTime(w.time())
	condition.Clear(n.claim, apiv1.ConditionTypeConsolidatable)
	w.wrote(n)
}

func (w *world) wrote(n *node) { w.state.nodes[n.name], w.state.changed = n, true }

// launch launches a planned node. The node joins after the duration boot.
func (w *world) launch(r *model.PlannedNode, boot time.Duration) *node {
	w.tally.launched++
	t := r.Options[0]
	name := fmt.Sprintf("node-%06d", w.tally.launched)
	labels := maps.Clone(r.Pool.Labels)
	for _, more := range []map[string]string{t.Requirements.Labels(), r.Requirements.Labels(), r.Offering.Requirements.Labels()} {
		maps.Copy(labels, more)
	}
	labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone] = t.Name, r.Offering.Zone
	labels[apiv1.CapacityTypeLabelKey], labels[corev1.LabelHostname] = r.Offering.CapacityType, name
	spec := r.Pool.Object.Spec.Template.Spec
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: maps.Clone(labels)}}
	claim.CreationTimestamp = metav1.NewTime(w.time())
	claim.Spec.Taints = slices.Clone(r.Pool.Taints)
	claim.Spec.NodeClassRef, claim.Spec.ExpireAfter, claim.Spec.TerminationGracePeriod = spec.NodeClassRef, spec.ExpireAfter, spec.TerminationGracePeriod
	claim.Status.ProviderID, claim.Status.NodeName = "backtest:///"+name, name
	claim.Status.Capacity, claim.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
	condition.SetTrue(claim, apiv1.ConditionTypeLaunched, w.time())
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: claim.CreationTimestamp}}
	labels[apiv1.NodeRegisteredLabelKey], labels[apiv1.NodeInitializedLabelKey] = "true", "true"
	object.Spec.ProviderID, object.Spec.Taints = claim.Status.ProviderID, slices.Clone(r.Pool.Taints)
	object.Status.Capacity, object.Status.Allocatable = claim.Status.Capacity, claim.Status.Allocatable
	object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	// Neither r.Requests nor r.Used has what DaemonSet pods request on t: the former is a minimum over the options, and
	// consolidation may have removed the option of the latter.
	daemons := pack.DaemonRequests(w.state.snapshot.Daemons(), object.Spec.Taints, labels, w.policy.Options.Pack.Labels)
	free := t.Allocatable.Minus(daemons)
	n := &node{
		name: name, claim: claim, object: object, free: free, room: free, pods: map[string]*pod{}, price: r.Price(),
		launched: w.now, up: w.now + boot.Milliseconds(),
	}
	w.nodes = append(w.nodes, n)
	w.byName[name] = n
	w.tally.peak = max(w.tally.peak, len(w.nodes))
	w.wrote(n)
	return n
}

// end terminates a node.
func (w *world) end(n *node) {
	w.tally.charge(n, w.now)
	w.nodes = slices.DeleteFunc(w.nodes, func(o *node) bool { return o == n })
	delete(w.byName, n.name)
	delete(w.state.nodes, n.name)
	w.state.gone[model.Ref{Kind: model.KindClaim, Key: n.name}] = true
	if n.joined {
		w.state.gone[model.Ref{Kind: model.KindNode, Key: n.name}] = true
	}
	w.state.changed = true
}

// join makes those nodes join whose boot time has elapsed.
func (w *world) join() {
	for _, n := range w.nodes {
		if n.joined || w.now < n.up {
			continue
		}
		n.joined = true
		for _, name := range []string{apiv1.ConditionTypeRegistered, apiv1.ConditionTypeInitialized} {
			condition.SetTrue(n.claim, name, w.time())
		}
		w.state.freed = true
		w.wrote(n)
	}
}
