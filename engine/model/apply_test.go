package model_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// Applying changes one by one gives the same snapshot as compiling the final objects at once. The order of the changes is
// random: a pod may be added before its node, or a node before its claim. The identity of a node may change.
func TestApplyEqualsCompile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &model.Snapshot{}
		w := newWorld()
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			before, was := s, dump(s)
			s = s.Apply(w.change(t))
			if diff := cmp.Diff(was, dump(before)); diff != "" {
				t.Fatalf("Apply changed the snapshot it was called on:\n%s", diff)
			}
		}
		if diff := cmp.Diff(dump(model.Compile(w.all())), dump(s)); diff != "" {
			t.Fatalf("Apply differs from Compile (-compiled +applied):\n%s", diff)
		}
	})
}

// A world is objects by kind and name.
type world map[model.Kind]map[string]any

func newWorld() world {
	w := world{}
	for kind := model.KindPod; kind <= model.KindCSINode; kind++ {
		w[kind] = map[string]any{}
	}
	return w
}

// change adds, replaces or removes one random object of w, and returns that change.
func (w world) change(t *rapid.T) model.Delta {
	kinds := slices.Sorted(maps.Keys(w))
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	if rapid.Bool().Draw(t, "merged") {
		kind = rapid.SampledFrom([]model.Kind{model.KindPod, model.KindNode, model.KindClaim}).Draw(t, "merged kind")
	}
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
	var d model.Delta
	if rapid.IntRange(0, 2).Draw(t, "gone") == 0 {
		delete(w[kind], name)
		key := name
		switch kind {
		case model.KindPod, model.KindDaemon, model.KindPDB, model.KindVolumeClaim:
			key = "default/" + name
		}
		d.Gone = append(d.Gone, model.Ref{Kind: kind, Key: key})
		return d
	}
	w[kind][name] = draw(t, kind, name)
	add(&d, w[kind][name])
	return d
}

// all returns all objects of w as one Delta.
func (w world) all() model.Delta {
	var d model.Delta
	for _, objects := range w {
		for _, o := range objects {
			add(&d, o)
		}
	}
	return d
}

func add(d *model.Delta, o any) {
	switch o := o.(type) {
	case *corev1.Pod:
		d.Pods = append(d.Pods, o)
	case *corev1.Node:
		d.Nodes = append(d.Nodes, o)
	case *apiv1.NodeClaim:
		d.Claims = append(d.Claims, o)
	case *apiv1.NodePool:
		d.Pools = append(d.Pools, o)
	case *appsv1.DaemonSet:
		d.Daemons = append(d.Daemons, o)
	case *corev1.Namespace:
		d.Namespaces = append(d.Namespaces, o)
	case *policyv1.PodDisruptionBudget:
		d.PDBs = append(d.PDBs, o)
	case *corev1.PersistentVolumeClaim:
		d.VolumeClaims = append(d.VolumeClaims, o)
	case *corev1.PersistentVolume:
		d.Volumes = append(d.Volumes, o)
	case *storagev1.StorageClass:
		d.StorageClasses = append(d.StorageClasses, o)
	case *storagev1.CSINode:
		d.CSINodes = append(d.CSINodes, o)
	}
}

// draw returns an object of the kind with the name. Objects that are not merged with others differ only in a label.
func draw(t *rapid.T, kind model.Kind, name string) any {
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"v": rapid.StringMatching("[0-9]").Draw(t, "version")}}
	within := meta
	within.Namespace = "default"
	switch kind {
	case model.KindPod:
		return drawPod(t, name)
	case model.KindNode:
		return drawNode(t, name)
	case model.KindClaim:
		return drawClaim(t, name)
	case model.KindPool:
		return &apiv1.NodePool{ObjectMeta: meta}
	case model.KindDaemon:
		return &appsv1.DaemonSet{ObjectMeta: within}
	case model.KindNamespace:
		return &corev1.Namespace{ObjectMeta: meta}
	case model.KindPDB:
		return &policyv1.PodDisruptionBudget{ObjectMeta: within}
	case model.KindVolumeClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: within}
	case model.KindVolume:
		return &corev1.PersistentVolume{ObjectMeta: meta}
	case model.KindStorageClass:
		return &storagev1.StorageClass{ObjectMeta: meta}
	case model.KindCSINode:
		return &storagev1.CSINode{ObjectMeta: meta}
	}
	t.Fatalf("no object of kind %d", kind)
	return nil
}

