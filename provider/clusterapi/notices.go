package clusterapi

import (
	"context"
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

var _ cloud.Notifier = (*Provider)(nil)

// NoticeSources implements cloud.Notifier. The only source is the Machines.
func (p *Provider) NoticeSources() []cloud.NoticeSource {
	return []cloud.NoticeSource{machineNotices{p}}
}

// MarkUnavailable implements cloud.Notifier.
func (p *Provider) MarkUnavailable(claim *apiv1.NodeClaim, _ string) {
	if r, ok := recordOf(claim); ok {
		p.shortages.mark(offeringKey{r.Namespace, r.Cluster, r.Template, r.FailureDomain})
	}
}

// noticeEvery is the interval at which the conditions of Machines are read, from the cache.
const noticeEvery = 5 * time.Second

// machineNotices reads notices from Machines.
type machineNotices struct{ p *Provider }

// Name implements cloud.NoticeSource.
func (n machineNotices) Name() string { return "interruption.machine" }

// Receive implements cloud.NoticeSource. Failed health checks of too many Machines at the same time are withheld, because
// the network or the API server may be the cause (package withhold). Each call returns a notice while its cause exists.
// Repeated notices do no harm: once the claim is being deleted, further notices about it are ignored.
func (n machineNotices) Receive(ctx context.Context) (cloud.NoticeBatch, error) {
	batch := cloud.NoticeBatch{Next: noticeEvery}
	all, err := n.p.machines(ctx, n.p.config.Management.Cached)
	if err != nil {
		return cloud.NoticeBatch{}, err
	}
	var unhealthy []*machine
	var reports []model.Notice
	managed := 0
	for _, m := range all {
		if !m.ending() {
			managed++
		}
		switch notice, ok := noticeOf(m); {
		case ok && notice.Kind == model.NoticeScheduledChange:
			unhealthy, reports = append(unhealthy, m), append(reports, notice)
		case ok:
			batch.Notices = append(batch.Notices, notice)
		}
	}
	allowed, err := n.p.breaker.Admit(ctx, withhold.CauseStatus, classesOf(unhealthy), managed)
	if err != nil {
		return cloud.NoticeBatch{}, err
	}
	for i, m := range unhealthy {
		if allowed(m.class()) {
			batch.Notices = append(batch.Notices, reports[i])
		}
	}
	return batch, nil
}

// interruptionReasons match reasons and messages of machines that the infrastructure takes back.
var interruptionReasons = regexp.MustCompile(`(?i)\b(spot|preempt|interrupt|evict|reclaim|deallocat)`)

// infrastructureDeleted is the reason of InfrastructureReady if the infrastructure object of a provisioned Machine does not exist.
const infrastructureDeleted = "ObjectDeleted"

// noticeOf returns the notice about a Machine, and false if there is none. A Machine without a provider ID has none.
func noticeOf(m *machine) (model.Notice, bool) {
	if m.Spec.ProviderID == "" {
		return model.Notice{}, false
	}
	n := model.Notice{Instance: m.Spec.ProviderID}
	if m.ending() {
		// Without the hook, the deletion is one of this provider, or the hook was removed by hand.
		if _, held := m.Metadata.Annotations[endHook]; !held {
			return n, false
		}
		n.Kind, n.Time = model.NoticeInstanceTerminated, m.Metadata.DeletionTimestamp.Time
		n.Message = fmt.Sprintf("Machine %s/%s is being deleted, but not by Karpenter", m.Metadata.Namespace, m.Metadata.Name)
		return n, true
	}
	for _, c := range []metav1.Condition{m.condition("InfrastructureReady"), m.condition("HealthCheckSucceeded")} {
		if c.Status != metav1.ConditionFalse {
			continue
		}
		n.Time = c.LastTransitionTime.Time
		n.Message = fmt.Sprintf("Machine %s/%s: condition %s is False: %s: %s", m.Metadata.Namespace, m.Metadata.Name, c.Type, c.Reason, c.Message)
		text := c.Reason + " " + c.Message
		switch {
		case c.Type == "HealthCheckSucceeded":
			n.Kind = model.NoticeScheduledChange
		case interruptionReasons.MatchString(text):
			n.Kind = model.NoticeSpotInterrupted
		case c.Reason == infrastructureDeleted:
			n.Kind = model.NoticeInstanceTerminated
		default:
			continue // the machine may become ready again; repair replaces a node that does not
		}
		return n, true
	}
	return n, false
}

// claimUID returns the UID of the claim for which an object was created.
func claimUID(labels map[string]string) string { return labels[clusterapiv1alpha1.ClaimUIDLabelKey] }
