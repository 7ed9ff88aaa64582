package interruption

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Message is one event from the queue.
type Message struct {
	Kind cloud.NoticeKind
	// Instances are the IDs of the instances that the message concerns.
	Instances []string
	// Time is the time of the event, zero if the message has none.
	Time time.Time
}

// envelope is the JSON object in which EventBridge wraps events.
type envelope struct {
	Version    string          `json:"version"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Time       time.Time       `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

// detail holds the fields of all kinds of events.
type detail struct {
	InstanceID string `json:"instance-id"`
	State      string `json:"state"`

	Service           string `json:"service"`
	EventTypeCategory string `json:"eventTypeCategory"`
	AffectedEntities  []struct {
		EntityValue string `json:"entityValue"`
	} `json:"affectedEntities"`
}

// Parse parses the body of a message. An empty body or an event of an unknown type gives a NoOp. A body that is not
// JSON, or an event whose detail cannot be decoded, gives an error. In all these cases the message must be deleted.
func Parse(body string) (Message, error) {
	if strings.TrimSpace(body) == "" {
		return Message{Kind: NoOp}, nil
	}
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return Message{Kind: NoOp}, fmt.Errorf("read message: %w", err)
	}
	m := Message{Kind: NoOp, Time: e.Time}
	if e.Version != "0" || len(e.Detail) == 0 {
		return m, nil
	}
	var d detail
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return m, fmt.Errorf("read detail of %q: %w", e.DetailType, err)
	}
	m.Kind = kindOf(e, d)
	switch {
	case m.Kind == NoOp:
	case m.Kind == model.NoticeScheduledChange:
		for _, a := range d.AffectedEntities {
			if a.EntityValue != "" {
				m.Instances = append(m.Instances, a.EntityValue)
			}
		}
	case d.InstanceID != "":
		m.Instances = []string{d.InstanceID}
	}
	return m, nil
}

func kindOf(e envelope, d detail) cloud.NoticeKind {
	switch e.Source + "/" + e.DetailType {
	case "aws.ec2/EC2 Spot Instance Interruption Warning":
		return model.NoticeSpotInterrupted
	case "aws.ec2/EC2 Instance Rebalance Recommendation":
		return model.NoticeRebalance
	case "aws.ec2/EC2 Capacity Reservation Instance Interruption Warning":
		return model.NoticeReservationReclaimed
	case "aws.health/AWS Health Event":
		if d.Service == "EC2" && d.EventTypeCategory == "scheduledChange" {
			return model.NoticeScheduledChange
		}
	case "aws.ec2/EC2 Instance State-change Notification":
		switch strings.ToLower(d.State) {
		case "stopping", "stopped":
			return model.NoticeInstanceStopped
		case "shutting-down", "terminated":
			return model.NoticeInstanceTerminated
		}
	}
	return NoOp
}
