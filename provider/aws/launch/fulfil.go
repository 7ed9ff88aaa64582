package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

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

// errCalledOff is the error for claims that were omitted from a fleet call because they are being deleted.
var errCalledOff = errors.New("NodeClaim is being deleted: no instance is launched for it")

// fulfil makes one fleet call for orders with equal parameters. Claims that are deleted or being deleted are omitted.
func (l *Launcher) fulfil(ctx context.Context, orders []*order) []batch.Result[instances.Instance] {
	out := make([]batch.Result[instances.Instance], len(orders))
	var given map[types.UID]instances.Instance
	record, kept, err := l.record(ctx, orders)
	if err == nil && len(kept) > 0 {
		given, err = l.once(ctx, kept, record)
		l.memory.end(record.Token)
	}
	for n, o := range orders {
		i, ok := given[o.Claim.UID]
		switch {
		case ok:
			out[n].Value = i
			o.pick.Settle(i.SubnetID)
			continue
		case slices.Contains(kept, o):
			out[n].Err = cmp.Or(err, error(launchError(errNothing)))
		default:
			out[n].Err = cmp.Or(err, errCalledOff)
		}
		o.pick.Settle()
	}
	return out
}

// once makes the recorded call and assigns its instances to the claims. Claims without an instance get the error.
func (l *Launcher) once(ctx context.Context, orders []*order, record Record) (map[types.UID]instances.Instance, error) {
	first := orders[0]
	l.report(ctx, first)
	out, err := l.Fleet.CreateFleet(ctx, first.call(record.Token, record.Count))
	switch {
	case fault.Code(err) == fault.NoLaunchTemplate:
		l.memory.settle(record.Token)
		return nil, &templatesGoneError{names: first.names(), err: err}
	case err != nil:
		if refused(err) {
			l.memory.settle(record.Token)
		}
		return nil, launchError(fmt.Errorf("create fleet: %w", err))
	}
	made := l.read(ctx, first, out, record.Token)
	l.blame(orders, out.Errors)
	given, err := l.share(ctx, orders, record, made)
	if err != nil {
		return nil, err // the outcome is not known: instances are found later by the token
	}
	if len(made) < record.Count {
		l.memory.settle(record.Token)
	}
	return given, outcomeError(out.Errors)
}

// refused reports whether the error proves that EC2 launched nothing. Server errors and throttling do not prove that.
func refused(err error) bool {
	return fault.Code(err) != "" && !fault.Server(err) && !fault.Throttled(err)
}

// record stores a record of the call on the claims of the orders. It returns the record and the orders of the call.
// Claims that are deleted or being deleted are omitted. The token depends on the claims, so the remaining claims then
// get a new record. If an earlier call is repeated, only the time of its record changes.
func (l *Launcher) record(ctx context.Context, orders []*order) (Record, []*order, error) {
	if orders[0].repeat != nil {
		return l.recordRepeat(ctx, orders)
	}
	for {
		orders = l.memory.wanted(orders)
		if len(orders) == 0 {
			return Record{}, nil, nil
		}
		r, claims := l.draft(orders)
		gone, err := l.Ledger.Record(ctx, claims, map[string]string{AnnotationLaunch: r.String()})
		if err == nil && len(gone) == 0 && l.memory.send(orders, r) {
			return r, orders, nil
		}
		var elsewhere interface{ RecordedElsewhere() string }
		if !errors.As(err, &elsewhere) { // otherwise the other process may have made a call with the same token
			l.memory.settle(r.Token) // some claims may have the token now, but no call is made with it
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
		l.update(o.Claim)
	}
	gone, err := l.Ledger.Record(ctx, claims, map[string]string{AnnotationLaunch: r.String()})
	if err != nil {
		return Record{}, nil, fmt.Errorf("record repeated launch: %w", err)
	}
	orders = slices.DeleteFunc(slices.Clone(orders), func(o *order) bool { return slices.Contains(gone, o.Claim) })
	if len(orders) > 0 {
		l.memory.send(orders, r)
	}
	return r, orders, nil
}

// draft returns a record of a new call for the orders, and the claims of the orders.
func (l *Launcher) draft(orders []*order) (Record, []*apiv1.NodeClaim) {
	attempt := 1
	uids := make([]types.UID, len(orders))
	claims := make([]*apiv1.NodeClaim, len(orders))
	for n, o := range orders {
		uids[n], claims[n] = o.Claim.UID, o.Claim
		if old, ok := l.update(o.Claim); ok {
			attempt = max(attempt, old.Attempt+1)
		}
	}
	return newRecord(uids, attempt, orders[0].params, l.Clock.Now()), claims
}

// update returns the newest record of the claim and sets it on the claim. The claim may have been read before this process
// recorded its last call. Without update, the ledger would take that record for one of another process.
func (l *Launcher) update(claim *apiv1.NodeClaim) (Record, bool) {
	r, ok := l.memory.record(claim)
	if stored, _ := RecordOf(claim); ok && (stored.Token != r.Token || !stored.Time.Equal(r.Time)) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, AnnotationLaunch, r.String())
	}
	return r, ok
}

