package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/internal/decisions"
)

// A line of the timeline is not longer than the terminal is wide. The wide form shows everything.
func TestTimeline(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	replaced := decisions.Episode{
		ID: "x-1", Time: at, Kind: decisions.KindDisruption, State: decisions.StateCancelled, Action: "replace",
		Cause: "the pods of 1 node cost less elsewhere", Decision: "replace ip-10-0-0-4 by c7a.large us-east-1a spot (Underutilized, saves $0.1000/h)",
		LaunchedNodes: 1, RemovedNodes: 1, DollarsBefore: 1.2, DollarsAfter: 1.1, Evictions: 1, EvictionsPlanned: 3,
		Refused: []decisions.Refusal{{Subject: "node ip-10-0-0-5", Count: 1, Reason: "pod shop/db has annotation karpenter.sh/do-not-disrupt",
			Fix: "remove the annotation", DollarsPerHour: 0.2}},
		Effects: []decisions.Effect{{Time: at, Kind: decisions.EffectFailed, Object: "nodeclaim default-x", Message: "no capacity"}},
	}
	refused := decisions.Episode{
		Time: at, Kind: decisions.KindProvisioning, State: decisions.StateDone, Action: "refuse", Decision: "launch no node",
		Refused: []decisions.Refusal{{Subject: "pod shop/gpu-0", Count: 4, Reason: `NodePool "gpu": does not tolerate taint gpu`}},
	}
	var s Style
	got := s.TimelineHead(80) + s.Episode(replaced, 80, false) + s.Episode(refused, 80, false) + s.TimelineHead(120) + s.Episode(replaced, 120, true)
	want := `TIME      STATE       SAVES $/H  DECISION
12:00:00  cancelled     +0.1000  replace ip-10-0-0-4 by c7a.large us-east-1a sp…
12:00:00  done                -  pod shop/gpu-0 and 3 more: NodePool "gpu": doe…
TIME      KIND          STATE      NODES  EVICTED   SAVES $/H  DECISION
12:00:00  disruption    cancelled   +1-1      1/3     +0.1000  replace ip-10-0-0-4 by c7a.large us-east-1a spot (Underutilized, saves $0.1000/h)
          id: x-1
          cause: the pods of 1 node cost less elsewhere
          refused: node ip-10-0-0-5: pod shop/db has annotation karpenter.sh/do-not-disrupt ($0.2000/h)
            fix: remove the annotation
          12:00:00 failed nodeclaim default-x: no capacity
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.Lines((Style{Colour: true}).Episode(replaced, 80, false)) {
		if n := width(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d cells: %s", n, line)
		}
	}
}
