package termination_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
	nodehydration "github.com/karpenter-go/karpenter/internal/controller/node/hydration"
	"github.com/karpenter-go/karpenter/internal/controller/node/termination"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/consistency"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/disruptionstatus"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/hydration"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/lifecycle"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/podevents"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A cluster is an API server with controllers that read it through a delayed cache. Time is virtual.
type cluster struct {
	t     *testing.T
	api   *apiServer
	clock *clocktesting.FakeClock
	cloud *fakecloud.Cloud
	// lag is the delay between a write and its delivery by the watch, which triggers the controllers. For claims the delay is
	// twice as long.
	lag     time.Duration
	cached  map[string]client.Object
	coming  []news
	all     []controller
	queue   []request
	timers  []timer
	started time.Time
}

type news struct {
	at   time.Time
	o    client.Object
	gone bool
}

type controller struct {
	reconcile.Reconciler
	name string
	// wakes returns the names of the objects that are reconciled after a change of the given object.
	wakes func(client.Object) []string
}

type request struct {
	controller int
	name       string
}

type timer struct {
	at      time.Time
	request request
}

// cache is a client that reads what the watch has delivered and writes to the API server.
type cache struct {
	*apiServer
	c *cluster
}

func (c cache) Get(_ context.Context, name client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	return read(c.c.cached, name.Name, o)
}

func (c cache) List(_ context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return list(c.c.cached, l, opts...)
}

func newCluster(t *testing.T, lag time.Duration) *cluster {
	clock := clocktesting.NewFakeClock(world.Start)
	c := &cluster{t: t, clock: clock, cloud: &fakecloud.Cloud{}, lag: lag, cached: map[string]client.Object{}}
	c.api = &apiServer{clock: clock, stored: map[string]client.Object{}, calls: map[string]int{}}
	c.api.changed = func(o client.Object, gone bool) {
		lag := c.lag
		if _, isClaim := o.(*apiv1.NodeClaim); isClaim {
			lag *= 2
		}
		c.coming = append(c.coming, news{clock.Now().Add(lag), o, gone})
		slices.SortStableFunc(c.coming, func(a, b news) int { return a.at.Compare(b.at) })
	}
	reads := act.OwnWrites(cache{c.api, c}, clock)
	m := telemetry.NewMetrics(prometheus.NewRegistry(), nil)
	events := &world.Events{}
	c.all = []controller{
		{&lifecycle.Controller{Client: reads, Live: c.api, Clock: clock, Events: events, Metrics: m, Cloud: c.cloud}, "lifecycle", claimOf},
		{&termination.Controller{Client: reads, Live: c.api, Clock: clock, Events: events, Metrics: m, Cloud: c.cloud}, "termination", c.leavingNode},
		{&consistency.Controller{Client: reads, Clock: clock, Events: events, Cloud: c.cloud}, "consistency", claimOf},
		{&disruptionstatus.Controller{Client: reads, Clock: clock, Cloud: c.cloud}, "disruption", claimOf},
		{&hydration.Controller{Client: reads, Cloud: c.cloud}, "claim hydration", claimOf},
		{&nodehydration.Controller{Client: reads, Cloud: c.cloud}, "node hydration", nodeOf},
		{&podevents.Controller{Client: reads, Clock: clock, Cloud: c.cloud}, "podevents", nodeOfPod},
	}
	return c
}

// claimOf returns the claim of a changed claim or node.
func claimOf(o client.Object) []string {
	switch o := o.(type) {
	case *apiv1.NodeClaim:
		return []string{o.Name}
	case *corev1.Node:
		return []string{strings.TrimPrefix(o.Name, "node-")}
	}
	return nil
}

func nodeOf(o client.Object) []string {
	if o, ok := o.(*corev1.Node); ok {
		return []string{o.Name}
	}
	return nil
}

func nodeOfPod(o client.Object) []string {
	if o, ok := o.(*corev1.Pod); ok {
		return []string{o.Spec.NodeName}
	}
	return nil
}

