package story

import (
	"context"
	"fmt"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// fleetLine formats one CreateFleet call.
func fleetLine(call control.Call) string {
	types, offerings := map[string]bool{}, 0
	capacity, target := "", "1"
	for name, value := range call.Params {
		switch {
		case strings.HasSuffix(name, ".InstanceType"):
			types[value] = true
			offerings++
		case strings.HasSuffix(name, "DefaultTargetCapacityType"):
			capacity = value
		case strings.HasSuffix(name, "TotalTargetCapacity"):
			target = value
		}
	}
	line := fmt.Sprintf("CreateFleet: %s %s, any of %d offerings of %d types",
		target, strings.TrimSpace(capacity+" instance"), offerings, len(types))
	if call.Code != "" {
		return line + ": refused, " + call.Code
	}
	return line
}

// newFleets returns the CreateFleet calls after the call with the number since, without dry runs, and the number of the
// last call.
func newFleets(ctx context.Context, cloud control.Client, since int64) (fleets []control.Call, last int64, err error) {
	calls, err := cloud.Calls(ctx, since)
	if err != nil {
		return nil, since, err
	}
	for _, call := range calls {
		since = max(since, call.Seq)
		if call.Action == "CreateFleet" && call.Params["DryRun"] != "true" { // a dry run only checks permissions
			fleets = append(fleets, call)
		}
	}
	return fleets, since, nil
}
