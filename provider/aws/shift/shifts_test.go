package shift

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	arctypes "github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"
	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// arc is a fake of ARC that returns its shifts.
type arc struct {
	shifts []arctypes.ZonalShiftInResource
	err    error
}

func (a *arc) GetManagedResource(
	context.Context, *arczonalshift.GetManagedResourceInput, ...func(*arczonalshift.Options),
) (*arczonalshift.GetManagedResourceOutput, error) {
	return &arczonalshift.GetManagedResourceOutput{ZonalShifts: a.shifts}, a.err
}

type diary []string

func (d *diary) Publish(events ...telemetry.Event) {
	for _, e := range events {
		o, ok := e.Object.(client.Object)
		if !ok {
			panic("an event about something that is no object")
		}
		*d = append(*d, o.GetName()+" "+e.Reason+": "+e.Message)
	}
}

func TestShifts(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	away := func(zone string, status arctypes.AppliedStatus, lasts time.Duration) arctypes.ZonalShiftInResource {
		return arctypes.ZonalShiftInResource{AwayFrom: aws.String(zone), AppliedStatus: status, ExpiryTime: aws.Time(clock.Now().Add(lasts))}
	}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Status.Subnets = []awsv1.Subnet{{ID: "s-a", Zone: "a", ZoneID: "az1"}, {ID: "s-b", Zone: "b", ZoneID: "az2"}}
	pool := func(name, zone string) *apiv1.NodePool {
		p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
		p.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
		}
		return p
	}
	var told diary
	scheme, api := api.Scheme(), &arc{}
	s := New(Config{
		API: api, Clock: clock, Recorder: &told, Cluster: func(context.Context) (string, error) { return "arn", nil },
		Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(class, pool("in-a", "a"), pool("in-b", "b")).Build(),
	})
	refresh := func() {
		t.Helper()
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	before := s.Revision()
	api.shifts = []arctypes.ZonalShiftInResource{
		away("az1", arctypes.AppliedStatusApplied, time.Hour), away("az2", arctypes.AppliedStatusNotApplied, time.Hour),
		away("az3", arctypes.AppliedStatusApplied, -time.Hour),
	}
	refresh()
	if !s.Away("az1") || s.Away("az2") || s.Away("az3") || s.Revision() == before {
		t.Errorf("away: %v %v %v, revision %d after %d", s.Away("az1"), s.Away("az2"), s.Away("az3"), s.Revision(), before)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "in-a ZonalShiftActive: ") {
		t.Errorf("told %v", told)
	}
	refresh()
	if len(told) != 1 {
		t.Errorf("told again: %v", told)
	}

	api.err = errors.New("away")
	if s.Refresh(t.Context()) == nil || !s.Away("az1") {
		t.Error("an error hides itself, or the shift")
	}
	at := s.Revision()
	clock.Step(time.Hour)
	if s.Away("az1") || s.Revision() == at {
		t.Error("a shift outlives its end")
	}

	// If one of two shifts is cancelled early, it is over at once.
	api.err, told = nil, nil
	api.shifts = []arctypes.ZonalShiftInResource{
		away("az1", arctypes.AppliedStatusApplied, time.Hour), away("az2", arctypes.AppliedStatusApplied, time.Hour),
	}
	refresh()
	api.shifts = api.shifts[:1]
	refresh()
	if !s.Away("az1") || s.Away("az2") || !slices.ContainsFunc(told, func(e string) bool { return strings.HasPrefix(e, "in-b ZonalShiftCleared") }) {
		t.Errorf("away %v %v, told %v", s.Away("az1"), s.Away("az2"), told)
	}
}

// The shifts are known when ARC has answered, also if the answer is that the cluster cannot be read. Any other failure may hide a
// shift.
func TestKnown(t *testing.T) {
	answer := func(code string) error { return &smithy.GenericAPIError{Code: code} }
	for _, tt := range []struct {
		name         string
		cluster, arc error
		want         bool
	}{
		{"no shift", nil, nil, true},
		{"no permission", nil, answer("AccessDeniedException"), true},
		{"not registered with ARC", nil, answer("ResourceNotFoundException"), true},
		{"no permission to describe the cluster", answer("AccessDeniedException"), nil, true},
		{"rejected by ARC", nil, answer("ValidationException"), true},
		{"throttled", nil, answer("ThrottlingException"), false},
		{"error of AWS", nil, answer("InternalServerException"), false},
		{"no connection", nil, errors.New("away"), false},
		{"no connection to EKS", errors.New("away"), nil, false},
	} {
		s := New(Config{
			API: &arc{err: tt.arc}, Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)),
			Cluster: func(context.Context) (string, error) { return "arn", tt.cluster },
		})
		if s.Known() {
			t.Errorf("%s: known before the first call", tt.name)
		}
		if err := s.Refresh(t.Context()); (err == nil) != (tt.cluster == nil && tt.arc == nil) {
			t.Errorf("%s: refresh: %v", tt.name, err)
		}
		if s.Known() != tt.want {
			t.Errorf("%s: known is %v, want %v", tt.name, s.Known(), tt.want)
		}
	}
}

// brokenReader fails to list while broken is true.
type brokenReader struct {
	client.Reader
	broken bool
}

func (r *brokenReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if r.broken {
		return errors.New("away")
	}
	return r.Reader.List(ctx, list, options...)
}

// Each zone has its own event, also if a shift of another zone was told a moment before. Events that could not be published
// because the pools could not be listed are published later.
func TestEventForEachZone(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	shifted := func(zones ...string) (out []arctypes.ZonalShiftInResource) {
		for _, z := range zones {
			out = append(out, arctypes.ZonalShiftInResource{
				AwayFrom: aws.String(z), AppliedStatus: arctypes.AppliedStatusApplied, ExpiryTime: aws.Time(clock.Now().Add(time.Hour)),
			})
		}
		return out
	}
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Status.Subnets = []awsv1.Subnet{{ID: "s-a", Zone: "a", ZoneID: "az1"}, {ID: "s-b", Zone: "b", ZoneID: "az2"}}
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "u"}}
	pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	sink := record.NewFakeRecorder(10)
	arc := &arc{}
	reader := &brokenReader{Reader: fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(class, pool).Build()}
	s := New(Config{
		API: arc, Clock: clock, Recorder: telemetry.NewRecorder(sink, clock), Reader: reader,
		Cluster: func(context.Context) (string, error) { return "arn", nil },
	})
	refresh := func(want ...string) {
		t.Helper()
		if err := s.Refresh(t.Context()); (err != nil) != reader.broken {
			t.Errorf("refresh: %v", err)
		}
		var got []string
		for len(sink.Events) > 0 {
			reason, _, _ := strings.Cut(<-sink.Events, ":")
			got = append(got, reason)
		}
		if !slices.Equal(got, want) {
			t.Errorf("events are %q, want %q", got, want)
		}
	}
	arc.shifts = shifted("az1")
	refresh("Warning ZonalShiftActive Zonal shift away from a (az1)")
	clock.Step(30 * time.Second)
	arc.shifts, reader.broken = shifted("az1", "az2"), true
	refresh()
	if !s.Away("az2") {
		t.Error("a shift does not count because its event could not be published")
	}
	reader.broken = false
	refresh("Warning ZonalShiftActive Zonal shift away from b (az2)")
	refresh()
	arc.shifts = nil
	refresh("Normal ZonalShiftCleared Zonal shift away from a (az1) ended", "Normal ZonalShiftCleared Zonal shift away from b (az2) ended")
}