// leavingNode returns the node of a changed object, if the node is being deleted according to the cache.
func (c *cluster) leavingNode(o client.Object) []string {
	name := ""
	switch o := o.(type) {
	case *corev1.Node:
		name = o.Name
	case *corev1.Pod:
		name = o.Spec.NodeName
	case *apiv1.NodeClaim:
		name = o.Status.NodeName
	}
	if node := c.cached[key(&corev1.Node{}, name)]; node == nil || node.GetDeletionTimestamp() == nil {
		return nil
	}
	return []string{name}
}

// add adds a node with its claim and two pods, all an hour old.
func (c *cluster) add(name string) {
	claim := world.Joined(c.cloud, name)
	claim.Labels["fake.example.com/fakenodeclass"] = "default"
	node := world.Node("node-"+name, claim.Status.ProviderID)
	node.Finalizers, node.Spec.Taints = []string{apiv1.TerminationFinalizer}, nil
	node.CreationTimestamp = claim.CreationTimestamp
	node.Labels = maps.Clone(claim.Labels)
	node.Labels[apiv1.NodeRegisteredLabelKey], node.Labels[apiv1.NodeInitializedLabelKey] = "true", "true"
	node.Status.Capacity, node.Status.Allocatable = claim.Status.Capacity, claim.Status.Allocatable
	objects := []client.Object{claim, node}
	for i := range 2 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("pod-%s-%d", name, i), UID: types.UID(fmt.Sprintf("pod-%s-%d", name, i)),
			Finalizers: []string{"test/kubelet"},
		}}
		p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds, p.Status.Phase = node.Name, new(int64(1)), corev1.PodRunning
		objects = append(objects, p)
	}
	for _, o := range objects {
		c.api.put(o)
	}
}

// show delivers the watch events that are due and queues the affected objects.
func (c *cluster) show() {
	for len(c.coming) > 0 && !c.coming[0].at.After(c.clock.Now()) {
		n := c.coming[0]
		c.coming = c.coming[1:]
		if k := key(n.o, n.o.GetName()); n.gone {
			delete(c.cached, k)
		} else {
			c.cached[k] = n.o
		}
		for i, x := range c.all {
			for _, name := range x.wakes(n.o) {
				c.enqueue(request{i, name})
			}
		}
	}
	due := slices.Clone(c.timers)
	c.timers = slices.DeleteFunc(c.timers, func(t timer) bool { return !t.at.After(c.clock.Now()) })
	for _, t := range due {
		if !t.at.After(c.clock.Now()) {
			c.enqueue(t.request)
		}
	}
}

func (c *cluster) enqueue(r request) {
	if !slices.Contains(c.queue, r) {
		c.queue = append(c.queue, r)
	}
}

// work reconciles until nothing is queued.
func (c *cluster) work() {
	c.t.Helper()
	for len(c.queue) > 0 {
		r := c.queue[0]
		c.queue = c.queue[1:]
		result, err := c.all[r.controller].Reconcile(c.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: r.name}})
		if err != nil {
			c.t.Fatalf("%s %s at %s: %v", c.all[r.controller].name, r.name, c.clock.Since(c.started), err)
		}
		if result.RequeueAfter > 0 {
			c.timers = append(c.timers, timer{c.clock.Now().Add(result.RequeueAfter), r})
		}
	}
}

// run advances the clock and calls others at each step, until all nodes and claims are removed or most has passed.
func (c *cluster) run(most time.Duration, others func(passed time.Duration)) {
	c.t.Helper()
	const step = 50 * time.Millisecond
	c.started = c.clock.Now()
	for c.clock.Since(c.started) < most {
		others(c.clock.Since(c.started))
		c.show()
		c.work()
		if !slices.ContainsFunc(slices.Collect(maps.Values(c.api.stored)), func(o client.Object) bool { return nodeOf(o) != nil || claimOf(o) != nil }) {
			return
		}
		c.clock.Step(step)
	}
}

