package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/batch"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// errCancelled is the error for claims that were omitted from a fleet call because they are being deleted.
var errCancelled = errors.New("NodeClaim is being deleted: no instance is launched for it")

// launchOrders is the batched call of send. It makes one fleet call for orders with equal parameters. Claims that are deleted or
// being deleted are omitted.
func (l *Launcher) launchOrders(ctx context.Context, orders []*order) []batch.Result[instances.Instance] {
	out := make([]batch.Result[instances.Instance], len(orders))
	var result fleetResult
	record, kept, err := l.recordCall(ctx, orders)
	if err == nil && len(kept) > 0 {
		result = l.createFleet(ctx, kept, record)
		l.cache.setEnded(record.Token)
	}
	for n, o := range orders {
		i, ok := result.launched[o.Claim.UID]
		switch {
		case ok:
			out[n].Value = i
			o.subnets.Settle(i.SubnetID)
			continue
		case err != nil:
			out[n].Err = err
		case slices.Contains(kept, o):
			out[n].Err = result.err
		default:
			out[n].Err = errCancelled
		}
		o.subnets.Settle()
	}
	return out
}

// A fleetResult is the result of one fleet call for its claims.
type fleetResult struct {
	launched map[types.UID]instances.Instance // by claim
	err      error                            // for the claims without an instance, never nil after a call
}

// createFleet makes the recorded call and assigns its instances to the claims.
func (l *Launcher) createFleet(ctx context.Context, orders []*order, record Record) fleetResult {
	first := orders[0]
	l.logChoice(ctx, first)
	out, err := l.Fleet.CreateFleet(ctx, first.inputFor(record))
	switch {
	case fault.Code(err) == fault.NoLaunchTemplate:
		l.cache.setOutcomeKnown(record.Token)
		return fleetResult{err: &templatesGoneError{names: first.templateNames(), err: err}}
	case err != nil:
		if refused(err) {
			l.cache.setOutcomeKnown(record.Token)
		}
		return fleetResult{err: launchError(fmt.Errorf("create fleet: %w", err))}
	}
	made := l.readInstances(ctx, first, out, record.Token)
	l.recordErrors(orders, out.Errors)
	launched, err := l.assignInstances(ctx, orders, record, made)
	if err != nil {
		return fleetResult{err: err} // the outcome is not known: instances are found later by the token
	}
	if len(made) < record.Count {
		l.cache.setOutcomeKnown(record.Token)
	}
	return fleetResult{launched: launched, err: outcomeError(out.Errors)}
}

// refused reports whether the error proves that EC2 launched nothing. Server errors and throttling do not prove that.
func refused(err error) bool {
	return fault.Code(err) != "" && !fault.Server(err) && !fault.Throttled(err)
}

// recordCall stores a record of the call on the claims of the orders, before the call is made. It returns the record and the
// orders of the call. Claims that are deleted or being deleted are omitted. The token depends on the claims, so the remaining
// claims then get a new record. If an earlier call is repeated, only the time of its record changes.
func (l *Launcher) recordCall(ctx context.Context, orders []*order) (Record, []*order, error) {
	if orders[0].repeat != nil {
		return l.recordRepeat(ctx, orders)
	}
	for {
		orders = l.cache.notCancelled(orders)
		if len(orders) == 0 {
			return Record{}, nil, nil
		}
		r, claims := l.newCall(orders)
		gone, err := l.Ledger.Record(ctx, claims, map[string]string{AnnotationLaunch: r.String()})
		if err == nil && len(gone) == 0 && l.cache.setSent(orders, r) {
			return r, orders, nil
		}
		var elsewhere interface{ RecordedElsewhere() string }
		if !errors.As(err, &elsewhere) { // otherwise the other process may have made a call with the same token
			l.cache.setOutcomeKnown(r.Token) // some claims may have the token now, but no call is made with it
		}
		if err != nil {
			return Record{}, nil, fmt.Errorf("record launch: %w", err)
		}
		orders = slices.DeleteFunc(orders, func(o *order) bool { return slices.Contains(gone, o.Claim) })
	}
}

// recordRepeat stores the time of a repeated call on the claims of the orders. It fails if another process has recorded a call
// for one of them, so a process that was paused does not repeat a call that another one has given up. The count stays the same
// if claims are omitted, because EC2 refuses the token with another count. Garbage collection terminates the surplus instances.
func (l *Launcher) recordRepeat(ctx context.Context, orders []*order) (Record, []*order, error) {
	r := *orders[0].repeat
	r.Time = timeOfRecord(l.Clock.Now()) // the repeated call may launch its instances only now
	claims := make([]*apiv1.NodeClaim, len(orders))
	for n, o := range orders {
		claims[n] = o.Claim
		l.syncRecord(o.Claim)
	}
	gone, err := l.Ledger.Record(ctx, claims, map[string]string{AnnotationLaunch: r.String()})
	if err != nil {
		return Record{}, nil, fmt.Errorf("record repeated launch: %w", err)
	}
	orders = slices.DeleteFunc(slices.Clone(orders), func(o *order) bool { return slices.Contains(gone, o.Claim) })
	if len(orders) > 0 {
		l.cache.setSent(orders, r)
	}
	return r, orders, nil
}

