package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// apply returns the snapshot with the manifests and prices of the request.
func (t *try) apply(ctx context.Context, s *model.Snapshot) (changed *model.Snapshot, err error) {
	changed = s
	if strings.TrimSpace(t.request.Manifests) != "" {
		if changed, err = t.applyManifests(ctx, s); err != nil {
			return nil, invalid(err)
		}
	}
	if len(t.request.Prices) > 0 {
		t.checkPrices(changed)
		changed = offline.WithPrices(changed, t.request.Prices)
	}
	return changed, nil
}

// checkPrices warns about prices of types that no NodePool has.
func (t *try) checkPrices(s *model.Snapshot) {
	known := map[string]bool{}
	for _, p := range s.Pools() {
		for _, x := range s.Types(p.Name) {
			known[x.Name] = true
		}
	}
	for name := range t.request.Prices {
		if kind, _, _ := strings.Cut(name, "/"); !known[kind] && len(t.warnings) < mostRows {
			t.warn("no NodePool has the instance type of the price " + name)
		}
	}
}

func (t *try) applyManifests(ctx context.Context, s *model.Snapshot) (*model.Snapshot, error) {
	set, err := manifest.Read(ctx, []string{manifest.Stdin}, manifest.Options{Stdin: strings.NewReader(t.request.Manifests)})
	if err != nil {
		return nil, err
	}
	added, err := offline.Additions(set, s.Now, mostAdded)
	if err != nil {
		return nil, err
	}
	for _, w := range added.Warnings {
		t.warn(w)
	}
	d := added.Delta
	pools, err := t.pools(ctx, s, set)
	if err != nil {
		return nil, err
	}
	d.Pools, d.Types = pools.Pools, pools.Types
	if ignored := set.Len() - used(set); ignored > 0 {
		t.warn(units.Counted(ignored, "object") + " of the manifests not used: only NodePools, workloads, pods and what pods refer to are; " +
			"for a node class use karpenter plan -f")
	}
	replace(s, set, &d)
	return s.Apply(d), nil
}

// used returns the number of objects in the set that have an effect on the answer.
func used(set *manifest.Set) int {
	return len(manifest.Of[*apiv1.NodePool](set)) + len(manifest.Of[*corev1.Pod](set)) + len(manifest.Of[*appsv1.Deployment](set)) +
		len(manifest.Of[*appsv1.ReplicaSet](set)) + len(manifest.Of[*appsv1.StatefulSet](set)) + len(manifest.Of[*batchv1.Job](set)) +
		len(manifest.Of[*appsv1.DaemonSet](set)) + len(manifest.Of[*policyv1.PodDisruptionBudget](set)) +
		len(manifest.Of[*corev1.Namespace](set)) + len(manifest.Of[*corev1.PersistentVolumeClaim](set)) + len(manifest.Of[*corev1.PersistentVolume](set))
}

// pools returns the NodePools of the manifests in the form that they would have in the cluster, with their instance types.
func (t *try) pools(ctx context.Context, s *model.Snapshot, set *manifest.Set) (d model.Delta, err error) {
	d.Types = map[string][]*model.InstanceType{}
	for _, p := range manifest.Of[*apiv1.NodePool](set) {
		if err := p.Validate(t.server.state.Pack.Labels); err != nil {
			return d, fmt.Errorf("NodePool %s: %w", p.Name, err)
		}
		var stored *apiv1.NodePool
		if old, ok := s.Pool(p.Name); ok {
			stored = old.Object
		}
		offline.Adopt(p, stored)
		types, err := t.server.state.TypesOf(ctx, p)
		if err != nil {
			return d, problem{http.StatusUnprocessableEntity, fmt.Sprintf("NodePool %s: its instance types cannot be listed: %s", p.Name, err),
				"refer to a node class that exists and is ready"}
		}
		d.Pools = append(d.Pools, p)
		d.Types[p.Name] = types
	}
	return d, nil
}

// replace removes the pods of those Deployments and StatefulSets from the cluster that the manifests replace. A pod whose
// requests do not change stays, if the new number of replicas allows it; then d has one new pod fewer. replace writes to d.
func replace(s *model.Snapshot, set *manifest.Set, d *model.Delta) {
	wanted := map[string][]*corev1.Pod{}
	for _, o := range manifest.Of[*appsv1.Deployment](set) {
		wanted[o.Namespace+"/Deployment/"+o.Name] = nil
	}
	for _, o := range manifest.Of[*appsv1.StatefulSet](set) {
		wanted[o.Namespace+"/StatefulSet/"+o.Name] = nil
	}
	if len(wanted) == 0 {
		return
	}
	var others []*corev1.Pod
	for _, o := range d.Pods {
		owner := view.OwnerOf(&model.Pod{Object: o})
		if _, ok := wanted[owner]; ok {
			wanted[owner] = append(wanted[owner], o)
		} else {
			others = append(others, o)
		}
	}
	taken := map[string]int{} // number of pods that stay, by workload
	for _, p := range s.Pods.Values() {
		owner := view.OwnerOf(p)
		pods, ok := wanted[owner]
		if !ok || p.Terminal() {
			continue
		}
		if taken[owner] < len(pods) && sameRequests(p, pods[0]) {
			taken[owner]++
			continue
		}
		d.Gone = append(d.Gone, model.Ref{Kind: model.KindPod, Key: p.Key})
	}
	for owner, pods := range wanted {
		others = append(others, pods[taken[owner]:]...)
	}
	d.Pods = others
	// A new pod with the name of one that is removed replaces it.
	names := map[string]bool{}
	for _, o := range d.Pods {
		names[o.Namespace+"/"+o.Name] = true
	}
	kept := d.Gone[:0]
	for _, r := range d.Gone {
		if !names[r.Key] {
			kept = append(kept, r)
		}
	}
	d.Gone = kept
}

// sameRequests reports whether the requests of the pod equal those of the other pod.
func sameRequests(p *model.Pod, o *corev1.Pod) bool {
	want := model.NewPod(o).Requests
	if len(want) != len(p.Requests) {
		return false
	}
	for name, v := range want {
		if p.Requests[name] != v {
			return false
		}
	}
	return true
}
