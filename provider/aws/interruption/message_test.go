package interruption

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Bodies are as the EventBridge reference shows them, with ids cut short.
const (
	spotWarning = `{"version":"0","id":"12345678-1234-1234-1234-123456789012","detail-type":"EC2 Spot Instance Interruption Warning",
		"source":"aws.ec2","account":"123456789012","time":"2026-11-21T12:00:00Z","region":"us-east-2",
		"resources":["arn:aws:ec2:us-east-2a:instance/i-1"],"detail":{"instance-id":"i-1","instance-action":"terminate"}}`
	healthEvent = `{"version":"0","id":"7bf73129-1428-4cd3-a780-95db273d1602","detail-type":"AWS Health Event","source":"aws.health",
		"account":"123456789012","time":"2026-11-21T12:00:00Z","region":"us-west-2","resources":["i-1","i-2"],
		"detail":{"eventArn":"arn:aws:health:us-west-2::event/x","service":%q,"eventTypeCode":"AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED",
		"eventTypeCategory":%q,"startTime":"Sat, 21 Nov 2026 15:05:43 GMT","endTime":"","eventDescription":[{"language":"en_US","latestDescription":"x"}],
		"affectedEntities":[{"entityValue":"i-1","tags":{}},{"entityValue":"i-2"}]}}`
	ec2Event = `{"version":"0","id":"x","detail-type":%q,"source":"aws.ec2","time":"2026-11-21T12:00:00Z","resources":[],
		"detail":{"instance-id":"i-1","state":%q}}`
)

func TestParse(t *testing.T) {
	state := func(s string) string { return fmt.Sprintf(ec2Event, "EC2 Instance State-change Notification", s) }
	for _, tt := range []struct {
		name, body string
		kind       cloud.NoticeKind
		instances  []string
		bad        bool
	}{
		{"spot warning", spotWarning, model.NoticeSpotInterrupted, []string{"i-1"}, false},
		{"rebalance", fmt.Sprintf(ec2Event, "EC2 Instance Rebalance Recommendation", ""), model.NoticeRebalance, []string{"i-1"}, false},
		{"reservation", fmt.Sprintf(ec2Event, "EC2 Capacity Reservation Instance Interruption Warning", ""), model.NoticeReservationReclaimed, []string{"i-1"}, false},
		{"maintenance of two", fmt.Sprintf(healthEvent, "EC2", "scheduledChange"), model.NoticeScheduledChange, []string{"i-1", "i-2"}, false},
		{"news of another service", fmt.Sprintf(healthEvent, "RDS", "scheduledChange"), NoOp, nil, false},
		{"news that change nothing", fmt.Sprintf(healthEvent, "EC2", "accountNotification"), NoOp, nil, false},
		{"stopping", state("stopping"), model.NoticeInstanceStopped, []string{"i-1"}, false},
		{"stopped, loudly", state("STOPPED"), model.NoticeInstanceStopped, []string{"i-1"}, false},
		{"shutting down", state("shutting-down"), model.NoticeInstanceTerminated, []string{"i-1"}, false},
		{"terminated", state("Terminated"), model.NoticeInstanceTerminated, []string{"i-1"}, false},
		{"running", state("running"), NoOp, nil, false},
		{"another kind of event", fmt.Sprintf(ec2Event, "EC2 Fleet Instance Change", ""), NoOp, nil, false},
		{"another version", `{"version":"1","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2","detail":{"instance-id":"i-1"}}`, NoOp, nil, false},
		{"nothing", "", NoOp, nil, false},
		{"no JSON", "<html>", NoOp, nil, true},
		{"a detail of the wrong type", `{"version":"0","detail":[1]}`, NoOp, nil, true},
		{"null", "null", NoOp, nil, false},
	} {
		got, err := Parse(tt.body)
		if got.Kind != tt.kind || !slices.Equal(got.Instances, tt.instances) || (err != nil) != tt.bad {
			t.Errorf("%s: %+v, %v; want %s of %v", tt.name, got, err, tt.kind, tt.instances)
		}
	}
	got, _ := Parse(spotWarning)
	if want := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC); !got.Time.Equal(want) {
		t.Errorf("time is %v", got.Time)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(spotWarning)
	f.Add(`{"version":"0","detail":{"affectedEntities":[{}]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		m, err := Parse(body)
		if err != nil && m.Kind != NoOp {
			t.Errorf("an unreadable message is taken for %s", m.Kind)
		}
	})
}
