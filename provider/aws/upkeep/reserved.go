package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
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

// CapacityTypes returns the task that relabels nodes that are not reserved any more. When a reservation ends, its
// instances continue to run as on-demand.
func (r *Reservations) CapacityTypes() periodic.Task {
	return periodic.Task{Label: "capacityreservation.capacitytype", Run: func(ctx context.Context) (time.Duration, error) {
		claims, err := r.claims(ctx)
		if err != nil || len(claims) == 0 {
			return reservedEvery, err
		}
		list, err := r.Instances.List(ctx)
		if err != nil {
			return 0, err
		}
		onDemand := map[string]bool{}
		for _, i := range list {
			onDemand[i.ProviderID()] = i.CapacityType == apiv1.CapacityTypeOnDemand && !i.Ending()
		}
		var errs []error
		for _, c := range claims {
			if onDemand[c.Status.ProviderID] {
				errs = append(errs, r.demote(ctx, c))
			}
		}
		return reservedEvery, errors.Join(errs...)
	}}
}

// claims returns the claims that are labelled as reserved and have an instance.
func (r *Reservations) claims(ctx context.Context) ([]*apiv1.NodeClaim, error) {
	var list apiv1.NodeClaimList
	err := r.Client.List(ctx, &list, client.MatchingLabels{apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeReserved})
	if err != nil {
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

func (r *Reservations) demote(ctx context.Context, claim *apiv1.NodeClaim) error {
	log.FromContext(ctx).Info("capacity reservation expired, node is on-demand now", "NodeClaim", klog.KRef("", claim.Name),
		"capacity-reservation-id", claim.Labels[awsv1.LabelCapacityReservationID])
	if err := r.relabel(ctx, claim); err != nil {
		return err
	}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes, client.MatchingLabels{apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeReserved}); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		if nodes.Items[i].Spec.ProviderID == claim.Status.ProviderID {
			return r.relabel(ctx, &nodes.Items[i])
		}
	}
	return nil
}

func (r *Reservations) relabel(ctx context.Context, o client.Object) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("relabel %s: %T is no object", o.GetName(), o)
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

// An Expiration is the source of notices for claims in capacity blocks that end soon, so that their pods move before
// EC2 terminates the instances.
type Expiration struct{ Reservations }

var _ cloud.NoticeSource = Expiration{}

// Name implements cloud.NoticeSource.
func (Expiration) Name() string { return "capacityreservation.expiration" }

// Receive checks all reserved claims once.
func (e Expiration) Receive(ctx context.Context) (cloud.NoticeBatch, error) {
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
	for _, c := range claims {
		if ends[c.Labels[awsv1.LabelCapacityReservationID]] {
			batch.Notices = append(batch.Notices, cloud.Notice{
				Kind: model.NoticeReservationExpired, Instance: c.Status.ProviderID, Time: now,
			})
		}
	}
	return batch, nil
}

// complain returns an error if actions failed, so that Receive is called again soon.
func complain(_ context.Context, failed []cloud.Notice) error {
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d claims in capacity blocks that end could not be deleted", len(failed))
}
