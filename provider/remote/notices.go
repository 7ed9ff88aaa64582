package remote

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

const (
	// noticeWait is the maximum time for which Receive waits for notices.
	noticeWait = 20 * time.Second
	// soon is the pause between two calls of Receive.
	soon = time.Millisecond
)

// notices is the source of the notices of the provider. State in memory may be lost, because the provider sends a batch
// again that was not acknowledged when the stream ended.
type notices struct {
	provider *Provider
	mu       sync.Mutex // guards stream
	stream   *noticeStream
}

// A noticeStream is one call of WatchNotices.
type noticeStream struct {
	cancel context.CancelFunc
	send   func(*cloudv1.WatchNoticesRequest) error
	batch  chan *cloudv1.WatchNoticesResponse
	ended  chan struct{} // closed when the stream has ended because of err
	err    error
}

// NoticeSources implements cloud.Notifier.
func (p *Provider) NoticeSources() []cloud.NoticeSource {
	if !p.info.Has(cloudv1.Capability_CAPABILITY_NOTICES) {
		return nil
	}
	return []cloud.NoticeSource{p.notices}
}

// Name implements cloud.NoticeSource.
func (n *notices) Name() string { return "interruption." + n.provider.Name() }

// Receive implements cloud.NoticeSource.
func (n *notices) Receive(ctx context.Context) (cloud.NoticeBatch, error) {
	s, err := n.opened()
	if err != nil {
		return cloud.NoticeBatch{}, err
	}
	timer := n.provider.config.Clock.NewTimer(noticeWait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return cloud.NoticeBatch{}, ctx.Err()
	case <-timer.C():
		return cloud.NoticeBatch{Next: soon}, nil
	case <-s.ended:
		n.drop(s)
		return cloud.NoticeBatch{}, fmt.Errorf("receive notices: %w", n.provider.said(s.err))
	case m := <-s.batch:
		return n.batch(ctx, s, m)
	}
}

// opened returns the open stream, or opens one.
func (n *notices) opened() (*noticeStream, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream != nil {
		return n.stream, nil
	}
	p := n.provider
	ctx, cancel := context.WithCancel(p.running)
	call, err := p.api.WatchNotices(ctx)
	if err == nil {
		err = call.Send(&cloudv1.WatchNoticesRequest{})
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open stream of notices: %w", p.said(err))
	}
	s := &noticeStream{
		cancel: cancel, send: call.Send, batch: make(chan *cloudv1.WatchNoticesResponse), ended: make(chan struct{}),
	}
	p.wait.Go(func() {
		defer close(s.ended)
		defer cancel()
		for {
			m, err := call.Recv()
			if err != nil {
				s.err = err
				p.heard(ctx, p.config.Clock.Now(), err)
				return
			}
			select {
			case s.batch <- m:
			case <-ctx.Done():
				s.err = ctx.Err()
				return
			}
		}
	})
	n.stream = s
	return s, nil
}

// drop ends the stream. The next Receive opens another one.
func (n *notices) drop(s *noticeStream) {
	s.cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stream == s {
		n.stream = nil
	}
}

// batch converts a batch. Invalid notices are counted and omitted, because they would be invalid again if the provider
// repeated them. If the batch has more than MaxNotices notices, batch ends the stream and returns an error.
func (n *notices) batch(ctx context.Context, s *noticeStream, m *cloudv1.WatchNoticesResponse) (cloud.NoticeBatch, error) {
	if len(m.GetNotices()) > wire.MaxNotices {
		n.drop(s)
		return cloud.NoticeBatch{}, n.provider.checked(wire.Reject(wire.TooMany, "a batch has more than %d notices", wire.MaxNotices))
	}
	out := cloud.NoticeBatch{Next: soon}
	var positions []uint32
	for at, in := range m.GetNotices() {
		notice, err := wire.ReadNotice(in)
		if n.provider.checked(err) != nil {
			continue
		}
		out.Notices, positions = append(out.Notices, notice), append(positions, uint32(at))
	}
	out.Acknowledge = func(_ context.Context, failed []cloud.Notice) error {
		answer := &cloudv1.WatchNoticesRequest{AcknowledgedBatch: m.GetBatch()}
		for k, notice := range out.Notices {
			if slices.ContainsFunc(failed, func(f cloud.Notice) bool { return f.Instance == notice.Instance && f.Node == notice.Node }) {
				answer.Failed = append(answer.Failed, positions[k])
			}
		}
		if err := s.send(answer); err != nil {
			n.drop(s)
			return fmt.Errorf("acknowledge notices: %w", n.provider.said(err))
		}
		return nil
	}
	if len(out.Notices) == 0 {
		return out, out.Acknowledge(nil, nil)
	}
	return n.bounded(ctx, out)
}

// unavailableFor is the time for which an offering counts as unavailable after a notice.
const unavailableFor = 3 * time.Minute

// MarkUnavailable implements cloud.Notifier. The provider is called in the background.
func (p *Provider) MarkUnavailable(claim *apiv1.NodeClaim, capacityType string) {
	p.shortages.add([]*cloudv1.OfferingKey{{
		InstanceType: claim.Labels[corev1.LabelInstanceTypeStable], Zone: claim.Labels[corev1.LabelTopologyZone], CapacityType: capacityType,
	}}, p.config.Clock.Now().Add(unavailableFor))
	text, err := manifest(claim)
	if err != nil {
		return
	}
	p.wait.Go(func() {
		request := &cloudv1.MarkUnavailableRequest{CapacityType: capacityType, Token: tokenOf(claim), NodeClaimJson: text}
		if _, err := call(p.running, p, "MarkUnavailable", shortCall, p.api.MarkUnavailable, request); err != nil {
			ctrl.LoggerFrom(p.running).Error(err, "failed to report a shortage to the provider", "provider", p.Name())
		}
	})
}
