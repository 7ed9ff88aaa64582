package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A verb is something that can happen.
type verb struct {
	usage       string
	least, most int  // number of arguments
	lasts       bool // needs "for D"
	fault       bool // false for what users do
	do          func(w *World, e Event) error
}

// verbs returns all that can happen, by name. Which nodes and instances are affected is chosen by the seed.
func verbs() map[string]verb {
	return map[string]verb{
		// Users.
		"apply":   {usage: "FILE", least: 1, most: 1, do: (*World).applyFile},
		"scale":   {usage: "DEPLOYMENT N", least: 2, most: 2, do: (*World).scale},
		"rollout": {usage: "DEPLOYMENT", least: 1, most: 1, do: (*World).rollout},
		"delete":  {usage: "KIND NAME", least: 2, most: 2, do: (*World).delete},
		"delete-claims": {usage: "N", least: 1, most: 1, do: func(w *World, e Event) error {
			return w.some(e, claimsOf, func(o client.Object) error { return w.Client.Delete(context.Background(), o) })
		}},
		"delete-nodes": {usage: "N", least: 1, most: 1, do: func(w *World, e Event) error {
			return w.some(e, nodesOf, func(o client.Object) error { return w.Client.Delete(context.Background(), o) })
		}},
		"break-pool":  {usage: "POOL for D", least: 1, most: 1, lasts: true, fault: true, do: (*World).breakPool},
		"break-class": {usage: "CLASS for D", least: 1, most: 1, lasts: true, fault: true, do: (*World).breakClass},

		// The API server.
		"api-errors":  {usage: "RATE [PATH] for D", least: 1, most: 2, lasts: true, fault: true, do: (*World).strike},
		"api-lost":    {usage: "RATE [PATH] for D", least: 1, most: 2, lasts: true, fault: true, do: (*World).strike},
		"api-down":    {usage: "for D", lasts: true, fault: true, do: (*World).strike},
		"api-slow":    {usage: "DELAY for D", least: 1, most: 1, lasts: true, fault: true, do: (*World).strike},
		"watch-delay": {usage: "DELAY [KIND] for D", least: 1, most: 2, lasts: true, fault: true, do: (*World).strike},
		"watch-cut":   {usage: "[KIND]", most: 1, fault: true, do: (*World).cutWatches},

		// The cloud.
		"cloud-errors": {usage: "RATE [OPERATION] for D", least: 1, most: 2, lasts: true, fault: true, do: (*World).strike},
		"cloud-lost":   {usage: "RATE [OPERATION] for D", least: 1, most: 2, lasts: true, fault: true, do: (*World).strike},
		"cloud-hang":   {usage: "RATE [OPERATION] for D", least: 1, most: 2, lasts: true, fault: true, do: (*World).strike},
		"cloud-slow":   {usage: "DELAY [OPERATION] for D", least: 1, most: 2, lasts: true, fault: true, do: (*World).strike},
		"cloud-down":   {usage: "for D", lasts: true, fault: true, do: (*World).strike},
		"throttle":     {usage: "OPERATION RATE for D", least: 2, most: 2, lasts: true, fault: true, do: (*World).throttle},
		"lag":          {usage: "DELAY for D", least: 1, most: 1, lasts: true, fault: true, do: (*World).lag},
		"no-capacity":  {usage: "TYPE/ZONE/CAPACITY for D", least: 1, most: 1, lasts: true, fault: true, do: (*World).noCapacity},
		"quota":        {usage: "CAPACITY VCPUS for D", least: 2, most: 2, lasts: true, fault: true, do: (*World).quota},
		"boot-slow":    {usage: "DELAY for D", least: 1, most: 1, lasts: true, fault: true, do: (*World).bootSlow},
		"boot-never":   {usage: "TYPE for D", least: 1, most: 1, lasts: true, fault: true, do: (*World).bootNever},
		"interrupt":    {usage: "N", least: 1, most: 1, fault: true, do: (*World).interrupt},
		"spot-storm":   {usage: "ZONE", least: 1, most: 1, fault: true, do: (*World).spotStorm},
		"price":        {usage: "TYPE/ZONE DOLLARS for D", least: 2, most: 2, lasts: true, fault: true, do: (*World).price},
		"instance-dies": {usage: "N", least: 1, most: 1, fault: true, do: func(w *World, e Event) error {
			return w.endInstances(e)
		}},

		// Nodes.
		"node-dies": {usage: "N", least: 1, most: 1, fault: true, do: func(w *World, e Event) error {
			return w.some(e, nodesOf, func(o client.Object) error {
				w.dark[o.GetName()] = true
				return w.cluster.Kubelets.Kill(o.GetName())
			})
		}},
		"node-unready": {usage: "N for D", least: 1, most: 1, lasts: true, fault: true, do: func(w *World, e Event) error {
			return w.some(e, nodesOf, func(o client.Object) error {
				name := o.GetName()
				w.driver.After(e.For, func() { _ = w.cluster.Kubelets.Restore(name) }) // the node may be gone
				return w.cluster.Kubelets.MakeNotReady(name)
			})
		}},

		// The operator.
		"crash":       {fault: true, do: (*World).crash},
		"crash-after": {usage: "N", least: 1, most: 1, fault: true, do: (*World).crashAfter},
		"hold":        {usage: "for D", lasts: true, fault: true, do: (*World).strikeLeader},
		"partition":   {usage: "for D", lasts: true, fault: true, do: (*World).strikeLeader},
		"clock-jump":  {usage: "D", least: 1, most: 1, fault: true, do: (*World).clockJump},
	}
}

