package interruption

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

// StatusAPI is the part of EC2 that tells how instances are.
type StatusAPI interface {
	DescribeInstanceStatus(context.Context, *ec2.DescribeInstanceStatusInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error)
}

var _ StatusAPI = (*ec2.Client)(nil)

const (
	pollEvery = time.Minute
	// lasting is how long a check must have failed before it counts.
	lasting = 2 * time.Minute
)

// scheduled are the events after which an instance is not what it was.
var scheduled = []string{"instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"}

// A Poller asks EC2 which instances are unhealthy.
type Poller struct {
	API      StatusAPI
	Releaser *Releaser
}

// Task polls once a minute.
func (p *Poller) Task() periodic.Task {
	return periodic.Task{Label: "interruption.instancestatus", Run: func(ctx context.Context) (time.Duration, error) {
		return pollEvery, p.Poll(ctx)
	}}
}

// Poll asks once, and lets the claims of what is unhealthy go. What fails is tried again by the next poll.
func (p *Poller) Poll(ctx context.Context) error {
	now := p.Releaser.Clock.Now()
	var notices []notice
	for _, ask := range []struct {
		category, filter string
		values           []string
		kind             Kind
	}{
		{"InstanceStatus", "instance-status.status", []string{"impaired"}, InstanceStatusFailed},
		{"SystemStatus", "system-status.status", []string{"impaired"}, SystemStatusFailed},
		{"EventStatus", "event.code", scheduled, ScheduledEventPending},
	} {
		ill := map[string]bool{}
		pages := ec2.NewDescribeInstanceStatusPaginator(p.API, &ec2.DescribeInstanceStatusInput{
			Filters: []ec2types.Filter{{Name: aws.String(ask.filter), Values: ask.values}},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("describe instance status: %w", err)
			}
			for _, s := range page.InstanceStatuses {
				if id := aws.ToString(s.InstanceId); unhealthy(s, ask.kind, now) {
					ill[id] = true
					notices = append(notices, notice{instance: id, kind: ask.kind, time: now})
				}
			}
		}
		p.Releaser.Meter.ill(ask.category, ill)
	}
	_, err := p.Releaser.release(ctx, notices)
	return err
}

func unhealthy(s ec2types.InstanceStatus, k Kind, now time.Time) bool {
	switch k {
	case InstanceStatusFailed:
		return failing(s.InstanceStatus, now)
	case SystemStatusFailed:
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

// over reports whether EC2 keeps the event only as history.
func over(description string) bool {
	return strings.HasPrefix(description, "[Completed]") || strings.HasPrefix(description, "[Canceled]")
}

// failing reports whether one of the checks has failed for long.
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
