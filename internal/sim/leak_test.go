package sim

import (
	"fmt"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// A work queue that is shut down while a key becomes ready leaves a goroutine behind.
func TestQueueRemains(t *testing.T) {
	before := bubbles()
	inBubble(t, func() {
		left := make(chan struct{})
		var q priorityqueue.PriorityQueue[string]
		m := &meters{handsOut: func() {
			q.ShutDown()
			<-left
		}}
		q = priorityqueue.New("test", func(o *priorityqueue.Opts[string]) { o.MetricProvider = m })
		go func() {
			q.Get()
			close(left)
		}()
		synctest.Wait()
		q.Add("key")
		synctest.Wait()
	})
	if !onlyQueuesRemain(before) {
		t.Error("no goroutine remains")
	}
}

// meters are metrics of a work queue, without values. They call handsOut before a worker gets a key.
type meters struct{ handsOut func() }

func (m *meters) NewDepthMetric(string) workqueue.GaugeMetric                         { return m }
func (m *meters) NewAddsMetric(string) workqueue.CounterMetric                        { return m }
func (m *meters) NewLatencyMetric(string) workqueue.HistogramMetric                   { return m }
func (m *meters) NewWorkDurationMetric(string) workqueue.HistogramMetric              { return m }
func (m *meters) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric { return m }
func (m *meters) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return m
}
func (m *meters) NewRetriesMetric(string) workqueue.CounterMetric { return m }

func (m *meters) Inc()            {}
func (m *meters) Dec()            { m.handsOut() }
func (m *meters) Set(float64)     {}
func (m *meters) Observe(float64) {}

// Other goroutines must end.
func TestOthersMustEnd(t *testing.T) {
	defer func() {
		if cause := recover(); cause == nil {
			t.Error("a goroutine remains, and nothing says so")
		} else if text := fmt.Sprint(cause); text != "deadlock: main bubble goroutine has exited but blocked goroutines remain" {
			t.Error(text)
		}
	}()
	inBubble(t, func() {
		go func() { <-make(chan int) }()
		synctest.Wait()
	})
}