// newCall returns a record of a new call for the orders, and the claims of the orders with their newest records.
func (l *Launcher) newCall(orders []*order) (Record, []*apiv1.NodeClaim) {
	attempt := 1
	uids := make([]types.UID, len(orders))
	claims := make([]*apiv1.NodeClaim, len(orders))
	for n, o := range orders {
		uids[n], claims[n] = o.Claim.UID, o.Claim
		if old, ok := l.syncRecord(o.Claim); ok {
			attempt = max(attempt, old.Attempt+1)
		}
	}
	r := newRecord(uids, attempt, orders[0].params, l.Clock.Now())
	r.Source = orders[0].Source
	return r, claims
}

// syncRecord sets the newest record of the claim on this copy of the claim, and returns it. The claim may have been read before
// this process recorded its last call. Without syncRecord, the ledger would take that record for one of another process.
func (l *Launcher) syncRecord(claim *apiv1.NodeClaim) (Record, bool) {
	r, ok := l.cache.record(claim)
	if stored, _ := RecordOf(claim); ok && (stored.Token != r.Token || !stored.Time.Equal(r.Time)) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, AnnotationLaunch, r.String())
	}
	return r, ok
}

// readInstances returns the instances in the response to the order's fleet call, in order of ID. If the response lacks values of an
// instance, it reads the instance from EC2. Instances in capacity reservations are counted there.
func (l *Launcher) readInstances(ctx context.Context, o *order, out *ec2.CreateFleetOutput, token string) []instances.Instance {
	made := o.instancesIn(out, token, l.Clock.Now())
	for n := range made {
		i := l.complete(ctx, made[n])
		i.EFAs = o.efasOf(i.Type)
		i.Reservation = o.reservationFor(i.Type, i.Zone)
		if i.Reservation.ID != "" {
			l.Reserved.Launched(i.Reservation.ID)
		}
		made[n] = i
	}
	slices.SortFunc(made, func(a, b instances.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return made
}

// instancesIn returns the instances in the response to the order's fleet call, with the values that the response, the order and
// the subnets of the class have.
func (o *order) instancesIn(out *ec2.CreateFleetOutput, token string, now time.Time) []instances.Instance {
	common := instances.Instance{
		State: "pending", CapacityType: o.choice.CapacityType, Tenancy: o.choice.Tenancy, Launched: now,
	}
	if o.PlacementGroup != nil {
		common.Group = o.PlacementGroup.ID
		common.Partition, _ = strconv.Atoi(o.choice.Partition) // 0 if EC2 chooses the partition
	}
	var made []instances.Instance
	for _, f := range out.Instances {
		for _, id := range f.InstanceIds {
			i := common
			i.ID, i.Type = id, string(f.InstanceType)
			i.Tags = map[string]string{}
			maps.Copy(i.Tags, o.Tags)
			i.Tags[instances.TagLaunch] = token
			for _, g := range o.Class.Status.SecurityGroups {
				i.SecurityGroups = append(i.SecurityGroups, g.ID)
			}
			if t := f.LaunchTemplateAndOverrides; t != nil && t.Overrides != nil {
				i.Zone, i.SubnetID = aws.ToString(t.Overrides.AvailabilityZone), aws.ToString(t.Overrides.SubnetId)
				i.ImageID = aws.ToString(t.Overrides.ImageId)
				i.Type = cmp.Or(i.Type, string(t.Overrides.InstanceType))
			}
			for _, n := range o.Class.Status.Subnets {
				if n.ID == i.SubnetID {
					i.Zone, i.ZoneID = n.Zone, n.ZoneID
				}
			}
			made = append(made, i)
		}
	}
	return made
}

// complete returns i as EC2 describes it, if i lacks its zone, type or image. If that fails, the values stay empty.
func (l *Launcher) complete(ctx context.Context, i instances.Instance) instances.Instance {
	if i.Zone != "" && i.Type != "" && i.ImageID != "" {
		return i
	}
	full, err := l.Instances.Get(ctx, i.ID)
	if err != nil {
		log.FromContext(ctx).Info("launched instance is not described by EC2 yet", "instance-id", i.ID, "error", err.Error())
		return i
	}
	return full
}

// assignInstances assigns the instances of a call to the claims with its token. It caches and returns the assignments of the claims
// of the orders.
func (l *Launcher) assignInstances(
	ctx context.Context, orders []*order, r Record, made []instances.Instance,
) (map[types.UID]instances.Instance, error) {
	claims := make([]callClaim, len(orders))
	for n, o := range orders {
		claims[n].UID = o.Claim.UID
	}
	if orders[0].repeat != nil { // other claims may have the token, too
		var err error
		if claims, err = l.listCallClaims(ctx, r.Token); err != nil {
			return nil, err
		}
	}
	assigned := assign(claims, ids(made))
	out := map[types.UID]instances.Instance{}
	for _, o := range orders {
		if at, ok := slices.BinarySearchFunc(made, assigned[o.Claim.UID], byID); ok {
			out[o.Claim.UID] = made[at]
			l.cache.setInstance(o.Claim.UID, made[at])
		}
	}
	return out, nil
}