// dump renders all that the methods of a snapshot return, one object per string.
func dump(s *model.Snapshot) []string {
	var out []string
	for _, n := range s.Nodes() {
		out = append(out, fmt.Sprintf("node %s pool=%s registered=%v deleting=%v capacity=%v used=%v daemons=%v taints=%v",
			n.Name, n.Pool, n.Registered, n.Deleting, n.Capacity, n.Used, n.DaemonUsed, n.Taints))
		for _, p := range n.Pods {
			out = append(out, "  pod "+p.Key)
		}
	}
	for _, p := range s.Pods.Values() {
		out = append(out, fmt.Sprintf("pod %s bound=%v", p.Key, p.Bound()))
	}
	for _, p := range s.Pending() {
		out = append(out, "pending "+p.Key)
	}
	for _, p := range s.Displaced() {
		out = append(out, "displaced "+p.Key)
	}
	out = append(out, fmt.Sprint("usage ", s.Usage("pool")))
	for _, o := range s.Pools() {
		out = append(out, "pool "+o.Name+o.Object.Labels["v"])
	}
	for _, o := range s.Daemons() {
		out = append(out, "daemon "+o.Key+o.Object.Labels["v"])
	}
	for _, o := range s.Namespaces.Values() {
		out = append(out, "namespace "+o.Name+o.Labels["v"])
	}
	for _, o := range s.PDBs.Values() {
		out = append(out, "budget "+o.Name+o.Labels["v"])
	}
	return append(out, dumpNamed(s)...)
}

// dumpNamed renders the objects that a snapshot returns only by name.
func dumpNamed(s *model.Snapshot) []string {
	var out []string
	for _, name := range []string{"a", "b", "c", "d"} {
		if o, ok := s.Namespaces.Get(name); ok {
			out = append(out, "namespace "+name+o.Labels["v"])
		}
		if o, ok := s.VolumeClaims.Get("default/" + name); ok {
			out = append(out, "volume claim "+name+o.Labels["v"])
		}
		if o, ok := s.Volumes.Get(name); ok {
			out = append(out, "volume "+name+o.Labels["v"])
		}
		if o, ok := s.StorageClasses.Get(name); ok {
			out = append(out, "class "+name+o.Labels["v"])
		}
		if o, ok := s.CSINodes.Get(name); ok {
			out = append(out, "csi node "+name+o.Labels["v"])
		}
	}
	return out
}

func drawPod(t *rapid.T, name string) *corev1.Pod {
	p := scenario.Pod{Name: name, CPU: rapid.SampledFrom([]string{"100m", "1", ""}).Draw(t, "cpu"), Memory: "1Gi"}
	p.Owner = rapid.SampledFrom([]string{"", "ReplicaSet", "DaemonSet", "StatefulSet"}).Draw(t, "owner")
	p.Done = rapid.Bool().Draw(t, "done")
	p.Spec.NodeName = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "on")
	d, err := (&scenario.Cluster{Pods: []scenario.Pod{p}}).Delta()
	if err != nil {
		t.Fatal(err)
	}
	d.Pods[0].Spec.NodeName = p.Spec.NodeName
	return d.Pods[0]
}

func drawNode(t *rapid.T, name string) *corev1.Node {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	o.Spec.ProviderID = rapid.SampledFrom([]string{"", "i-1", "i-2"}).Draw(t, "id")
	if rapid.Bool().Draw(t, "ours") {
		o.Labels[apiv1.NodePoolLabelKey] = "pool"
	}
	if rapid.Bool().Draw(t, "registered") {
		o.Labels[apiv1.NodeRegisteredLabelKey] = "true"
	}
	o.Spec.Taints = []corev1.Taint{apiv1.UnregisteredNoExecuteTaint(), {Key: "mine", Effect: corev1.TaintEffectNoSchedule}}
	o.Status.Allocatable = model.Resources{"cpu": 4000, "memory": 8 << 30}.List()
	o.Status.Capacity = o.Status.Allocatable
	return o
}

func drawClaim(t *rapid.T, name string) *apiv1.NodeClaim {
	o := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "pool"},
	}}
	o.Status.ProviderID = rapid.SampledFrom([]string{"", "i-1", "i-2"}).Draw(t, "id")
	if rapid.Bool().Draw(t, "deleting") {
		o.DeletionTimestamp = &metav1.Time{}
	}
	o.Status.Capacity = model.Resources{"cpu": 8000, "nvidia.com/gpu": 1}.List()
	return o
}
