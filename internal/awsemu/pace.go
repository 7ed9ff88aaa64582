package awsemu

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// The SDK closes the body of its request as soon as it sees the header of the answer. If the goroutine that writes the
// request has not read the end of that body by then, it treats the close as a failed write and closes the connection
// while the client still reads the answer. AWS is never so fast, so large answers are delayed; small ones are in the
// reader's buffer by then. On a busy machine the delay may be too short: then the SDK retries the call.
const (
	largeAnswer = 2 << 10 // bytes
	largePause  = 2 * time.Millisecond
)

// pace delays a large response, by the real clock and not by that of the emulated account, since the delay is for the
// real client.
func pace(ctx context.Context, a answer) {
	if len(a.body) < largeAnswer {
		return
	}
	timer := clock.RealClock{}.NewTimer(largePause)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}
