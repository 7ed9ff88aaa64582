package steer

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// joiner is a node that has joined and is not open yet, with its claim.
func joiner(name string) (*apiv1.NodeClaim, *corev1.Node) {
	n := node(name, false)
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-" + name, Labels: map[string]string{apiv1.NodePoolLabelKey: "p"}}}
	claim.Status.ProviderID, claim.Status.Allocatable = n.Spec.ProviderID, n.Status.Allocatable
	return claim, n
}

// Nodes that join at the same time are opened together, when the pods of all of them are nominated, or patience has ended.
func TestJoinTogether(t *testing.T) {
	for _, ready := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			answer := make(chan struct{})
			w.before = func(ctx context.Context, pod string) {
				if pod == "b" {
					select {
					case <-answer:
					case <-ctx.Done():
					}
				}
			}
			byName := map[string]*model.Pod{}
			for _, p := range w.Cluster.Snapshot().Pending() {
				byName[p.Object.Name] = p
			}
			opened := make(chan string, 2)
			join := func(name, of string) {
				claim, node := joiner(name)
				w.Cluster.Set(claim)
				w.Cluster.Promise(claim.Name, []*model.Pod{byName[of]}, w.clock.Now().Add(2*patience))
				go func() {
					w.Join(t.Context(), claim, node)
					opened <- name
				}()
				synctest.Wait()
			}
			join("m", "b")
			join("o", "a")
			if len(opened) != 0 {
				t.Errorf("%s opened while a nomination is being written", <-opened)
			}
			if !ready {
				<-opened // virtual time goes by while all wait
				<-opened
			}
			close(answer)
			synctest.Wait()
			if ready {
				if len(opened) != 2 {
					t.Errorf("%d opened, want both", len(opened))
				}
				w.want("opened", "o", "m")
			}
			if left := len(w.company.members); left > 0 {
				t.Errorf("%d are left of the company", left)
			}
		})
	}
}

// What the scheduler erases while a node's many pods are nominated is written again before the node is opened.
func TestJoinWritesAgain(t *testing.T) {
	w := newWorld(t)
	claim, big := joiner("m")
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourcePods} {
		claim.Status.Allocatable[name] = resource.MustParse("100")
	}
	w.Cluster.Set(claim)
	for i := range 2 * few {
		p := pod(fmt.Sprintf("p%03d", i))
		if err := w.client.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	w.watch()
	w.promise(claim.Name)
	var erased atomic.Bool
	w.after = func(pod string) {
		if pod == "p000" && !erased.Swap(true) {
			w.erase(pod)
		}
	}
	w.Join(t.Context(), claim, big)
	var pods corev1.PodList
	if err := w.client.List(t.Context(), &pods); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Status.NominatedNodeName != "m" {
			t.Errorf("%s is nominated to %q when the node is opened", p.Name, p.Status.NominatedNodeName)
		}
	}
}