// Faults returns the verbs that are faults, in order.
func Faults() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(verbs())) {
		if verbs()[name].fault {
			names = append(names, name)
		}
	}
	return names
}

// happen carries out an event.
func (w *World) happen(e Event) error {
	w.trace.add("event %s", e)
	if verbs()[e.Verb].fault {
		w.disturbed = later(w.disturbed, time.Now().Add(e.For))
		if !w.countsItself(e.Verb) {
			w.faults.struck[e.Verb]++
		}
	} else {
		w.disturbed = later(w.disturbed, time.Now())
	}
	return verbs()[e.Verb].do(w, e)
}

// countsItself reports whether a fault is counted per call that it affects.
func (w *World) countsItself(verb string) bool {
	return slices.Contains([]string{
		"api-errors", "api-lost", "api-down", "api-slow", "watch-delay", "cloud-errors", "cloud-lost", "cloud-hang", "cloud-slow",
		"cloud-down", "hold", "partition",
	}, verb)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// strike begins a fault of calls. The first argument is a rate or a delay, the second what it is limited to.
func (w *World) strike(e Event) error {
	s := &strike{Event: e, rate: 1}
	if len(e.Args) > 0 {
		var err error
		if s.rate, err = strconv.ParseFloat(e.Args[0], 64); err != nil {
			if s.delay, err = time.ParseDuration(e.Args[0]); err != nil {
				return fmt.Errorf("%s: %q is neither a rate nor a duration", e, e.Args[0])
			}
		}
	}
	if len(e.Args) > 1 {
		s.match = e.Args[1]
	}
	w.faults.start(s)
	return nil
}

// strikeLeader begins a fault of the replica that leads.
func (w *World) strikeLeader(e Event) error {
	if r := w.leader(); r != nil {
		w.faults.start(&strike{Event: e, rate: 1, of: r.link.name})
	}
	return nil
}

// applyFile creates the objects of a file, or replaces their specs.
func (w *World) applyFile(e Event) error {
	text, ok := w.scenario.file(e.Args[0])
	if !ok {
		return fmt.Errorf("%s: the scenario has no such file", e)
	}
	return w.apply(text)
}

// apply creates objects, or changes those that exist.
func (w *World) apply(text string) error {
	docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := docs.Decode(&o.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read manifests: %w", err)
		}
		if len(o.Object) == 0 {
			continue
		}
		if err := w.applyObject(o); err != nil {
			return err
		}
	}
}

