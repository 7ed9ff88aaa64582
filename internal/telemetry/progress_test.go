package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// The gauge grows while a controller works, is 0 afterwards, and is missing before.
func TestWorkInProgress(t *testing.T) {
	reg := prometheus.NewRegistry()
	work := telemetry.NewMetrics(reg, nil).Scheduler.UnfinishedWorkSeconds
	const name = "karpenter_scheduler_unfinished_work_seconds"
	want := func(value string) {
		t.Helper()
		text := ""
		if value != "" {
			text = "# HELP " + name + " Time since the current planning round or decision about disruption began, in seconds, 0 between them.\n# TYPE " + name +
				" gauge\n" + name + `{controller="provisioner",scheduling_id=""} ` + value + "\n"
		}
		if err := testutil.GatherAndCompare(reg, strings.NewReader(text), name); err != nil {
			t.Error(err)
		}
	}
	want("")
	age := 2 * time.Second
	done := work.Begin("provisioner", func() time.Duration { return age })
	want("2")
	age = 5 * time.Second
	want("5")
	done()
	want("0")
}
