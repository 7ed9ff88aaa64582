package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// Three tolerating pods of one CPU share one node of the cheapest size that holds them, of the architecture, family and zone
// that their pool allows. In a plan this small, three smaller nodes do not save enough.
func TestCheapestArmNode(t *testing.T) {
	t.Parallel()
	s := newScene(t, "arm")
	s.class()
	s.pool("arm", needs{
		family("t4g"), in(corev1.LabelArchStable, "arm64"), zones("us-east-1b"),
	})
	s.deploy("web", 3, "1", func(p *corev1.PodSpec) {
		p.NodeSelector[corev1.LabelArchStable] = "arm64"
	})
	s.awaitRunning("web", 3)
	instances := s.instances()
	if len(instances) != 1 {
		t.Fatalf("%d instances, want 1: %v", len(instances), instances)
	}
	three := cheapest(t, "t4g", 3, 1) // every node reserves some resources, so it must be larger than the sum of its pods
	if i := instances[0]; i.Type != three.name || i.Zone != "us-east-1b" || i.Capacity != "on-demand" {
		t.Errorf("instance is an %s %s in %s, want an on-demand %s in us-east-1b", i.Capacity, i.Type, i.Zone, three.name)
	}
	nodes := s.nodes()
	if len(nodes) != 1 {
		t.Fatalf("%d nodes, want 1", len(nodes))
	}
	taint := corev1.Taint{Key: sceneKey, Value: "arm", Effect: corev1.TaintEffectNoSchedule}
	if n := nodes[0]; len(n.Spec.Taints) != 1 || n.Spec.Taints[0] != taint || n.Labels[corev1.LabelArchStable] != "arm64" {
		t.Errorf("node of arch %q has taints %v, want arm64 and %v", n.Labels[corev1.LabelArchStable], n.Spec.Taints, taint)
	}
}

// At no time does a pool have more vCPUs than its limit. Pods that remain pending get an event that names the limit.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	const limit = 8
	s := newScene(t, "limits")
	s.class()
	s.pool("limits", needs{typesOf("m7i.large", "m7i.xlarge")}, func(p *apiv1.NodePool) {
		p.Spec.Limits = apiv1.Limits{corev1.ResourceCPU: resource.MustParse(fmt.Sprint(limit))}
	})
	most := s.watchVCPUs()
	s.deploy("web", 12, "1500m")
	s.awaitEvent(about{kind: "Pod", prefix: "web-", reason: "FailedScheduling"}, `NodePool "limits"`, "spec.limits.cpu")
	// A large instance holds one pod and an xlarge two. As many pods run as the limit allows.
	var pods corev1.PodList
	s.await(&pods, func() string {
		running := 0
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running == limit/2 {
			return ""
		}
		return fmt.Sprintf("%d pods run, want %d", running, limit/2)
	}, client.InNamespace("limits"))
	// Capacity that becomes free is used, still within the limit.
	claims := s.claims()
	if err := s.Delete(t.Context(), &claims[0]); err != nil {
		t.Fatal(err)
	}
	s.poll(func() string {
		for _, c := range s.claims() {
			if c.Name == claims[0].Name {
				return "claim " + c.Name + " is still there"
			}
		}
		running := 0
		for _, n := range s.nodes() {
			if n.DeletionTimestamp.IsZero() && ready(&n) {
				running += int(n.Status.Capacity.Cpu().Value())
			}
		}
		if running == limit {
			return ""
		}
		return fmt.Sprintf("nodes have %d CPUs, want %d again", running, limit)
	})
	if n := most(); n > limit {
		t.Errorf("there were instances with %d vCPUs at once, the limit is %d", n, limit)
	}
}

// watchVCPUs reads the scene's instances repeatedly until most is called. most returns the highest number of vCPUs that they
// had at the same time.
func (s *scene) watchVCPUs() (most func() int) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var (
		group   sync.WaitGroup
		highest int
		failure error
	)
	emulator := s.Steer()
	pools := map[string]bool{}
	for _, p := range s.pools {
		pools[p] = true
	}
	group.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			instances, err := emulator.Instances(ctx)
			if err != nil {
				if ctx.Err() == nil {
					failure = err
				}
				return
			}
			highest = max(highest, s.vCPUs(instances, pools))
		}
	})
	stop := sync.OnceFunc(func() { cancel(); group.Wait() })
	s.t.Cleanup(stop)
	return func() int {
		stop()
		if failure != nil {
			s.t.Fatal(failure)
		}
		return highest
	}
}

func (s *scene) vCPUs(instances []control.Instance, pools map[string]bool) (n int) {
	for _, i := range instances {
		if pools[i.Tags[apiv1.NodePoolLabelKey]] && alive(i) {
			n += ec2Type(s.t, i.Type).VCPU
		}
	}
	return n
}

// A pod that fits no node gets an event with the reason: which rule, which resource or label, in which pool. Meanwhile other
// pods get nodes.
func TestHopelessPodsAreTold(t *testing.T) {
	t.Parallel()
	s := newScene(t, "hopeless")
	s.class()
	s.pool("hopeless", needs{family("m7a")})
	s.deploy("huge", 1, "1000")
	s.deploy("typo", 1, "100m", func(p *corev1.PodSpec) { p.NodeSelector[corev1.LabelTopologyZone] = "us-east-1z" })
	s.deploy("stranger", 1, "100m", func(p *corev1.PodSpec) { p.Tolerations = nil })
	s.deploy("fine", 1, "100m")
	failed := func(prefix string) about { return about{kind: "Pod", prefix: prefix, reason: "FailedScheduling"} }
	s.awaitEvent(failed("huge-"), `NodePool "hopeless"`, "of the 1,000", "cpu")
	s.awaitEvent(failed("typo-"), `NodePool "hopeless"`, corev1.LabelTopologyZone, "us-east-1z")
	s.awaitEvent(failed("stranger-"), "does not tolerate taint", sceneKey)
	s.awaitRunning("fine", 1)
	if n := len(s.instances()); n != 1 {
		t.Errorf("%d instances, want one for the pod that fits", n)
	}
}
