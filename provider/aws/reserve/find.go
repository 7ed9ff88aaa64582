package reserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/network"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// API is the part of EC2 that lists capacity reservations.
type API interface {
	DescribeCapacityReservations(context.Context, *ec2.DescribeCapacityReservationsInput, ...func(*ec2.Options)) (*ec2.DescribeCapacityReservationsOutput, error)
}

var _ API = (*ec2.Client)(nil)

const (
	// life is the time for which a result is cached.
	life = time.Minute
	// endingLife is how long an instance is known whose termination was requested.
	endingLife = 15 * time.Minute
	// handover is how long before the end of a capacity block its nodes are replaced. EC2 starts to terminate the
	// instances half an hour before the end.
	handover = 40 * time.Minute
)

// Reservations finds capacity reservations and counts the instances left in them. It is safe for concurrent use. No
// lock is held during calls of EC2.
type Reservations struct {
	api   API
	clock clock.PassiveClock
	found *ttl.Cache[string, []ec2types.CapacityReservation]

	// ending has, for each reservation and instance for which Ending was called, the syncs of the reservation at that time, or counted.
	ending *ttl.Cache[string, uint64]

	mu       sync.Mutex // guards the rest
	left     map[string]*count
	revision uint64
}

// New returns a Reservations without counts.
func New(api API, c clock.PassiveClock) *Reservations {
	return &Reservations{
		api: api, clock: c, found: ttl.New[string, []ec2types.CapacityReservation](c, life), left: map[string]*count{},
		ending: ttl.New[string, uint64](c, endingLife),
	}
}

// Resolve returns the reservations that the class selects and that have not ended, in order of ID.
func (r *Reservations) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.CapacityReservation, error) {
	if len(class.Spec.CapacityReservationSelectorTerms) == 0 {
		return nil, nil
	}
	key := string(class.UID) + "/" + strconv.FormatInt(class.Generation, 10)
	found, known := r.found.Get(key)
	if !known {
		var err error
		before := r.uses()
		if found, err = r.ask(ctx, class.Spec.CapacityReservationSelectorTerms); err != nil {
			return nil, err
		}
		for _, f := range found {
			if err := unknownKind(f); err != nil {
				log.FromContext(ctx).Error(err, "ignoring capacity reservation", "EC2NodeClass", klog.KRef("", class.Name))
			}
		}
		r.found.Set(key, found)
		r.sync(found, before)
	}
	now := r.clock.Now()
	byID := map[string]awsv1.CapacityReservation{}
	for _, f := range found {
		if c, ok := convert(f, now); ok {
			byID[c.ID] = c
		}
	}
	out := make([]awsv1.CapacityReservation, 0, len(byID))
	for _, c := range byID {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b awsv1.CapacityReservation) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// ask makes one call per term. A term whose ID does not exist selects nothing and is not an error.
func (r *Reservations) ask(
	ctx context.Context, terms []awsv1.CapacityReservationSelectorTerm,
) ([]ec2types.CapacityReservation, error) {
	var out []ec2types.CapacityReservation
	for _, t := range terms {
		pages := ec2.NewDescribeCapacityReservationsPaginator(r.api, query(t))
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if t.ID != "" && fault.NotFound(err) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("describe capacity reservations: %w", err)
			}
			out = append(out, page.CapacityReservations...)
		}
	}
	return out, nil
}

// query returns the input of the call for the active reservations of a term.
func query(t awsv1.CapacityReservationSelectorTerm) *ec2.DescribeCapacityReservationsInput {
	filter := func(name, value string) ec2types.Filter {
		return ec2types.Filter{Name: aws.String(name), Values: []string{value}}
	}
	filters := []ec2types.Filter{filter("state", "active")}
	if t.ID != "" {
		return &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{t.ID}, Filters: filters}
	}
	if t.OwnerID != "" {
		filters = append(filters, filter("owner-id", t.OwnerID))
	}
	if t.InstanceMatchCriteria != "" {
		filters = append(filters, filter("instance-match-criteria", string(t.InstanceMatchCriteria)))
	}
	return &ec2.DescribeCapacityReservationsInput{
		Filters: append(filters, network.TagFilters(t.Tags)...), MaxResults: aws.Int32(1000),
	}
}

