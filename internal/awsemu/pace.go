package awsemu

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// The SDK closes the body of its request when it receives the header of the response. The goroutine that writes the request may
// not have read the end of that body yet. Then it treats the close as a failed write, and closes the connection while the client
// still reads the response. AWS is never so fast, so the emulator delays large responses. Small ones are in the reader's buffer
// by then. On a busy machine the delay may be too short. Then the SDK repeats the call.
const (
	largeAnswer = 2 << 10 // bytes
	largePause  = 2 * time.Millisecond
)

// pace delays a large response. It uses the real clock and not the clock of the account, because the delay is for the real
// client.
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
