package sim

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A collector collects garbage between two steps of the driver, when all goroutines are blocked. The collector of the Go runtime
// interrupts goroutines, and the order in which they go on may differ between two runs.
type collector struct {
	allocated []metrics.Sample
	next      uint64 // the sum of all allocations, in bytes, at which to collect again
	steps     int
}

const (
	// leastAllocated is the least number of bytes to allocate between two collections.
	leastAllocated = 640 << 20
	// mostMemory is the memory in bytes at which the runtime collects during a step.
	mostMemory = 4 << 30
	// stepsPerLook is after how many steps the sum of allocations is read again.
	stepsPerLook = 256
)

// collectBetweenSteps turns off the collector of the runtime until the returned function is called.
func collectBetweenSteps() (c *collector, restore func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(mostMemory)
	c = &collector{allocated: []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}}
	c.next = c.sum() + leastAllocated
	return c, func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// sum returns how many bytes the process has allocated.
func (c *collector) sum() uint64 {
	metrics.Read(c.allocated)
	return c.allocated[0].Value.Uint64()
}

// look collects if enough was allocated. All goroutines but the caller's must be blocked.
func (c *collector) look() {
	if c.steps++; c.steps < stepsPerLook {
		return
	}
	c.steps = 0
	if at := c.sum(); at >= c.next {
		runtime.GC()
		c.next = at + leastAllocated
	}
}
