package result

import (
	"encoding/json"
	"fmt"
	"os"
)

// A Run is one solve of one solver.
type Run struct {
	Engine string `json:"engine"`
	// Pods is the number of pending pods.
	Pods int `json:"pods"`
	// Seconds is the time from decoded objects to the finished plan.
	Seconds float64 `json:"seconds"`
	// CPU is the CPU time of all threads in that time.
	CPU float64 `json:"cpuSeconds"`
	// Allocated is the number of bytes allocated in that time.
	Allocated uint64 `json:"allocatedBytes"`
	// Nodes are the nodes to launch.
	Nodes []Node `json:"nodes"`
	// Unplaced are the keys of the pods without a node.
	Unplaced []string `json:"unplaced"`

	// Floor, VerifySeconds and Violations are set only by this project's engine.

	// Floor is the engine's own lower bound, in dollars per hour.
	Floor float64 `json:"floor,omitempty"`
	// VerifySeconds is the duration of the plan's check.
	VerifySeconds float64 `json:"verifySeconds,omitempty"`
	// Violations are the results of the check.
	Violations []string `json:"violations,omitempty"`
	// Reasons are the reasons why pods are unplaced: a line for each group of equal pods, or of upstream for each pod.
	Reasons []string `json:"reasons,omitempty"`
}

// A Node is one node to launch, with the options that the solver allows.
type Node struct {
	// Options are the names of the types that may be launched.
	Options []string `json:"options"`
	// Zones and CapacityTypes are the zones and capacity types that the node may have.
	Zones         []string `json:"zones"`
	CapacityTypes []string `json:"capacityTypes"`
	// Pods are the keys of the pods planned on the node.
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
