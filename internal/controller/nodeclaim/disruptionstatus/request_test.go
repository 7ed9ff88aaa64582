package disruptionstatus

import (
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// If a user requests the disruption of a node, its claim is drifted. Removing the annotation withdraws the request.
func TestDisruptionRequested(t *testing.T) {
	b := newBench(t, pool("Never"), func(claim *apiv1.NodeClaim) {
		claim.Annotations = map[string]string{apiv1.DisruptionRequestedAnnotationKey: "2030-01-01T00:00:00Z"}
	})
	b.pass("", "True "+ReasonRequested, 5*time.Minute)
	claim := b.GetClaim("a")
	delete(claim.Annotations, apiv1.DisruptionRequestedAnnotationKey)
	if err := b.Client.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.pass("", "", 5*time.Minute)
}

// A request to consolidate applies to nodes whose last pod event was before the request. It does not override consolidateAfter:
// Never.
func TestConsolidationRequested(t *testing.T) {
	for _, tt := range []struct {
		name, after, request string
		want                 string
		again                time.Duration
	}{
		{"after the last event", "2h", "2030-01-01T00:00:30Z", yes, 5 * time.Minute},
		{"before it", "2h", "2029-12-31T23:59:59Z", "", 5 * time.Minute},
		{"in the future", "2h", "2030-01-01T05:00:00Z", "", 5 * time.Minute},
		{"no time", "2h", "now", "", 5 * time.Minute},
		{"consolidation is off", "Never", "2030-01-01T00:00:30Z", "", 5 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := pool(tt.after)
			p.Annotations = map[string]string{apiv1.ConsolidationRequestedAnnotationKey: tt.request}
			b := newBench(t, p, nil)
			b.Clock.Step(time.Minute)
			b.pass(tt.want, "", tt.again)
		})
	}
}
