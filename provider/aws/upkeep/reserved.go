package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/periodic"
	"github.com/karpenter-go/karpenter/provider/aws/reserve"
)

// reservedEvery is the interval at which nodes in capacity reservations are checked.
const reservedEvery = time.Minute

// Reservations updates claims and nodes in capacity reservations when EC2 changes their instances.
type Reservations struct {
	Instances Instances
	Client    client.Reader
	Writer    Writer
	Clock     clock.PassiveClock
}

// CapacityTypes returns the task that relabels claims and nodes that are not reserved any more. When a reservation ends, its
// instances continue to run as on-demand.
func (r *Reservations) CapacityTypes() periodic.Task {
	return periodic.Task{Label: "capacityreservation.capacitytype", Run: func(ctx context.Context) (time.Duration, error) {
		claims, err := r.claims(ctx)
		if err != nil {
			return 0, err
		}
		var nodes corev1.NodeList
		if err := r.Client.List(ctx, &nodes, reservedLabel); err != nil {
			return 0, fmt.Errorf("list nodes: %w", err)
		}
		if len(claims)+len(nodes.Items) == 0 {
			return reservedEvery, nil
		}
		list, err := r.Instances.List(ctx)
		if err != nil {
			return 0, err
		}
		onDemand := map[string]bool{}
		for _, i := range list {
			onDemand[i.ProviderID()] = i.CapacityType == apiv1.CapacityTypeOnDemand && !i.Ending()
		}
		return reservedEvery, r.demote(ctx, onDemand, claims, nodes.Items)
	}}
}

// reservedLabel selects claims and nodes that are labelled as reserved.
var reservedLabel = client.MatchingLabels{apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeReserved}

// claims returns the claims that are labelled as reserved and have an instance.
func (r *Reservations) claims(ctx context.Context) ([]*apiv1.NodeClaim, error) {
	var list apiv1.NodeClaimList
	if err := r.Client.List(ctx, &list, reservedLabel); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	var out []*apiv1.NodeClaim
	for i := range list.Items {
		if _, _, ok := instances.ParseProviderID(list.Items[i].Status.ProviderID); ok {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// demote relabels the claims and nodes whose instances, by provider ID, are on-demand. A node is relabelled also if its claim has been
// relabelled before, because the process may have stopped in between.
func (r *Reservations) demote(ctx context.Context, onDemand map[string]bool, claims []*apiv1.NodeClaim, nodes []corev1.Node) error {
	var errs []error
	for _, c := range claims {
		if onDemand[c.Status.ProviderID] {
			log.FromContext(ctx).Info("capacity reservation expired, node is on-demand now", "NodeClaim", klog.KRef("", c.Name),
				"capacity-reservation-id", c.Labels[awsv1.LabelCapacityReservationID])
			errs = append(errs, r.relabel(ctx, c))
		}
	}
	for i := range nodes {
		if onDemand[nodes[i].Spec.ProviderID] {
			errs = append(errs, r.relabel(ctx, &nodes[i]))
		}
	}
	return errors.Join(errs...)
}

func (r *Reservations) relabel(ctx context.Context, o client.Object) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("relabel %s %s: not an object", api.Kind(o), o.GetName())
	}
	labels := maps.Clone(o.GetLabels())
	for _, key := range []string{
		awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible,
	} {
		delete(labels, key)
	}
	labels[apiv1.CapacityTypeLabelKey] = apiv1.CapacityTypeOnDemand
	o.SetLabels(labels)
	if err := r.Writer.Merge(ctx, before, o); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("relabel %s: %w", o.GetName(), err)
	}
	return nil
}

// Blocks returns which of the capacity reservations are capacity blocks that end soon. It may return some of them together with an
// error.
type Blocks interface {
	EndingBlocks(ctx context.Context, ids []string) (map[string]bool, error)
}

// An Expiration is the source of notices for claims in capacity blocks that end soon, so that their pods move before
// EC2 terminates the instances.
type Expiration struct {
	Reservations
	// Blocks is called for blocks that no node class lists. The selector of a class may already have the next block, and with the
	// feature gate ReservedCapacity off no class lists any.
	Blocks Blocks

	last telemetry.LastError // of Blocks
}

var _ cloud.NoticeSource = &Expiration{}

// Name implements cloud.NoticeSource.
func (*Expiration) Name() string { return "capacityreservation.expiration" }

// Receive checks all reserved claims once.
func (e *Expiration) Receive(ctx context.Context) (cloud.NoticeBatch, error) {
	batch := cloud.NoticeBatch{Next: reservedEvery, Acknowledge: complain}
	claims, err := e.claims(ctx)
	if err != nil || len(claims) == 0 {
		return batch, err
	}
	var classes awsv1.EC2NodeClassList
	if err := e.Client.List(ctx, &classes); err != nil {
		return cloud.NoticeBatch{}, fmt.Errorf("list node classes: %w", err)
	}
	now, ends := e.Clock.Now(), map[string]bool{}
	for _, class := range classes.Items {
		for _, c := range class.Status.CapacityReservations {
			ends[c.ID] = ends[c.ID] || reserve.Expiring(c, now)
		}
	}
	unlisted, err := e.Blocks.EndingBlocks(ctx, unlistedBlocks(claims, ends))
	e.tell(ctx, err) // the other blocks must not wait for it
	maps.Copy(ends, unlisted)
	for _, c := range claims {
		if ends[c.Labels[awsv1.LabelCapacityReservationID]] {
			batch.Notices = append(batch.Notices, cloud.Notice{
				Kind: model.NoticeReservationExpired, Instance: c.Status.ProviderID, Time: now,
			})
		}
	}
	return batch, nil
}

// tell logs an error of Blocks if its text is new, and once an hour while it stays.
func (e *Expiration) tell(ctx context.Context, err error) {
	if err == nil {
		e.last.Succeeded()
		return
	}
	if text := fault.Brief(err); e.last.Failed(text, reservedEvery) {
		log.FromContext(ctx).Error(errors.New(text), "failed to read capacity blocks that no EC2NodeClass selects, retrying")
	}
}

// unlistedBlocks returns the IDs of the capacity blocks of the claims that are not in the map, in order.
func unlistedBlocks(claims []*apiv1.NodeClaim, listed map[string]bool) []string {
	ids := map[string]bool{}
	for _, c := range claims {
		id := c.Labels[awsv1.LabelCapacityReservationID]
		_, known := listed[id]
		if !known && id != "" && c.Labels[awsv1.LabelCapacityReservationType] == string(awsv1.CapacityReservationTypeCapacityBlock) {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// complain returns an error if actions failed, so that Receive is called again soon.
func complain(_ context.Context, failed []cloud.Notice) error {
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d claims in capacity blocks that end could not be deleted", len(failed))
}
