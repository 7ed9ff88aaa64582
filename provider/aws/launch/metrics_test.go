package launch

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"
)

// The size of the user data of an EC2NodeClass is not reported after its deletion.
func TestUserDataOfDeletedClass(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is launched
	l := New(ctx, Config{Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Metrics: prometheus.NewRegistry()})
	l.userData.WithLabelValues("old").Set(900)
	l.userData.WithLabelValues("kept").Set(800)
	l.ForgetClass("old")
	if n := testutil.CollectAndCount(l.userData); n != 1 || testutil.ToFloat64(l.userData.WithLabelValues("kept")) != 800 {
		t.Errorf("%d series are left, want that of the class kept", n)
	}
}