// read returns the instances in the response to a fleet call, in order of ID.
func (l *Launcher) read(ctx context.Context, o *order, out *ec2.CreateFleetOutput, token string) []instances.Instance {
	var made []instances.Instance
	for _, f := range out.Instances {
		for _, id := range f.InstanceIds {
			i := instances.Instance{
				ID: id, Type: string(f.InstanceType), State: "pending", CapacityType: o.choice.CapacityType,
				Tenancy: o.choice.Tenancy, Launched: l.Clock.Now(), Tags: map[string]string{},
			}
			for k, v := range o.Tags {
				i.Tags[k] = v
			}
			i.Tags[instances.TagLaunch] = token
			for _, g := range o.Class.Status.SecurityGroups {
				i.SecurityGroups = append(i.SecurityGroups, g.ID)
			}
			if o.Group != nil {
				i.Group = o.Group.ID
				if n, err := strconv.Atoi(o.choice.Partition); err == nil {
					i.Partition = n
				}
			}
			if t := f.LaunchTemplateAndOverrides; t != nil && t.Overrides != nil {
				i.Zone, i.SubnetID = aws.ToString(t.Overrides.AvailabilityZone), aws.ToString(t.Overrides.SubnetId)
				i.ImageID = aws.ToString(t.Overrides.ImageId)
				i.Type = cmp.Or(i.Type, string(t.Overrides.InstanceType))
			}
			i = l.complete(ctx, o, i)
			i.EFAs = o.efasOf(i.Type)
			if i.Reservation = o.draws(i.Type, i.Zone); i.Reservation.ID != "" {
				l.Reserved.Launched(i.Reservation.ID)
			}
			made = append(made, i)
		}
	}
	slices.SortFunc(made, func(a, b instances.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return made
}

// complete returns i with the values that the response to the fleet call lacks. The zone comes from the node class's
// subnets. If values are still missing, it calls EC2. If that fails, the values stay empty.
func (l *Launcher) complete(ctx context.Context, o *order, i instances.Instance) instances.Instance {
	for _, n := range o.Class.Status.Subnets {
		if n.ID == i.SubnetID {
			i.Zone, i.ZoneID = n.Zone, n.ZoneID
		}
	}
	if i.Zone != "" && i.Type != "" && i.ImageID != "" {
		return i
	}
	full, err := l.Finder.Get(ctx, i.ID)
	if err != nil {
		log.FromContext(ctx).Info("launched instance is not described by EC2 yet", "instance-id", i.ID, "error", err.Error())
		return i
	}
	return full
}

// share assigns the instances to the claims with the token, and returns the assignments of the claims of the orders.
func (l *Launcher) share(
	ctx context.Context, orders []*order, r Record, made []instances.Instance,
) (map[types.UID]instances.Instance, error) {
	carriers := make([]Carrier, len(orders))
	for n, o := range orders {
		carriers[n].UID = o.Claim.UID
	}
	if orders[0].repeat != nil { // other claims may have the token, too
		var claims apiv1.NodeClaimList
		if err := l.Claims.List(ctx, &claims); err != nil {
			return nil, fmt.Errorf("list claims: %w", err)
		}
		carriers = l.memory.known(Carriers(r.Token, claims.Items))
	}
	given := Assign(carriers, ids(made))
	out := map[types.UID]instances.Instance{}
	for _, o := range orders {
		if at, ok := slices.BinarySearchFunc(made, given[o.Claim.UID], byID); ok {
			out[o.Claim.UID] = made[at]
			l.memory.give(o.Claim.UID, made[at])
		}
	}
	return out, nil
}

// errNotLaunched is the first part of the error of a fleet call that launched no instance for a claim.
var errNotLaunched = errors.New("EC2 launched nothing")
