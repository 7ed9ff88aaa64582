package scheduler_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkOnePod binds one pod to one of 50 nodes that run 300 pods, and deletes it.
func BenchmarkOnePod(b *testing.B) {
	c := newCluster(b, 1)
	for i := range 50 {
		c.create(node(fmt.Sprint("n", i), "64", fmt.Sprint("z", i%3)))
	}
	for i := range 300 {
		c.create(pod(fmt.Sprint("p", i), "1", spread))
	}
	c.step()
	for b.Loop() {
		c.now = c.now.Add(time.Second)
		c.create(pod("new", "1", spread))
		c.step()
		c.delete(c.pod("new").DeepCopy())
	}
}

// BenchmarkPodStatus writes the status of a pod on a node, which changes no decision, while 100 pods are unschedulable.
func BenchmarkPodStatus(b *testing.B) {
	c := newCluster(b, 1)
	c.create(node("n", "4", "z"), pod("p", "1"))
	for i := range 100 {
		c.create(pod(fmt.Sprint("waits", i), "64"))
	}
	c.step()
	for i := 0; b.Loop(); i++ {
		p := c.pod("p").DeepCopy()
		p.Status.Message = fmt.Sprint(i)
		if err := c.client.Status().Update(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		c.step()
	}
}
