package story

import (
	"context"
	"fmt"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/steer"
)

// fleetLine tells of one CreateFleet call.
func fleetLine(call steer.Call) string {
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

// followFleets hands every fleet call that the cloud gets after the call
// numbered since to tell, until ctx is done.
func followFleets(ctx context.Context, cloud steer.Client, since int64, tell func(steer.Call)) error {
	return every(ctx, lookEvery, func() error {
		calls, err := cloud.Calls(ctx, since)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, call := range calls {
			since = max(since, call.Seq)
			if call.Action == "CreateFleet" {
				tell(call)
			}
		}
		return nil
	})
}

// lastCall is the number of the last call that the cloud has got so far.
func lastCall(ctx context.Context, cloud steer.Client) (int64, error) {
	calls, err := cloud.Calls(ctx, 0)
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, call := range calls {
		last = max(last, call.Seq)
	}
	return last, nil
}
