package steer

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

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
					w.Join(t.Context(), claim, node)(nil)
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
	w.Join(t.Context(), claim, big)(nil)
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

// A node that has come promptly waits a moment for another of its plan, not for one of a later plan; and any node waits longer
// for one that is there.
func TestJoinWaits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		age   time.Duration // of the claim that joins
		later time.Duration // the other was asked for
		there bool          // the other has a node
		joins time.Duration // when the other joins; 0 is never
		want  time.Duration
	}{
		{name: "until the other joins", age: time.Second, joins: 2 * time.Second, want: 2 * time.Second},
		{name: "a moment at most", age: time.Second, want: moment},
		{name: "not where nodes boot", age: prompt},
		{name: "not for a later one", age: 3 * time.Second, later: 2 * time.Second},
		{name: "for one that is there", age: prompt, later: 2 * time.Second, there: true, joins: 5 * time.Second, want: 5 * time.Second},
		{name: "ten seconds at most", age: prompt, there: true, want: politeness},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Clock = clock.RealClock{} // of the bubble
				begin := w.Clock.Now()
				claims, nodes := make([]*apiv1.NodeClaim, 2), make([]*corev1.Node, 2)
				for i, p := range w.Cluster.Snapshot().Pending() {
					claims[i], nodes[i] = joiner([]string{"m", "o"}[i])
					claims[i].CreationTimestamp.Time = begin.Add(-tt.age + time.Duration(i)*tt.later)
					w.Cluster.Set(claims[i])
					w.Cluster.Promise(claims[i].Name, []*model.Pod{p}, w.clock.Now().Add(2*patience))
				}
				if tt.there {
					nodes[1].CreationTimestamp.Time = w.clock.Now()
					w.Cluster.Set(nodes[1])
				}
				if tt.joins > 0 {
					go func() {
						<-w.Clock.After(tt.joins)
						w.Join(t.Context(), claims[1], nodes[1])(nil)
					}()
				}
				w.Join(t.Context(), claims[0], nodes[0])(nil)
				if got := w.Clock.Since(begin); got < tt.want || got > tt.want+glance {
					t.Errorf("opened after %v, want %v", got, tt.want)
				}
				synctest.Wait()
			})
		})
	}
}

// A node that comes while claims are still being created is not opened before it is known who was planned onto it.
func TestJoinDuringLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Clock = clock.RealClock{} // of the bubble
		claim, node := joiner("m")
		w.Cluster.Set(claim)
		launched := w.Cluster.Launching()
		go func() {
			<-w.Clock.After(moment)
			w.promise(claim.Name)
			launched()
		}()
		w.Join(t.Context(), claim, node)(nil)
		w.want("opened", "m", "m")
		synctest.Wait()
	})
}

// Nodes that are opened together are left alone until all are open, or until one has taken too long.
func TestOpenedTogether(t *testing.T) {
	for _, takes := range []time.Duration{time.Second, 2 * moment} {
		synctest.Test(t, func(t *testing.T) {
			c := clock.RealClock{} // of the bubble
			begin := c.Now()
			d := &door{closed: make(chan struct{})}
			d.left.Store(2)
			quick, slow := &member{open: make(chan struct{}), door: d}, &member{open: make(chan struct{}), door: d}
			close(quick.open)
			close(slow.open)
			ended := make(chan struct{})
			go func() {
				<-c.After(takes)
				slow.through(c)
				close(ended)
			}()
			quick.through(c)
			if got, want := c.Since(begin), min(takes, moment); got != want {
				t.Errorf("the quick one is left alone for %v, want %v", got, want)
			}
			<-ended
		})
	}
	impatient := &member{open: make(chan struct{})}
	impatient.through(clock.RealClock{}) // returns: nobody has let it in
}
