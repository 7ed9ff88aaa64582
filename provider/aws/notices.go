package aws

import (
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/interruption"
	"github.com/karpenter-go/karpenter/provider/aws/upkeep"
)

// NoticeSources implements cloud.Notifier: the queue, if there is one, status checks, and reservations that end.
func (p *Provider) NoticeSources() []cloud.NoticeSource {
	c := p.config
	sources := []cloud.NoticeSource{
		&interruption.Poller{API: p.compute, Clock: c.Clock, Meter: p.interrupted},
	}
	if name := c.Settings.InterruptionQueue; name != "" {
		sources = append(sources, interruption.NewConsumer(sqs.NewFromConfig(c.AWS), name, c.Clock, p.interrupted))
	}
	if c.Settings.ReservedCapacity {
		sources = append(sources, upkeep.Expiration{Reservations: *p.reservations()})
	}
	return sources
}

// MarkUnavailable implements cloud.Notifier.
func (p *Provider) MarkUnavailable(claim *apiv1.NodeClaim, capacityType string) {
	l := claim.Labels
	if capacityType != apiv1.CapacityTypeReserved {
		p.shortages.MarkOffering(l[corev1.LabelInstanceTypeStable], l[corev1.LabelTopologyZone], capacityType, "")
		return
	}
	if id := l[awsv1.LabelCapacityReservationID]; id != "" {
		p.reserved.Full(id)
	}
}