// Many nodes are deleted at once, and again every two seconds, while kubelets report. Whatever the lag of the cache, the API
// server gets only a few calls per node and few conflicts. The events of pods, nodes and claims take eight lags in sequence.
func TestMassDeletion(t *testing.T) {
	const nodes = 100
	for _, tt := range []struct {
		name string
		lag  time.Duration
		// claims is true if users delete claims and pods as well. Otherwise Karpenter deletes claims and evicts pods.
		claims bool
	}{
		{"all at once, fresh cache", 50 * time.Millisecond, true},
		{"all at once, cache lags", time.Second, true},
		{"all at once, cache lags much", 5 * time.Second, true},
		{"nodes alone, fresh cache", 50 * time.Millisecond, false},
		{"nodes alone, cache lags much", 5 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, tt.lag)
			var names []string
			for i := range nodes {
				names = append(names, fmt.Sprintf("%03d", i))
				c.add(names[i])
			}
			for range 2 {
				c.clock.Step(time.Hour)
				c.show()
				c.work()
			}
			clear(c.api.calls)
			c.run(5*time.Minute, func(passed time.Duration) { c.others(names, passed, tt.claims) })
			if took, most := c.clock.Since(c.started), 5*time.Second+8*tt.lag; took > most {
				t.Errorf("took %s, want at most %s", took, most)
			}
			calls := c.api.calls
			conflicts := calls["conflict"]
			if writes := calls["patch node"] + calls["patch nodeclaim"] + calls["delete nodeclaim"]; 20*conflicts > writes {
				t.Errorf("%d of %d writes met a conflict, want at most 5%%", conflicts, writes)
			}
			// After a conflict, the node is read once and written once more.
			delete(calls, "conflict")
			for verb, n := range calls {
				if most := deletion()[verb]*nodes + conflicts; n > most {
					t.Errorf("%s: %d calls for %d nodes, want at most %d", verb, n, nodes, most)
				}
			}
		})
	}
}

// deletion returns the maximum number of calls for the deletion of one node. The node is tainted, and later its finalizer is
// removed. The claim is deleted, because its deletion by a user is not in the cache yet. Its status gets the last pod event, then
// the states draining and drained with the instance terminating, and then its finalizer is removed. Pods are read once without
// the cache.
func deletion() map[string]int {
	return map[string]int{"patch node": 2, "patch nodeclaim": 4, "delete nodeclaim": 1, "list podlist": 1, "evict pod": 2}
}

// others does what users and kubelets do. Users delete the nodes every two seconds, with or without their claims and pods. Each
// kubelet reports once a minute, at different times, and stops pods one second after their deletion.
func (c *cluster) others(names []string, passed time.Duration, claims bool) {
	for i, name := range names {
		node, claim := c.api.stored[key(&corev1.Node{}, "node-"+name)], c.api.stored[key(&apiv1.NodeClaim{}, name)]
		if passed%(2*time.Second) == 0 {
			if node != nil {
				_ = c.api.remove(node)
			}
			if claim != nil && claims {
				_ = c.api.remove(claim)
			}
		}
		for k := range 2 {
			p := c.api.stored[key(&corev1.Pod{}, fmt.Sprintf("pod-%s-%d", name, k))]
			switch {
			case p == nil:
			case p.GetDeletionTimestamp() == nil && claims:
				_ = c.api.remove(p)
			case p.GetDeletionTimestamp() == nil:
			case c.clock.Since(p.GetDeletionTimestamp().Time) >= time.Second:
				p = p.DeepCopyObject().(client.Object)
				p.SetFinalizers(nil)
				c.api.put(p)
			}
		}
		if node = c.api.stored[key(&corev1.Node{}, "node-"+name)]; node != nil && passed%time.Minute == time.Duration(i)*600*time.Millisecond {
			node = node.DeepCopyObject().(client.Object)
			node.SetAnnotations(map[string]string{"reported": passed.String()})
			c.api.put(node)
		}
	}
}
