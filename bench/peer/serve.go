package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/object"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	fakecloud "sigs.k8s.io/karpenter/pkg/cloudprovider/fake"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	provisioner "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/state/cost"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
)

// serve answers each line of in with one line. It returns at the end of in.
func serve(in io.Reader, out io.Writer) error {
	ctx, err := settings()
	if err != nil {
		return err
	}
	lines, buffered := json.NewDecoder(bufio.NewReaderSize(in, 1<<20)), bufio.NewWriter(out)
	var w *world
	for {
		var r request
		err := lines.Decode(&r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		if w == nil {
			if w, err = begin(ctx, &r); err != nil {
				return err
			}
		}
		a, err := w.answer(ctx, &r)
		if err != nil {
			a = &answer{Error: err.Error()}
		}
		if err := json.NewEncoder(buffered).Encode(a); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
		if err := buffered.Flush(); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
	}
}

// A world is upstream's state of the replayed cluster, with its provisioner and its methods of disruption.
type world struct {
	store    *store
	clock    *virtualClock
	cloud    *fakecloud.CloudProvider
	recorder events.Recorder
	cluster  *state.Cluster
	provider *provisioning.Provisioner
	queue    *disruption.Queue
	costs    *cost.ClusterCost
	methods  []disruption.Method
	class    karpenterv1.NodeClassReference
}

// begin returns the world before the first request is applied.
func begin(ctx context.Context, r *request) (*world, error) {
	if r.Begin == nil {
		return nil, errors.New("the first request has no beginning")
	}
	w := &world{
		store: newStore(), clock: &virtualClock{now: r.Now}, cloud: fakecloud.NewCloudProvider(), recorder: events.NewRecorder(&record.FakeRecorder{}),
		queue: &disruption.Queue{ProviderIDToCommand: map[string]*disruption.Command{}},
	}
	w.class = karpenterv1.NodeClassReference{Name: "default"}
	for _, c := range w.cloud.GetSupportedNodeClasses() {
		gvk := object.GVK(c)
		w.class.Group, w.class.Kind = gvk.Group, gvk.Kind
	}
	w.cloud.InstanceTypesForNodePool = map[string][]*cloudprovider.InstanceType{}
	for _, p := range r.Begin.Pools {
		p.Spec.Template.Spec.NodeClassRef = &w.class
		p.StatusConditions().SetTrue(karpenterv1.ConditionTypeValidationSucceeded)
		p.StatusConditions().SetTrue(karpenterv1.ConditionTypeNodeClassReady)
		w.store.pools[client.ObjectKeyFromObject(p)] = p
		for i := range r.Begin.Types[p.Name] {
			w.cloud.InstanceTypesForNodePool[p.Name] = append(w.cloud.InstanceTypesForNodePool[p.Name], newType(&r.Begin.Types[p.Name][i]))
		}
	}
	for _, d := range r.Begin.Daemons {
		w.store.daemons[client.ObjectKeyFromObject(d)] = d
	}
	for _, n := range r.Begin.Namespaces {
		w.store.namespaces[client.ObjectKeyFromObject(n)] = n
	}
	w.cluster = state.NewCluster(w.clock, w.store, w.cloud)
	w.cluster.SetSynced(true)
	w.costs = cost.NewClusterCost(ctx, w.cloud, w.store)
	w.provider = provisioning.NewProvisioner(w.store, w.recorder, w.cloud, w.cluster, w.clock, nil, &virtualpods.Cache{})
	w.methods = disruption.NewMethods(ctx, w.clock, w.cluster, w.store, w.provider, w.cloud, w.recorder, w.queue)
	return w, nil
}

// newType converts an instance type.
func newType(t *requiredType) *cloudprovider.InstanceType {
	overhead := corev1.ResourceList{}
	for name, q := range t.Capacity {
		q = q.DeepCopy()
		if q.Sub(t.Allocatable[name]); q.Sign() > 0 {
			overhead[name] = q
		}
	}
	out := &cloudprovider.InstanceType{
		Name: t.Name, Requirements: requirements(t.Requirements), Capacity: t.Capacity,
		Overhead: &cloudprovider.InstanceTypeOverhead{KubeReserved: overhead},
	}
	for key := range out.Requirements {
		if !strings.HasPrefix(key, "karpenter.sh/") {
			karpenterv1.WellKnownLabels.Insert(key)
		}
	}
	for _, o := range t.Offerings {
		out.Offerings = append(out.Offerings, &cloudprovider.Offering{
			Requirements: requirements(o.Requirements), Price: o.Price, Available: o.Available,
		})
	}
	return out
}

func requirements(list []karpenterv1.NodeSelectorRequirementWithMinValues) scheduling.Requirements {
	out := scheduling.NewRequirements()
	for _, r := range list {
		out.Add(scheduling.NewRequirement(r.Key, r.Operator, r.Values...))
	}
	return out
}

// answer applies the changes of the request and decides.
func (w *world) answer(ctx context.Context, r *request) (*answer, error) {
	w.clock.set(r.Now)
	if err := w.apply(ctx, r); err != nil {
		return nil, err
	}
	switch r.Do {
	case "plan":
		return w.plan(ctx)
	case "disrupt":
		return w.disrupt(ctx)
	}
	return nil, fmt.Errorf("unknown request %q", r.Do)
}

// apply applies the changes to the objects and to upstream's state.
func (w *world) apply(ctx context.Context, r *request) error {
	for _, b := range r.Budgets {
		w.store.budgets[client.ObjectKeyFromObject(b)] = b
	}
	for _, key := range r.GonePods {
		namespace, name, _ := strings.Cut(key, "/")
		k := client.ObjectKey{Namespace: namespace, Name: name}
		w.store.deletePod(k)
		w.cluster.DeletePod(k)
	}
	for _, p := range r.Pods {
		w.store.setPod(p)
	}
	for _, name := range r.GoneNodes {
		delete(w.store.nodes, client.ObjectKey{Name: name})
		w.cluster.DeleteNode(name)
	}
	for _, name := range r.GoneClaims {
		key := client.ObjectKey{Name: name}
		if w.store.claims[key] != nil {
			w.costs.DeleteNodeClaim(ctx, key)
		}
		delete(w.store.claims, key)
		w.cluster.DeleteNodeClaim(name)
	}
	for _, c := range r.Claims {
		c.Spec.NodeClassRef = &w.class
		c.Labels = w.labelled(c.Labels)
		w.store.claims[client.ObjectKeyFromObject(c)] = c
		w.cluster.UpdateNodeClaim(c)
		w.costs.UpdateNodeClaim(ctx, c)
		if c.StatusConditions().Get(karpenterv1.ConditionTypeDisruptionReason).IsTrue() {
			w.cluster.MarkForDeletion(c.Status.ProviderID)
		} else {
			w.cluster.UnmarkForDeletion(c.Status.ProviderID)
		}
	}
	for _, n := range r.Nodes {
		n.Labels = w.labelled(n.Labels)
		w.store.nodes[client.ObjectKeyFromObject(n)] = n
		if err := w.cluster.UpdateNode(ctx, n); err != nil {
			return fmt.Errorf("update node %s: %w", n.Name, err)
		}
	}
	for _, p := range r.Pods {
		if err := w.cluster.UpdatePod(ctx, p); err != nil {
			return fmt.Errorf("update pod %s: %w", key(p), err)
		}
	}
	return nil
}

// labelled adds the label of the node class, by which upstream knows its own nodes, to labels, which may be nil.
func (w *world) labelled(labels map[string]string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[w.class.Group+"/"+strings.ToLower(w.class.Kind)] = w.class.Name
	return labels
}

// plan plans the pending pods, as upstream's provisioner does when a batch of pods is complete.
func (w *world) plan(ctx context.Context) (*answer, error) {
	results, err := w.provider.Schedule(ctx)
	if err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	results.Record(ctx, w.recorder, w.cluster)
	a := &answer{Placements: placements(results)}
	for _, n := range results.NewNodeClaims {
		a.Nodes = append(a.Nodes, newNode(n))
	}
	for p := range results.PodErrors {
		a.Refused = append(a.Refused, key(p))
	}
	slices.Sort(a.Refused)
	return a, nil
}

func newNode(n *provisioner.NodeClaim) plannedNode {
	out := plannedNode{
		Pool: n.NodePoolName, Requirements: n.Requirements.NodeSelectorRequirements(), Requests: n.Spec.Resources.Requests, Pods: []string{},
	}
	for _, t := range n.InstanceTypeOptions {
		out.Options = append(out.Options, t.Name)
	}
	for _, p := range n.Pods {
		out.Pods = append(out.Pods, key(p))
	}
	if out.Requests == nil {
		out.Requests = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	}
	slices.Sort(out.Pods)
	return out
}

func placements(results provisioner.Results) (out []placement) {
	for _, n := range results.ExistingNodes {
		if len(n.Pods) == 0 || n.StateNode.NodeClaim == nil {
			continue
		}
		p := placement{Node: n.StateNode.NodeClaim.Name}
		for _, pod := range n.Pods {
			p.Pods = append(p.Pods, key(pod))
		}
		slices.Sort(p.Pods)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b placement) int { return strings.Compare(a.Node, b.Node) })
	return out
}

