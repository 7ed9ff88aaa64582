package aws

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/interruption"
	"github.com/karpenter-go/karpenter/provider/aws/upkeep"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

// NoticeSources implements cloud.Notifier. The sources are the interruption queue if there is one, status checks, and
// capacity blocks that end. Nodes in blocks may exist from a time when the feature gate ReservedCapacity was on.
func (p *Provider) NoticeSources() []cloud.NoticeSource {
	c := p.config
	sources := []cloud.NoticeSource{
		&interruption.Poller{API: p.compute, Breaker: statusBreaker{p}, Clock: c.Clock, Meter: p.interrupted},
	}
	if name := c.Settings.InterruptionQueue; name != "" {
		consumer := interruption.NewConsumer(sqs.NewFromConfig(c.AWS), name, c.Clock, p.interrupted)
		consumer.Rebalance = c.Settings.ReplaceOnRebalance
		sources = append(sources, consumer)
	}
	return append(sources, &upkeep.Expiration{Reservations: *p.reservations(), Blocks: p.reserved})
}

// A statusBreaker bounds how many instances are terminated at the same time because of status checks and scheduled events.
type statusBreaker struct{ p *Provider }

// Admit implements interruption.Breaker. EC2 reports all instances of the account. Instances that are not Karpenter's
// are ignored.
func (b statusBreaker) Admit(ctx context.Context, ids map[string]bool) (map[string]bool, error) {
	var managed, chosen []instances.Instance
	if len(ids) > 0 {
		list, err := b.p.instances.List(ctx)
		if err != nil {
			return nil, err
		}
		managed = slices.DeleteFunc(list, instances.Instance.Ending)
		chosen = slices.DeleteFunc(slices.Clone(managed), func(i instances.Instance) bool { return !ids[i.ID] })
	}
	allowed, err := b.p.breaker.Admit(ctx, withhold.CauseStatus, instances.ClassesOf(chosen), len(managed))
	if err != nil {
		return nil, err
	}
	admitted := map[string]bool{}
	for _, i := range chosen {
		admitted[i.ID] = allowed(i.Class())
	}
	return admitted, nil
}

// nodeClasses returns all EC2NodeClasses.
func (p *Provider) nodeClasses(ctx context.Context) (out []client.Object, err error) {
	var classes awsv1.EC2NodeClassList
	if err := p.config.Client.List(ctx, &classes); err != nil {
		return nil, err
	}
	for i := range classes.Items {
		out = append(out, &classes.Items[i])
	}
	return out, nil
}

// warnWithheld publishes the event about terminations that are withheld.
func (p *Provider) warnWithheld(about client.Object, message string) {
	p.config.Recorder.Event(about, corev1.EventTypeWarning, telemetry.EventTerminationWithheld, message)
}

// PricesCurrent implements cloud.Pricer.
func (p *Provider) PricesCurrent() bool {
	return p.prices.Current(p.config.Clock.Now()) && p.paid.Current()
}

// MarkUnavailable implements cloud.Notifier.
func (p *Provider) MarkUnavailable(claim *apiv1.NodeClaim, capacityType string) {
	l := claim.Labels
	if capacityType != apiv1.CapacityTypeReserved {
		p.shortages.MarkOffering(l[corev1.LabelInstanceTypeStable], l[corev1.LabelTopologyZone], capacityType, catalog.Place{})
		return
	}
	if id := l[awsv1.LabelCapacityReservationID]; id != "" {
		p.shortages.MarkReservation(l[corev1.LabelInstanceTypeStable], l[corev1.LabelTopologyZone], id)
	}
}
