package reserve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// account is a fake of EC2 with reservations by id. It records filters and does not apply them.
type account struct {
	byID  map[string]ec2types.CapacityReservation
	asked []string
	err   error
	// during is called while the account is asked.
	during func()
}

func (a *account) DescribeCapacityReservations(
	_ context.Context, in *ec2.DescribeCapacityReservationsInput, _ ...func(*ec2.Options),
) (*ec2.DescribeCapacityReservationsOutput, error) {
	text := fmt.Sprint(in.CapacityReservationIds)
	for _, f := range in.Filters {
		text += " " + *f.Name + "=" + f.Values[0]
	}
	a.asked = append(a.asked, text)
	if a.during != nil {
		a.during()
	}
	if a.err != nil {
		return nil, a.err
	}
	out := &ec2.DescribeCapacityReservationsOutput{}
	for _, id := range in.CapacityReservationIds {
		r, ok := a.byID[id]
		if !ok {
			return nil, &smithy.GenericAPIError{Code: "InvalidCapacityReservationId.NotFound"}
		}
		out.CapacityReservations = append(out.CapacityReservations, r)
	}
	if len(in.CapacityReservationIds) == 0 {
		for _, id := range []string{"cr-3", "cr-1", "cr-2", "cr-odd"} {
			if r, ok := a.byID[id]; ok {
				out.CapacityReservations = append(out.CapacityReservations, r)
			}
		}
	}
	return out, nil
}

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func reservation(id, kind string, free int32, end time.Duration) ec2types.CapacityReservation {
	r := ec2types.CapacityReservation{
		CapacityReservationId: aws.String(id), AvailabilityZone: aws.String("a"), InstanceType: aws.String("m5.large"),
		OwnerId: aws.String("123456789012"), InstanceMatchCriteria: "open", ReservationType: ec2types.CapacityReservationType(kind),
		AvailableInstanceCount: aws.Int32(free),
	}
	if end != 0 {
		r.EndDate = aws.Time(now.Add(end))
	}
	return r
}

// A reservation of an unknown type or with unknown match criteria is ignored, and logged when it is read from EC2.
func TestUnknownReservationsAreLogged(t *testing.T) {
	odd := reservation("cr-1", "default", 1, 0)
	odd.InstanceMatchCriteria = "some"
	a := &account{byID: map[string]ec2types.CapacityReservation{
		"cr-1": odd, "cr-2": reservation("cr-2", "", 1, 0), "cr-odd": reservation("cr-odd", "something-new", 1, 0),
	}}
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	class := &awsv1.EC2NodeClass{}
	class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{OwnerID: "1"}}
	r := New(a, clocktesting.NewFakePassiveClock(now))
	for range 2 { // the second result is cached
		if found, err := r.Resolve(ctx, class); err != nil || len(found) != 1 || found[0].ID != "cr-2" {
			t.Errorf("found %v, %v", found, err)
		}
	}
	if len(lines) != 2 || !strings.Contains(lines[0], `criteria \"some\"`) || !strings.Contains(lines[1], `type \"something-new\"`) {
		t.Errorf("lines are %q", lines)
	}
}

