package ttl

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestCache(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	c := New[string, int](clock, time.Minute)
	if _, ok := c.Get("a"); ok {
		t.Error("an empty cache has a value")
	}
	c.Set("a", 1)
	clock.SetTime(time.Unix(59, 0))
	if v, ok := c.Get("a"); !ok || v != 1 {
		t.Errorf("just before the end: %d, %v", v, ok)
	}
	c.Set("b", 2)
	clock.SetTime(time.Unix(60, 0))
	if _, ok := c.Get("a"); ok {
		t.Error("a value outlived its time")
	}
	c.Set("c", 3)
	if len(c.entries) != 2 {
		t.Errorf("%d entries are kept, want the two that are alive", len(c.entries))
	}
	c.Delete("b")
	c.Clear()
	if len(c.entries) != 0 {
		t.Error("something is left after Clear")
	}
}