// kindOf returns the type of the reservation, which is default if EC2 returned none.
func kindOf(f ec2types.CapacityReservation) awsv1.CapacityReservationType {
	return awsv1.CapacityReservationType(cmp.Or(string(f.ReservationType), string(awsv1.CapacityReservationTypeDefault)))
}

// unknownKind returns an error if the type or the match criteria of the reservation are unknown, nil otherwise.
func unknownKind(f ec2types.CapacityReservation) error {
	switch kindOf(f) {
	case awsv1.CapacityReservationTypeDefault, awsv1.CapacityReservationTypeCapacityBlock:
	default:
		return fmt.Errorf("reservation %s has the unknown type %q", aws.ToString(f.CapacityReservationId), f.ReservationType)
	}
	switch f.InstanceMatchCriteria {
	case ec2types.InstanceMatchCriteriaOpen, ec2types.InstanceMatchCriteriaTargeted:
		return nil
	}
	return fmt.Errorf("reservation %s has the unknown instance match criteria %q", aws.ToString(f.CapacityReservationId), f.InstanceMatchCriteria)
}

// convert returns the reservation for the status of a class. It returns false if the reservation has ended or is of an
// unknown kind.
func convert(f ec2types.CapacityReservation, now time.Time) (awsv1.CapacityReservation, bool) {
	if unknownKind(f) != nil || f.CapacityReservationId == nil || f.EndDate != nil && !now.Before(*f.EndDate) {
		return awsv1.CapacityReservation{}, false
	}
	c := awsv1.CapacityReservation{
		ID: *f.CapacityReservationId, AvailabilityZone: aws.ToString(f.AvailabilityZone),
		InstanceType: aws.ToString(f.InstanceType), OwnerID: aws.ToString(f.OwnerId), InstanceMatchCriteria: string(f.InstanceMatchCriteria),
		ReservationType: kindOf(f), Interruptible: aws.ToBool(f.Interruptible), State: awsv1.CapacityReservationStateActive,
	}
	if f.EndDate != nil {
		end := metav1.NewTime(*f.EndDate)
		c.EndTime = &end
	}
	if Expiring(c, now) {
		c.State = awsv1.CapacityReservationStateExpiring
	}
	return c, true
}

// EndingBlocks returns which of the reservations are capacity blocks that end within 40 minutes (handover). It makes one call for
// each ID, because EC2 refuses a call if it does not know one of its IDs. With the error, it returns those that are known to end.
func (r *Reservations) EndingBlocks(ctx context.Context, ids []string) (map[string]bool, error) {
	out, now := map[string]bool{}, r.clock.Now()
	var errs []error
	for _, id := range ids {
		found, err := r.ask(ctx, []awsv1.CapacityReservationSelectorTerm{{ID: id}})
		errs = append(errs, err)
		for _, f := range found {
			if c, ok := convert(f, now); ok && Expiring(c, now) {
				out[c.ID] = true
			}
		}
	}
	return out, errors.Join(errs...)
}

// Expiring reports whether the reservation is a capacity block that ends within 40 minutes (handover).
func Expiring(c awsv1.CapacityReservation, now time.Time) bool {
	return c.ReservationType == awsv1.CapacityReservationTypeCapacityBlock && c.EndTime != nil &&
		!now.Before(c.EndTime.Add(-handover))
}

// Again returns the time after which Resolve should be called again: when the next reservation ends or becomes
// Expiring, at most a minute (life).
func Again(list []awsv1.CapacityReservation, now time.Time) time.Duration {
	next := life
	for _, c := range list {
		if c.EndTime == nil {
			continue
		}
		for _, at := range []time.Time{c.EndTime.Time, c.EndTime.Add(-handover)} {
			if left := at.Sub(now); left > 0 {
				next = min(next, left)
			}
		}
	}
	return next
}