func TestResolve(t *testing.T) {
	a := &account{byID: map[string]ec2types.CapacityReservation{
		"cr-1": reservation("cr-1", "", 2, 0), "cr-2": reservation("cr-2", "capacity-block", 1, 41*time.Minute),
		"cr-3": reservation("cr-3", "default", 1, -time.Minute), "cr-odd": reservation("cr-odd", "something-new", 1, 0),
	}}
	clock := clocktesting.NewFakePassiveClock(now)
	r := New(a, clock)
	class := &awsv1.EC2NodeClass{}
	class.UID, class.Generation = "u", 1
	resolve := func() (text string) {
		t.Helper()
		found, err := r.Resolve(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range found {
			text += fmt.Sprintf("%s %s %s; ", c.ID, c.ReservationType, c.State)
		}
		return text
	}
	if got := resolve(); got != "" || len(a.asked) != 0 {
		t.Errorf("without a selector: %q, asked %v", got, a.asked)
	}
	class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{
		{Tags: map[string]string{"team": "web", "any": "*"}, OwnerID: "1", InstanceMatchCriteria: "open"}, {ID: "cr-1"}, {ID: "cr-none"},
	}
	const all = "cr-1 default active; cr-2 capacity-block active; " // cr-3 has ended, cr-odd is of an unknown type
	if got := resolve(); got != all {
		t.Errorf("found %q", got)
	}
	want := []string{"[] state=active owner-id=1 instance-match-criteria=open tag-key=any tag:team=web", "[cr-1] state=active", "[cr-none] state=active"}
	if fmt.Sprint(a.asked) != fmt.Sprint(want) {
		t.Errorf("asked %v", a.asked)
	}
	if got := resolve(); got != all || len(a.asked) != 3 {
		t.Errorf("again: %q, asked %v", got, a.asked)
	}
	if next := Again(mustFind(t, r, class), now); next != time.Minute {
		t.Errorf("looked at again in %v", next)
	}
	clock.SetTime(now.Add(2 * time.Minute)) // 39 minutes before the end
	a.err = errors.New("down")
	if _, err := r.Resolve(t.Context(), class); err == nil {
		t.Error("an error hides itself")
	}
	a.err = nil
	if got := resolve(); got != "cr-1 default active; cr-2 capacity-block expiring; " {
		t.Errorf("before its end: %q", got)
	}
}

func mustFind(t *testing.T, r *Reservations, class *awsv1.EC2NodeClass) []awsv1.CapacityReservation {
	t.Helper()
	found, err := r.Resolve(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCounts(t *testing.T) {
	a := &account{byID: map[string]ec2types.CapacityReservation{"cr-1": reservation("cr-1", "", 2, 0)}}
	clock := clocktesting.NewFakePassiveClock(now)
	r := New(a, clock)
	class := &awsv1.EC2NodeClass{}
	class.Spec.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
	left := func(what string, want int, changed bool, do func()) {
		t.Helper()
		before := r.Revision()
		do()
		if got := r.Left("cr-1"); got != want || (r.Revision() != before) != changed {
			t.Errorf("%s: %d left, want %d; revision %d after %d", what, got, want, r.Revision(), before)
		}
	}
	find := func() { mustFind(t, r, class) }
	left("before the first lookup", 0, false, func() { r.Launched("cr-1") })
	left("first list", 2, true, find)
	left("a launch", 1, true, func() { r.Launched("cr-1") })
	left("another", 0, true, func() { r.Launched("cr-1") })
	left("one too many", 0, false, func() { r.Launched("cr-1") })
	left("a termination", 0, false, func() { r.Ending("cr-1", "i-1") })
	left("an end", 1, true, func() { r.Ended("cr-1", "i-1") })
	left("the same end", 1, false, func() { r.Ending("cr-1", "i-1"); r.Ended("cr-1", "i-1") })
	left("the end of an unknown instance", 1, false, func() { r.Ended("cr-1", "") })
	left("another end", 2, true, func() { r.Ending("cr-1", "i-2"); r.Ended("cr-1", "i-2") })
	left("a launch again", 1, true, func() { r.Launched("cr-1") })
	left("a refusal", 0, true, func() { r.Full("cr-1") })
	clock.SetTime(now.Add(time.Hour))
	left("a new list", 2, true, find)
	left("the same list", 2, false, func() { clock.SetTime(now.Add(2 * time.Hour)); find() })
	left("an end that EC2 has listed", 2, false, func() {
		r.Ending("cr-1", "i-3")
		clock.SetTime(now.Add(3 * time.Hour))
		find()
		r.Ended("cr-1", "i-3")
	})
	a.during = func() { r.Launched("cr-1") }
	left("a launch while EC2 lists", 1, true, func() { clock.SetTime(now.Add(4 * time.Hour)); find() })
	a.during = nil
	left("the next list", 2, true, func() { clock.SetTime(now.Add(5 * time.Hour)); find() })
	if r.Left("cr-other") != 0 {
		t.Error("an unknown reservation has capacity")
	}
}
