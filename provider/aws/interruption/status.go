package interruption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
)

// StatusAPI is the part of EC2 that returns the status of instances.
type StatusAPI interface {
	DescribeInstanceStatus(context.Context, *ec2.DescribeInstanceStatusInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error)
}

var _ StatusAPI = (*ec2.Client)(nil)

const (
	pollEvery = time.Minute
	// lasting is the least time that a status check must have failed for the instance to be unhealthy.
	lasting = 2 * time.Minute
)

// scheduled are the types of events that reboot, stop or retire an instance.
var scheduled = []string{"instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"}

// A Breaker decides which instances of a poll may be terminated.
type Breaker interface {
	// Admit returns the IDs of the instances that may be terminated now. IDs of instances that are not Karpenter's are
	// omitted.
	Admit(ctx context.Context, ids map[string]bool) (map[string]bool, error)
}

// A Poller reads from EC2 which instances are unhealthy or stopped.
type Poller struct {
	API     StatusAPI
	Breaker Breaker
	Clock   clock.PassiveClock
	Meter   *Meter
}

var _ cloud.NoticeSource = (*Poller)(nil)

// Name implements cloud.NoticeSource.
func (*Poller) Name() string { return "interruption.instancestatus" }

// Receive reads the unhealthy and the stopped instances once. It is due again after a minute. Notices are not acknowledged, because
// an instance that is still unhealthy or stopped is found again in the next poll. Notices are omitted for unhealthy instances that
// the Breaker does not admit, as when too many instances are unhealthy at the same time. A stopped instance needs no Breaker: it
// runs no pods.
func (p *Poller) Receive(ctx context.Context) (cloud.NoticeBatch, error) {
	batch, err := p.poll(ctx)
	if err != nil {
		return cloud.NoticeBatch{}, err
	}
	ids := map[string]bool{}
	for _, n := range batch.Notices {
		ids[n.Instance] = true
	}
	if ids, err = p.Breaker.Admit(ctx, ids); err != nil {
		return cloud.NoticeBatch{}, brief(err)
	}
	batch.Notices = slices.DeleteFunc(batch.Notices, func(n cloud.Notice) bool { return !ids[n.Instance] })
	stopped, err := p.stopped(ctx)
	batch.Notices = append(batch.Notices, stopped...)
	return batch, err
}

// stopped returns notices of the instances of the account that are stopping or stopped. Without a queue, and if their messages were
// lost, nothing else reports them. EC2 lists them like running instances, so they do not count as gone.
func (p *Poller) stopped(ctx context.Context) (notices []cloud.Notice, err error) {
	pages := ec2.NewDescribeInstanceStatusPaginator(p.API, &ec2.DescribeInstanceStatusInput{
		IncludeAllInstances: aws.Bool(true),
		Filters:             []ec2types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"stopping", "stopped"}}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, brief(fmt.Errorf("describe status of stopped instances: %w", err))
		}
		for _, s := range page.InstanceStatuses {
			notices = append(notices, cloud.Notice{
				Kind: model.NoticeInstanceStopped, Instance: aws.ToString(s.InstanceId), Time: p.Clock.Now(), Message: messages[model.NoticeInstanceStopped],
			})
		}
	}
	return notices, nil
}

// poll returns notices of all unhealthy instances of the account.
func (p *Poller) poll(ctx context.Context) (cloud.NoticeBatch, error) {
	now := p.Clock.Now()
	batch := cloud.NoticeBatch{Next: pollEvery}
	for _, ask := range []struct {
		category, filter string
		values           []string
		kind             cloud.NoticeKind
	}{
		{"InstanceStatus", "instance-status.status", []string{"impaired"}, model.NoticeInstanceFailed},
		{"SystemStatus", "system-status.status", []string{"impaired"}, model.NoticeHostFailed},
		{"EventStatus", "event.code", scheduled, model.NoticeEventPending},
	} {
		ill := map[string]bool{}
		pages := ec2.NewDescribeInstanceStatusPaginator(p.API, &ec2.DescribeInstanceStatusInput{
			Filters: []ec2types.Filter{{Name: aws.String(ask.filter), Values: ask.values}},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return cloud.NoticeBatch{}, brief(fmt.Errorf("describe instance status: %w", err))
			}
			for _, s := range page.InstanceStatuses {
				if id := aws.ToString(s.InstanceId); unhealthy(s, ask.kind, now) {
					ill[id] = true
					batch.Notices = append(batch.Notices, cloud.Notice{Kind: ask.kind, Instance: id, Time: now, Message: messages[ask.kind]})
				}
			}
		}
		p.Meter.ill(ask.category, ill)
	}
	return batch, nil
}

func unhealthy(s ec2types.InstanceStatus, k cloud.NoticeKind, now time.Time) bool {
	switch k {
	case model.NoticeInstanceFailed:
		return failing(s.InstanceStatus, now)
	case model.NoticeHostFailed:
		return failing(s.SystemStatus, now)
	}
	for _, e := range s.Events {
		for _, code := range scheduled {
			if string(e.Code) == code && !over(aws.ToString(e.Description)) {
				return true
			}
		}
	}
	return false
}

// over reports whether the event is completed or cancelled. EC2 still lists such events.
func over(description string) bool {
	return strings.HasPrefix(description, "[Completed]") || strings.HasPrefix(description, "[Canceled]")
}

// failing reports whether one of the checks has failed for at least lasting.
func failing(s *ec2types.InstanceStatusSummary, now time.Time) bool {
	if s == nil {
		return false
	}
	for _, d := range s.Details {
		if d.Status == ec2types.StatusTypeFailed && d.ImpairedSince != nil && now.Sub(*d.ImpairedSince) >= lasting {
			return true
		}
	}
	return false
}
