package scheduler_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

const selectedNode = "volume.kubernetes.io/selected-node"

func class(name, provisioner string) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
}

func claim(name, class string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	c.Spec.StorageClassName = &class
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return c
}

// volume returns a volume with the size that the claims of the tests request. Only nodes of the zone can use it.
func volume(name, class, zone string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec = corev1.PersistentVolumeSpec{
		StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example.com", VolumeHandle: name},
		},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
			}},
		}}}},
	}
	return v
}

func mount(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
}

func (c *cluster) claim(name string) *corev1.PersistentVolumeClaim {
	c.t.Helper()
	o, ok := kubeapi.Find[*corev1.PersistentVolumeClaim](c.server, "default", name)
	if !ok {
		c.t.Fatalf("no claim %s", name)
	}
	return o.DeepCopy()
}

func (c *cluster) update(claim *corev1.PersistentVolumeClaim) {
	c.t.Helper()
	if err := c.client.Update(c.t.Context(), claim); err != nil {
		c.t.Fatal(err)
	}
}

// bindClaim completes the binding of a claim to a volume, as the volume controller does.
func (c *cluster) bindClaim(name, volume string) {
	c.t.Helper()
	o := c.claim(name)
	o.Spec.VolumeName = volume
	metav1.SetMetaDataAnnotation(&o.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	c.update(o)
}

// waiting returns a cluster whose pod p waits for its claim on one of the nodes a and b, and that node.
func waiting(t *testing.T) (*cluster, string) {
	t.Helper()
	c := newCluster(t, 1)
	c.create(node("a", "2", "za"), node("b", "2", "zb"), class("fast", "disks.example.com"), claim("data", "fast"),
		pod("p", "2", mount("data")))
	c.step()
	c.wantPlaces("p=")
	on := c.claim("data").Annotations[selectedNode]
	if got := c.pod("p").Status.NominatedNodeName; on == "" || got != on {
		t.Fatalf("the claim is annotated with node %q, and the pod is nominated to %q", on, got)
	}
	return c, on
}

func TestWaitsForClaims(t *testing.T) {
	c, on := waiting(t)
	// Pods of higher priority do not get the capacity of the node that the waiting pod uses.
	c.create(pod("q", "2", priority(1)), pod("r", "2", priority(1)))
	c.step()
	other := map[string]string{"a": "b", "b": "a"}[on]
	c.wantPlaces("p= q=" + other + " r=")
	c.create(volume("v", "fast", "z"+on))
	c.step()
	c.wantPlaces("p= q=" + other + " r=")
	c.bindClaim("data", "v")
	c.step()
	c.wantPlaces("p=" + on + " q=" + other + " r=")
}

// A pod that waits for its claims on the node to which it is nominated counts only once on that node.
func TestNominatedPodWaitsForClaims(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "4", "z"), class("fast", "disks.example.com"), claim("data", "fast"), pod("p", "2", mount("data")))
	c.nominate("p", "n")
	c.step()
	c.create(pod("q", "2"), pod("r", "2"))
	c.step()
	c.wantPlaces("p= q=n r=")
}

func TestTriesAgainWhenStorageIsThere(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "4", "z"), pod("p", "2", mount("data")))
	c.step()
	c.wantCondition("p", corev1.PodReasonUnschedulable,
		`0/1 nodes are available: persistentvolumeclaim "data" not found.`)
	c.create(volume("v", "fast", "z"), claim("data", "fast"))
	c.step()
	c.wantCondition("p", corev1.PodReasonUnschedulable,
		"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
	c.bindClaim("data", "v")
	c.step()
	c.wantPlaces("p=n")
}

func TestWaitSurvivesRestart(t *testing.T) {
	c, on := waiting(t)
	c.restart(2)
	c.step()
	c.wantPlaces("p=")
	c.create(volume("v", "fast", "z"+on))
	c.bindClaim("data", "v")
	c.step()
	c.wantPlaces("p=" + on)
}

func TestBoundClaimDecidesZone(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("a", "2", "za"), node("b", "2", "zb"), class("fast", "disks.example.com"), claim("data", "fast"), volume("v", "fast", "zb"))
	c.bindClaim("data", "v")
	c.create(pod("p", "1", mount("data")))
	c.step()
	c.wantPlaces("p=b")
}

func TestChoosesExistingVolume(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("a", "2", "za"), node("b", "2", "zb"), class("local", "kubernetes.io/no-provisioner"), claim("data", "local"),
		claim("more", "local"), volume("v1", "local", "zb"), volume("v2", "local", "zb"), volume("v3", "local", "za"),
		pod("p", "1", mount("data"), mount("more")))
	c.step()
	c.wantPlaces("p=")
	for _, name := range []string{"v1", "v2", "v3"} {
		v, _ := kubeapi.Find[*corev1.PersistentVolume](c.server, "", name)
		if got, want := v.Spec.ClaimRef != nil, name != "v3"; got != want {
			t.Fatalf("volume %s is reserved: %t, want %t", name, got, want)
		}
		if v.Spec.ClaimRef != nil {
			c.bindClaim(v.Spec.ClaimRef.Name, name)
		}
	}
	c.step()
	c.wantPlaces("p=b")
}

