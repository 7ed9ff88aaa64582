package result

import (
	"encoding/json"
	"fmt"
	"os"
)

// A Run is one solve of one solver.
type Run struct {
	Engine string `json:"engine"`
	// Pods is how many were pending.
	Pods int `json:"pods"`
	// Seconds is from decoded objects to finished plan.
	Seconds float64 `json:"seconds"`
	// CPU is the processor time of all threads meanwhile.
	CPU float64 `json:"cpuSeconds"`
	// Allocated is how many bytes were allocated on the way.
	Allocated uint64 `json:"allocatedBytes"`
	// Nodes are the nodes to launch.
	Nodes []Node `json:"nodes"`
	// Unplaced are the keys of the pods that go nowhere.
	Unplaced []string `json:"unplaced"`

	// The following fields are set by our engine alone.

	// Floor is the engine's own, in dollars per hour.
	Floor float64 `json:"floor,omitempty"`
	// VerifySeconds is how long the plan's check took.
	VerifySeconds float64 `json:"verifySeconds,omitempty"`
	// Violations are what the check found.
	Violations []string `json:"violations,omitempty"`
	// Reasons say why pods are unplaced, a line for each group of like pods.
	Reasons []string `json:"reasons,omitempty"`
}

// A Node is one node to launch, with what the solver leaves open.
type Node struct {
	// Options are the names of the types that may be launched.
	Options []string `json:"options"`
	// Zones and CapacityTypes are those that the node may have.
	Zones         []string `json:"zones"`
	CapacityTypes []string `json:"capacityTypes"`
	// Pods are the keys of the pods that it is for.
	Pods []string `json:"pods"`
}

// Read returns the run of a file.
func Read(name string) (*Run, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	r := &Run{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("decode run %s: %w", name, err)
	}
	return r, nil
}

// Write writes the run to a file.
func (r *Run) Write(name string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode run: %w", err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}