// disrupt returns the commands of the first of upstream's methods that has any, as its disruption controller does.
func (w *world) disrupt(ctx context.Context) (*answer, error) {
	for _, m := range w.methods {
		candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, w.cluster, w.store, w.recorder, w.clock, w.cloud, m.ShouldDisrupt,
			m.Class(), w.queue, w.costs)
		if err != nil {
			return nil, fmt.Errorf("find candidates: %w", err)
		}
		if len(candidates) == 0 {
			continue
		}
		if t, ok := m.(interface {
			SetNodePoolTotals(map[string]disruption.NodePoolTotals)
		}); ok {
			t.SetNodePoolTotals(totals)
		}
		budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, w.cluster, w.clock, w.store, w.cloud, w.recorder, m.Reason())
		if err != nil {
			return nil, fmt.Errorf("compute budgets: %w", err)
		}
		commands, err := m.ComputeCommands(ctx, budgets, candidates...)
		if err != nil {
			return nil, fmt.Errorf("compute commands: %w", err)
		}
		var out []command
		for i := range commands {
			if len(commands[i].Candidates) > 0 {
				out = append(out, newCommand(&commands[i], m))
			}
		}
		if len(out) > 0 {
			return &answer{Commands: out}, nil
		}
	}
	return &answer{}, nil
}

func newCommand(c *disruption.Command, m disruption.Method) command {
	out := command{Reason: string(m.Reason()), Method: m.ConsolidationType(), Placements: placements(c.Results)}
	for _, n := range c.Candidates {
		out.Claims = append(out.Claims, n.NodeClaim.Name)
	}
	slices.Sort(out.Claims)
	for _, r := range c.Replacements {
		out.Replacements = append(out.Replacements, newNode(r.NodeClaim))
	}
	return out
}

// A virtualClock is the clock of the replay. Waiting takes no time.
type virtualClock struct {
	clock.RealClock
	mu  sync.Mutex
	now time.Time
}

func (c *virtualClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Now returns the time of the replay.
func (c *virtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since returns the time of the replay since t.
func (c *virtualClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Sleep returns immediately.
func (c *virtualClock) Sleep(time.Duration) {}

// After returns a channel with the time of the replay.
func (c *virtualClock) After(time.Duration) <-chan time.Time {
	ready := make(chan time.Time, 1)
	ready <- c.Now()
	return ready
}
