package observe_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clocktesting "k8s.io/utils/clock/testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario/rawcluster"
	"github.com/karpenter-go/karpenter/engine/scenario/rawpods"
	"github.com/karpenter-go/karpenter/internal/observe"
)

func amounts(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
}

// Of a pod, the fields remain on which scheduling and disruption depend.
func TestShortenPod(t *testing.T) {
	always, ended := corev1.ContainerRestartPolicyAlways, metav1.Now()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "shop", UID: "u", Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{
				"notes": strings.Repeat("x", 600), "team": "a", apiv1.DoNotDisruptAnnotationKey: "true",
				apiv1.PodsNominatedToAnnotationKey: strings.Repeat("y", 600),
			},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{
			NodeName: "n", NodeSelector: map[string]string{"zone": "a"},
			InitContainers: []corev1.Container{{Name: "proxy", RestartPolicy: &always, Image: "proxy:1", Resources: corev1.ResourceRequirements{Requests: amounts("1")}}},
			Containers: []corev1.Container{
				{
					Name: "web", Image: "web:1", Args: []string{"-v"}, Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
					Ports:     []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: 81}},
					Resources: corev1.ResourceRequirements{Requests: amounts("2")},
				},
				{Name: "log", Image: "log:1", Resources: corev1.ResourceRequirements{Requests: amounts("1")}},
			},
			Volumes: []corev1.Volume{
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			},
			SecurityContext: &corev1.PodSecurityContext{},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "web", ImageID: "sha", Resources: &corev1.ResourceRequirements{Requests: amounts("3")}, AllocatedResources: amounts("3")},
				{Name: "log", ImageID: "sha", Resources: &corev1.ResourceRequirements{Requests: amounts("1000m")}, AllocatedResources: amounts("1")},
			},
			InitContainerStatuses: []corev1.ContainerStatus{{
				Name: "proxy", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: ended, Message: "done"}},
			}},
		},
	}
	want := p.DeepCopy()
	want.ManagedFields, want.Spec.SecurityContext, want.Status.PodIPs = nil, nil, nil
	delete(want.Annotations, "notes")
	want.Spec.InitContainers[0].Image, want.Spec.Containers[1].Image = "", ""
	web := &want.Spec.Containers[0]
	web.Image, web.Args, web.Env, web.Ports = "", nil, nil, web.Ports[1:]
	want.Spec.Volumes = want.Spec.Volumes[1:]
	want.Status.ContainerStatuses = want.Status.ContainerStatuses[:1]
	want.Status.ContainerStatuses[0].ImageID = ""
	want.Status.Conditions = want.Status.Conditions[1:]
	want.Status.InitContainerStatuses[0].State.Terminated.Message = ""
	if _, err := observe.Shorten(p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

func TestShortenNode(t *testing.T) {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Labels: map[string]string{"a": strings.Repeat("x", 60)}, Annotations: map[string]string{"big": strings.Repeat("x", 600)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: "a"}}},
		Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"web:1"}}}, Allocatable: amounts("4")},
	}
	want := n.DeepCopy()
	want.ManagedFields, want.Status.Images, want.Annotations = nil, nil, map[string]string{}
	if _, err := observe.Shorten(n); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Error(diff)
	}
}

// A heartbeat of a node is no change, so that the passes of disruption become less frequent in a quiet cluster.
func TestHeartbeat(t *testing.T) {
	c := observe.New(clocktesting.NewFakeClock(time.Unix(1e9, 0)))
	at := func(version string, beat int64, taint string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: version}}
		n.Spec.Taints = []corev1.Taint{{Key: taint}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: metav1.Unix(beat, 0)}}
		if _, err := observe.Shorten(n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first, beat, tainted := at("1", 10, "a"), at("2", 20, "a"), at("3", 30, "b")
	c.Set(first)
	before := c.Version()
	if c.Replace(first, beat); c.Version() != before {
		t.Error("a heartbeat counts as a change")
	}
	if n, ok := c.Snapshot().NodeByName("n"); !ok || n.Object != beat {
		t.Error("the snapshot does not have the last version")
	}
	if c.Replace(beat, tainted); c.Version() == before {
		t.Error("a new taint does not count as a change")
	}
}

// The plan for shortened pods and nodes is the plan for the original ones.
func TestShortenChangesNoPlan(t *testing.T) {
	for seed := range uint64(300) {
		sharer := observe.NewSharer()
		r := rand.New(rand.NewPCG(seed, 7))
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		d := rawcluster.From(t, rawpods.From(data))
		before := pack.SolveChecked(model.Compile(d), pack.Options{}).Plan.String()
		for i, p := range d.Pods {
			d.Pods[i] = p.DeepCopy()
			if _, err := sharer.Transform(d.Pods[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i, n := range d.Nodes {
			d.Nodes[i] = n.DeepCopy()
			if _, err := sharer.Transform(d.Nodes[i]); err != nil {
				t.Fatal(err)
			}
		}
		if after := pack.SolveChecked(model.Compile(d), pack.Options{}).Plan.String(); after != before {
			t.Fatalf("seed %d: the plan is\n%s\nwithout shortening it is\n%s", seed, after, before)
		}
	}
}
