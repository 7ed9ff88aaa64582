package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A new scheduler binds no pods that the running scheduler has left pending. If it did, the index of the running one would be
// wrong, or the running one would have missed that a change makes a pod schedulable.
func TestFollowsChanges(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newCluster(t, seed)
			c.create(class("fast", "disks.example.com"))
			r := rand.New(rand.NewPCG(seed, 0))
			for i := range 150 {
				c.now = c.now.Add(time.Second)
				what := c.change(r, i)
				c.step()
				c.bindClaims()
				c.step()
				if i%10 != 9 {
					continue // every tenth change is enough, because pods remain pending after a missed change
				}
				before := c.places()
				c.restart(seed)
				c.step()
				if after := c.places(); after != before {
					t.Fatalf("after %s a new scheduler changed\n%s to\n%s", what, before, after)
				}
			}
			if !strings.Contains(c.places()+" ", "= ") || strings.Count(c.places(), "=n") < 5 {
				t.Errorf("pods are on %s, want some with a node and some without", c.places())
			}
		})
	}
}

// bindClaims creates and binds a volume for each claim with a selected node, as a CSI driver and the volume controller do.
func (c *cluster) bindClaims() {
	c.t.Helper()
	for _, o := range kubeapi.List[*corev1.PersistentVolumeClaim](c.server) {
		n, ok := kubeapi.Find[*corev1.Node](c.server, "", o.Annotations[selectedNode])
		if ok && o.Spec.VolumeName == "" {
			v := volume("v-"+o.Name, "fast", n.Labels[corev1.LabelTopologyZone])
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: o.Namespace, Name: o.Name, UID: o.UID}
			c.create(v)
			c.bindClaim(o.Name, "v-"+o.Name)
		}
	}
}

// change makes one random change of the objects, and describes it.
func (c *cluster) change(r *rand.Rand, i int) string {
	pods, nodes := kubeapi.List[*corev1.Pod](c.server), kubeapi.List[*corev1.Node](c.server)
	what := r.IntN(10)
	switch {
	case what < 2 || len(nodes) == 0:
		n := node(fmt.Sprint("n", i), fmt.Sprint(1+r.IntN(4)), fmt.Sprint("z", r.IntN(3)))
		if r.IntN(3) == 0 {
			taint(n)
		}
		c.create(n)
		return "the creation of node " + n.Name
	case what < 6 || len(pods) == 0:
		p := c.randomPod(r, i)
		c.create(p)
		return "the creation of pod " + p.Name
	case what == 6:
		n := nodes[r.IntN(len(nodes))].DeepCopy()
		if len(n.Spec.Taints) > 0 {
			n.Spec.Taints = nil
		} else {
			taint(n)
		}
		if err := c.client.Update(c.t.Context(), n); err != nil {
			c.t.Fatal(err)
		}
		return "another taint of node " + n.Name
	case what == 7:
		n := nodes[r.IntN(len(nodes))].DeepCopy()
		if r.IntN(2) == 0 {
			c.delete(n)
			return "the deletion of node " + n.Name
		}
		n.Status.Allocatable[corev1.ResourceCPU] = *resource.NewQuantity(int64(1+r.IntN(4)), resource.DecimalSI)
		if err := c.client.Status().Update(c.t.Context(), n); err != nil {
			c.t.Fatal(err)
		}
		return "another size of node " + n.Name
	case what == 8:
		p := pods[r.IntN(len(pods))].DeepCopy()
		c.delete(p)
		return "the deletion of pod " + p.Name
	}
	p := pods[r.IntN(len(pods))].DeepCopy()
	if r.IntN(2) == 0 {
		p.Labels = map[string]string{"app": string("ab"[r.IntN(2)])}
		if err := c.client.Update(c.t.Context(), p); err != nil {
			c.t.Fatal(err)
		}
		return "other labels of pod " + p.Name
	}
	if p.Spec.NodeName == "" {
		return "nothing"
	}
	p.Status.Phase = corev1.PodSucceeded
	if err := c.client.Status().Update(c.t.Context(), p); err != nil {
		c.t.Fatal(err)
	}
	return "the end of pod " + p.Name
}

// randomPod returns a pod of any kind, and creates its claim.
func (c *cluster) randomPod(r *rand.Rand, i int) *corev1.Pod {
	p := pod(fmt.Sprint("p", i), fmt.Sprint(1+r.IntN(3)), priority(int32(r.IntN(2))))
	switch r.IntN(7) {
	case 0:
		tolerate(p)
	case 1:
		spread(p)
	case 2:
		apart(p)
	case 3:
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	case 4:
		near(p)
	case 5:
		name := fmt.Sprint("c", i)
		c.create(claim(name, "fast"))
		mount(name)(p)
	}
	return p
}