func (w *World) applyObject(o *unstructured.Unstructured) error {
	ctx := context.Background()
	old := &unstructured.Unstructured{}
	old.SetGroupVersionKind(o.GroupVersionKind())
	err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), old)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if err != nil {
		if err := w.Client.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		return nil
	}
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode %s: %w", o.GetName(), err)
	}
	if err := w.Client.Patch(ctx, old, client.RawPatch(types.MergePatchType, data)); err != nil {
		return fmt.Errorf("change %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// deployment returns the Deployment with a name in any namespace.
func (w *World) deployment(name string) (*appsv1.Deployment, error) {
	for _, d := range kubeapi.List[*appsv1.Deployment](w.Server) {
		if d.Name == name {
			return d.DeepCopy(), nil
		}
	}
	return nil, fmt.Errorf("there is no Deployment %s", name)
}

func (w *World) scale(e Event) error {
	d, err := w.deployment(e.Args[0])
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(e.Args[1], 10, 32)
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	replicas := int32(n)
	d.Spec.Replicas = &replicas
	_, err = kubeapi.Update(w.Server, d)
	return err
}

func (w *World) rollout(e Event) error {
	d, err := w.deployment(e.Args[0])
	if err != nil {
		return err
	}
	if d.Spec.Template.Annotations == nil {
		d.Spec.Template.Annotations = map[string]string{}
	}
	d.Spec.Template.Annotations["rollout"] = e.At.String()
	_, err = kubeapi.Update(w.Server, d)
	return err
}

// deletable are the kinds that the verb delete knows.
var deletable = map[string]schema.GroupVersionKind{
	"nodepool":   apiv1.GroupVersion.WithKind("NodePool"),
	"deployment": appsv1.SchemeGroupVersion.WithKind("Deployment"),
	"daemonset":  appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	"pod":        corev1.SchemeGroupVersion.WithKind("Pod"),
}

func (w *World) delete(e Event) error {
	gvk, ok := deletable[e.Args[0]]
	if !ok {
		return fmt.Errorf("%s: the kind is none of %v", e, slices.Sorted(maps.Keys(deletable)))
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetName(e.Args[1])
	if e.Args[0] != "nodepool" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	return client.IgnoreNotFound(w.Client.Delete(context.Background(), o))
}

func nodesOf(w *World) (out []client.Object) {
	for _, n := range kubeapi.List[*corev1.Node](w.Server) {
		if n.DeletionTimestamp == nil {
			out = append(out, n)
		}
	}
	return out
}

func claimsOf(w *World) (out []client.Object) {
	for _, c := range kubeapi.List[*apiv1.NodeClaim](w.Server) {
		if c.DeletionTimestamp == nil {
			out = append(out, c)
		}
	}
	return out
}

// some calls do with as many objects as the event's first argument says, chosen by the seed.
func (w *World) some(e Event, from func(*World) []client.Object, do func(client.Object) error) error {
	n, err := strconv.Atoi(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	all := from(w)
	d := w.driver.Dice(e.Verb)
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, o := range all[:min(n, len(all))] {
		if err := do(o); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// breakPool gives a pool requirements that no instance type meets, and its own again after a while.
func (w *World) breakPool(e Event) error {
	pool, ok := kubeapi.Find[*apiv1.NodePool](w.Server, "", e.Args[0])
	if !ok {
		return nil
	}
	before := pool.Spec.Template.Spec.Requirements
	set := func(rs []apiv1.NodeSelectorRequirementWithMinValues) {
		pool, ok := kubeapi.Find[*apiv1.NodePool](w.Server, "", e.Args[0])
		if !ok || pool.DeletionTimestamp != nil {
			return
		}
		pool = pool.DeepCopy()
		pool.Spec.Template.Spec.Requirements = rs
		_, _ = kubeapi.Update(w.Server, pool) // it was valid when it was made
	}
	set(append(slices.Clone(before), apiv1.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"none.such"},
	}))
	w.driver.After(e.For, func() { set(before) })
	return nil
}

// breakClass gives a node class subnets that do not exist, and its own again after a while.
func (w *World) breakClass(e Event) error {
	set := func(value string) error {
		patch := fmt.Sprintf(`{"spec":{"subnetSelectorTerms":[{"tags":{"karpenter.sh/discovery":%q}}]}}`, value)
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "karpenter.k8s.aws", Version: "v1", Kind: "EC2NodeClass"})
		o.SetName(e.Args[0])
		return w.Client.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	w.driver.After(e.For, func() { _ = set(clusterName) }) // it was valid when it was made
	return set("none-such")
}

// cutWatches ends watches, so that informers begin anew.
func (w *World) cutWatches(e Event) error {
	for _, r := range w.running() {
		for _, s := range slices.Clone(r.link.open) {
			if len(e.Args) == 0 || s.watch.Plural() == e.Args[0] {
				s.end()
			}
		}
	}
	return nil
}

// emulator returns a client of the emulator's control interface that works at once.
func (w *World) emulator() control.Client {
	return control.Client{BaseURL: "http://aws.sim", HTTP: &http.Client{Transport: inProcess{w.Emulator}}}
}

// inProcess is a transport to a handler in the caller's goroutine.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	t.handler.ServeHTTP(rec, r)
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

func (w *World) throttle(e Event) error {
	rate, err := strconv.ParseFloat(e.Args[1], 64)
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	ctx := context.Background()
	w.driver.After(e.For, func() { _ = w.emulator().ClearFaults(ctx, "*") }) // in memory: it cannot fail
	return w.emulator().SetThrottle(ctx, control.Throttle{Op: e.Args[0], Rate: rate})
}

func (w *World) lag(e Event) error {
	d, err := time.ParseDuration(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	ctx := context.Background()
	w.driver.After(e.For, func() { _ = w.emulator().SetLag(ctx, control.Lag{}) }) // in memory: it cannot fail
	return w.emulator().SetLag(ctx, control.Lag{For: control.Duration(d)})
}

// poolOf reads TYPE/ZONE/CAPACITY, of which each part may be missing.
func poolOf(text string) control.Pool {
	parts := append(strings.Split(text, "/"), "", "")
	return control.Pool{Type: parts[0], Zone: parts[1], Capacity: parts[2]}
}

func (w *World) noCapacity(e Event) error {
	pool := poolOf(e.Args[0])
	w.driver.After(e.For, func() { w.Emulator.ClearCapacity(pool) })
	w.Emulator.ICE(pool)
	return nil
}

func (w *World) quota(e Event) error {
	n, err := strconv.Atoi(e.Args[1])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	ctx := context.Background()
	w.driver.After(e.For, func() { _ = w.emulator().SetQuota(ctx, control.Quota{Capacity: e.Args[0], VCPUs: -1}) }) // in memory
	return w.emulator().SetQuota(ctx, control.Quota{Capacity: e.Args[0], VCPUs: n})
}

func (w *World) bootSlow(e Event) error {
	d, err := time.ParseDuration(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	w.driver.After(e.For, w.Emulator.ClearBoot)
	w.Emulator.SetBoot(control.Boot{Delay: control.Duration(d)})
	return nil
}

func (w *World) bootNever(e Event) error {
	w.driver.After(e.For, w.Emulator.ClearBoot)
	w.Emulator.SetBoot(control.Boot{Type: e.Args[0], Never: true})
	return nil
}

func (w *World) interrupt(e Event) error {
	n, err := strconv.Atoi(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	_, err = w.Emulator.Interrupt(control.Interrupt{Random: n})
	return err
}

// spotStorm reclaims all spot instances of a zone and leaves no spot capacity there for half an hour.
func (w *World) spotStorm(e Event) error {
	for _, i := range w.Emulator.Instances() {
		if i.Zone == e.Args[0] && i.Capacity == apiv1.CapacityTypeSpot && i.State == "running" {
			if _, err := w.Emulator.Interrupt(control.Interrupt{Instance: i.ID}); err != nil {
				return fmt.Errorf("%s: %w", e, err)
			}
		}
	}
	pool := control.Pool{Zone: e.Args[0], Capacity: apiv1.CapacityTypeSpot}
	w.Emulator.ICE(pool)
	w.driver.After(30*time.Minute, func() { w.Emulator.ClearCapacity(pool) })
	return nil
}

func (w *World) price(e Event) error {
	dollars, err := strconv.ParseFloat(e.Args[1], 64)
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	w.driver.After(e.For, func() { _ = w.emulator().ClearPrices(context.Background()) }) // in memory: it cannot fail
	return w.Emulator.SetPrice(control.Price{Pool: poolOf(e.Args[0]), USD: dollars})
}

// endInstances terminates instances outside of the operator, as from the console of AWS.
func (w *World) endInstances(e Event) error {
	n, err := strconv.Atoi(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	all := slices.DeleteFunc(w.Emulator.Instances(), func(i control.Instance) bool {
		return i.State != "running" || i.Tags[apiv1.NodePoolLabelKey] == "" || slices.Contains(w.judge.strangers, i.ID)
	})
	d := w.driver.Dice(e.Verb)
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, i := range all[:min(n, len(all))] {
		if err := w.terminate(i.ID); err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
	}
	return nil
}

// crash kills the replica that leads and starts it again after a while, as the kubelet does.
func (w *World) crash(Event) error {
	if r := w.leader(); r != nil {
		w.restart(r)
	}
	return nil
}

// crashAfter kills the replica that leads right after one of its next writes or calls, before it learns the result.
func (w *World) crashAfter(e Event) error {
	n, err := strconv.Atoi(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	if r := w.leader(); r != nil {
		r.link.crashAfter = n
	}
	return nil
}

// clockJump moves the clock of the replica that leads ahead.
func (w *World) clockJump(e Event) error {
	d, err := time.ParseDuration(e.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	if r := w.leader(); r != nil {
		r.clock.jump(d)
	}
	return nil
}
