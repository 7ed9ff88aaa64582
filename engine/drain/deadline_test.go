package drain

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func TestDeadline(t *testing.T) {
	grace := &apiv1.Duration{Duration: 10 * time.Minute}
	deleted := metav1.NewTime(epoch)
	for _, tt := range []struct {
		name       string
		annotation string
		grace      *apiv1.Duration
		deleted    *metav1.Time
		want       time.Time
		wantErr    bool
	}{
		{name: "nothing asked for", deleted: &deleted},
		{name: "not deleted yet", grace: grace},
		{name: "from the grace period", grace: grace, deleted: &deleted, want: epoch.Add(10 * time.Minute)},
		{name: "the annotation wins", annotation: "2026-01-01T09:00:00Z", grace: grace, deleted: &deleted, want: epoch.Add(-time.Hour)},
		{name: "with another zone", annotation: "2026-01-01T11:00:00+01:00", want: epoch},
		{name: "no time", annotation: "soon", grace: grace, deleted: &deleted, want: epoch.Add(10 * time.Minute), wantErr: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: tt.deleted}}
			claim.Spec.TerminationGracePeriod = tt.grace
			if tt.annotation != "" {
				claim.Annotations = map[string]string{apiv1.NodeClaimTerminationTimestampAnnotationKey: tt.annotation}
			}
			got, err := Deadline(claim)
			if !got.Equal(tt.want) || (err != nil) != tt.wantErr {
				t.Errorf("got %v, %v; want %v, error %v", got, err, tt.want, tt.wantErr)
			}
		})
	}
	if got, err := Deadline(nil); !got.IsZero() || err != nil {
		t.Errorf("without a claim: got %v, %v; want none", got, err)
	}
}
