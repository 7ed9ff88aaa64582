package story

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/karpenter-go/karpenter/engine/units"
)

// A Plan is a decision in the controller's log, with prices in USD per hour.
type Plan struct {
	Message       string   `json:"message"`
	Pods          int      `json:"pods"`
	Nodes         int      `json:"nodeclaims"`
	Existing      int      `json:"existing"` // pods placed on existing nodes
	PricePerHour  float64  `json:"price-per-hour"`
	FloorPerHour  float64  `json:"lower-bound-per-hour"`
	InstanceTypes []string `json:"instance-types"` // "2 x c7a.2xlarge"
}

// planMessage is the message of the log lines with plans.
const planMessage = "computed new nodeclaim(s) to fit pod(s)"

// parsePlan reads a line of the controller's log.
func parsePlan(line []byte) (Plan, bool) {
	var p Plan
	if err := json.Unmarshal(line, &p); err != nil || p.Message != planMessage {
		return Plan{}, false
	}
	return p, true
}

// String returns the plan as a sentence.
func (p Plan) String() string {
	if p.Nodes == 0 {
		return fmt.Sprintf("plan: %s fit on existing nodes", units.Counted(p.Existing, "pod"))
	}
	return fmt.Sprintf("plan: %s on %s, %s; $%.4f/h, lower bound $%.4f/h",
		units.Counted(p.Pods, "pod"), units.Counted(p.Nodes, "new node"), strings.Join(p.InstanceTypes, ", "),
		p.PricePerHour, p.FloorPerHour)
}

// readPlans returns the plans in a log, and the offset of the end of the last complete line.
func readPlans(log io.Reader) (plans []Plan, end int64, err error) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return plans, end, nil // an incomplete line is read next time
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read log: %w", err)
		}
		end += int64(len(line))
		if p, ok := parsePlan(line); ok {
			plans = append(plans, p)
		}
	}
}

// newPlans returns the plans in the log after offset, and the new offset. If the log does not exist yet, there are no
// plans.
func newPlans(path string, offset int64) (plans []Plan, end int64, err error) {
	log, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, offset, nil
	}
	if err != nil {
		return nil, offset, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	if _, err := log.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, fmt.Errorf("seek in log: %w", err)
	}
	plans, n, err := readPlans(log)
	return plans, offset + n, err
}
