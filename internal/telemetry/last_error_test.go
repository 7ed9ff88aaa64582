package telemetry

import (
	"testing"
	"time"
)

// An error is logged when its text is new, and again after an hour. After a success the same error is new.
func TestLastError(t *testing.T) {
	var e LastError
	if e.Succeeded() {
		t.Error("the first success is a recovery")
	}
	for n, tt := range []struct {
		text string
		want bool
	}{{"away", true}, {"away", false}, {"away", false}, {"away", true}, {"denied", true}, {"away", true}, {"away", false}} {
		if got := e.Failed(tt.text, 20*time.Minute); got != tt.want {
			t.Errorf("attempt %d, %s: logged %v, want %v", n, tt.text, got, tt.want)
		}
	}
	if !e.Succeeded() || e.Succeeded() || !e.Failed("away", 0) {
		t.Error("a success does not end the error")
	}
}