// Volumes are chosen for small claims first, so that large volumes remain for large claims.
func TestChoosesSmallestVolume(t *testing.T) {
	c := newCluster(t, 1)
	sized := func(list corev1.ResourceList, size string) { list[corev1.ResourceStorage] = resource.MustParse(size) }
	large, v2, v3 := claim("large", "local"), volume("v2", "local", "z"), volume("v3", "local", "z")
	sized(large.Spec.Resources.Requests, "2Gi")
	sized(v2.Spec.Capacity, "2Gi")
	sized(v3.Spec.Capacity, "3Gi")
	c.create(node("n", "2", "z"), class("local", "kubernetes.io/no-provisioner"), claim("small", "local"), large, v2, v3,
		pod("p", "1", mount("large"), mount("small")))
	c.step()
	for name, want := range map[string]string{"v2": "small", "v3": "large"} {
		v, _ := kubeapi.Find[*corev1.PersistentVolume](c.server, "", name)
		if v.Spec.ClaimRef == nil || v.Spec.ClaimRef.Name != want {
			t.Errorf("volume %s is reserved for %v, want %s", name, v.Spec.ClaimRef, want)
		}
	}
}

func TestEphemeralClaim(t *testing.T) {
	c := newCluster(t, 1)
	template := claim("", "fast")
	c.create(node("n", "2", "z"), class("fast", "disks.example.com"), pod("p", "1", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{
				VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: template.Spec},
			},
		}}}
	}))
	c.step()
	c.wantPlaces("p=")
	own := claim("p-scratch", "fast")
	own.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c.pod("p"), corev1.SchemeGroupVersion.WithKind("Pod"))}
	c.create(own)
	c.step()
	if got := c.claim("p-scratch").Annotations[selectedNode]; got != "n" {
		t.Fatalf("the claim is annotated with node %q, want n", got)
	}
	c.create(volume("v", "fast", "z"))
	c.bindClaim("p-scratch", "v")
	c.step()
	c.wantPlaces("p=n")
}

func TestGivesUpClaims(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*cluster, string)
		message string
	}{
		{"when the driver removes the node", func(c *cluster, _ string) {
			o := c.claim("data")
			delete(o.Annotations, selectedNode)
			c.update(o)
		}, `binding volumes: provisioning failed for PVC "data"`},
		{"when the volume is elsewhere", func(c *cluster, _ string) {
			c.create(volume("v", "fast", "far"))
			c.bindClaim("data", "v")
		}, ""},
		{"after ten minutes", func(c *cluster, _ string) { c.now = c.now.Add(10 * time.Minute) }, "binding volumes: timed out"},
		{"when the node is gone", func(c *cluster, on string) {
			n, _ := kubeapi.Find[*corev1.Node](c.server, "", on)
			c.delete(n.DeepCopy())
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, on := waiting(t)
			// One of these pods gets the other node. The second one is bound to the node of p when p gives it up.
			c.create(pod("q", "2"), pod("r", "2"))
			c.step()
			test.change(c, on)
			next := c.step()
			if test.message != "" {
				c.wantCondition("p", corev1.PodReasonSchedulerError, test.message)
			}
			if got := c.pod("p").Status.NominatedNodeName; got != "" {
				t.Errorf("the pod is still nominated to %s", got)
			}
			if want := c.now.Add(time.Second); !next.Equal(want) {
				t.Errorf("the next attempt is at %s, want %s", next, want)
			}
			if _, exists := kubeapi.Find[*corev1.Node](c.server, "", on); exists && c.pod("r").Spec.NodeName == "" {
				t.Error("the capacity of the pod was not given to another")
			}
		})
	}
}

func TestDeletedPodEndsWait(t *testing.T) {
	c, on := waiting(t)
	c.create(pod("q", "2"), pod("r", "2"))
	c.step()
	c.delete(c.pod("p").DeepCopy())
	if next := c.step(); !next.IsZero() {
		t.Errorf("more is due at %s", next)
	}
	if got := c.pod("r").Spec.NodeName; got != on {
		t.Errorf("r is on %q, want %s", got, on)
	}
}

func TestBackoffDoubles(t *testing.T) {
	c, _ := waiting(t)
	for _, want := range []int{1, 2, 4, 8, 10, 10} {
		o := c.claim("data")
		delete(o.Annotations, selectedNode)
		c.update(o)
		next := c.step()
		if got := next.Sub(c.now); got != time.Duration(want)*time.Second {
			t.Fatalf("the next attempt is after %s, want %d s", got, want)
		}
		c.now = next
		c.step()
		if c.claim("data").Annotations[selectedNode] == "" {
			t.Fatal("no node was selected after the back-off")
		}
	}
}
