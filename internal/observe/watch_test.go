package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Every kind in a snapshot is watched: the next snapshot has what the watch added, and lacks what it deleted.
func TestWatchFeedsSnapshots(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}
	within := meta
	within.Namespace = "default"
	for _, tt := range []struct {
		kind   model.Kind
		object client.Object
		has    func(*model.Snapshot) bool
	}{
		{model.KindPod, &corev1.Pod{ObjectMeta: within}, func(s *model.Snapshot) bool { return len(s.Pods.Values()) > 0 }},
		{model.KindNode, &corev1.Node{ObjectMeta: meta}, func(s *model.Snapshot) bool { return len(s.Nodes()) > 0 }},
		{model.KindClaim, &apiv1.NodeClaim{ObjectMeta: meta}, func(s *model.Snapshot) bool { return len(s.Claims.Values()) > 0 }},
		{model.KindPool, &apiv1.NodePool{ObjectMeta: meta}, func(s *model.Snapshot) bool { return len(s.Pools()) > 0 }},
		{model.KindDaemon, &appsv1.DaemonSet{ObjectMeta: within},
			func(s *model.Snapshot) bool { return len(s.Daemons()) > 0 }},
		{model.KindNamespace, &corev1.Namespace{ObjectMeta: meta},
			func(s *model.Snapshot) bool { _, ok := s.Namespaces.Get("a"); return ok }},
		{model.KindPDB, &policyv1.PodDisruptionBudget{ObjectMeta: within},
			func(s *model.Snapshot) bool { return len(s.PDBs.Values()) > 0 }},
		{model.KindVolumeClaim, &corev1.PersistentVolumeClaim{ObjectMeta: within},
			func(s *model.Snapshot) bool { _, ok := s.VolumeClaims.Get("default/a"); return ok }},
		{model.KindVolume, &corev1.PersistentVolume{ObjectMeta: meta},
			func(s *model.Snapshot) bool { _, ok := s.Volumes.Get("a"); return ok }},
		{model.KindStorageClass, &storagev1.StorageClass{ObjectMeta: meta},
			func(s *model.Snapshot) bool { _, ok := s.StorageClasses.Get("a"); return ok }},
		{model.KindCSINode, &storagev1.CSINode{ObjectMeta: meta},
			func(s *model.Snapshot) bool { _, ok := s.CSINodes.Get("a"); return ok }},
	} {
		ref, ok := refOf(tt.object)
		if !ok || ref.Kind != tt.kind {
			t.Errorf("%T is of kind %v, %v; want %v", tt.object, ref.Kind, ok, tt.kind)
		}
		c, informers := watched(t)
		informer, err := informers.FakeInformerFor(t.Context(), tt.object)
		if err != nil {
			t.Fatal(err)
		}
		informer.Add(tt.object)
		if !tt.has(c.Snapshot()) {
			t.Errorf("%T was shown and is not in the snapshot", tt.object)
		}
		informer.Delete(tt.object)
		if tt.has(c.Snapshot()) {
			t.Errorf("%T is gone and still in the snapshot", tt.object)
		}
	}
}

// watched returns a Cluster and the informers through which the test delivers events.
func watched(t *testing.T) (*Cluster, *informertest.FakeInformers) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := apiv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := New(clocktesting.NewFakeClock(start))
	informers := &informertest.FakeInformers{Scheme: scheme}
	if err := c.Watch(t.Context(), informers); err != nil {
		t.Fatal(err)
	}
	return c, informers
}

// A new PersistentVolumeClaim, PersistentVolume or StorageClass wakes provisioning only while a pod is pending.
func TestStorageWakesWaitingPods(t *testing.T) {
	for _, o := range []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}, &storagev1.StorageClass{},
	} {
		o.SetName("a")
		c := New(clocktesting.NewFakeClock(start))
		woken := 0
		c.OnWork(func() { woken++ })
		c.Set(o)
		if woken != 0 {
			t.Errorf("%T woke provisioning though no pod waits", o)
		}
		c.Set(pod("a", true))
		if c.Set(o); woken != 2 {
			t.Errorf("%T: woken %d times, want 2: by the pod and by what it may have been waiting for", o, woken)
		}
	}
}
