package world

import (
	"encoding/json"
	"fmt"
	"time"
)

// An event is a message that EventBridge sends to the queue.
type event struct {
	Version    string         `json:"version"`
	ID         string         `json:"id"`
	DetailType string         `json:"detail-type"`
	Source     string         `json:"source"`
	Account    string         `json:"account"`
	Time       string         `json:"time"`
	Region     string         `json:"region"`
	Resources  []string       `json:"resources"`
	Detail     map[string]any `json:"detail"`
}

// The kinds of events.
const (
	spotWarning        = "EC2 Spot Instance Interruption Warning"
	reservationWarning = "EC2 Capacity Reservation Instance Interruption Warning"
	rebalance          = "EC2 Instance Rebalance Recommendation"
	stateChange        = "EC2 Instance State-change Notification"
	scheduledEvent     = "AWS Health Event"
)

// deliver sends an event about an instance to the queue.
func (w *World) deliver(i *Instance, kind string, at time.Time, detail map[string]any) {
	w.deliverAbout([]*Instance{i}, kind, at, detail)
}

// deliverAbout sends one event about several instances to the queue.
func (w *World) deliverAbout(all []*Instance, kind string, at time.Time, detail map[string]any) {
	e := event{
		Version: "0", ID: w.uuid(), DetailType: kind, Source: "aws.ec2", Account: w.cfg.Account,
		Time: at.UTC().Format(time.RFC3339), Region: w.cfg.Region, Detail: detail,
	}
	for _, i := range all {
		e.Resources = append(e.Resources, fmt.Sprintf("arn:%s:ec2:%s:instance/%s", w.Partition(), i.Zone, i.ID))
	}
	if kind == scheduledEvent {
		e.Source = "aws.health"
	}
	if w.cfg.Deliver == nil {
		return
	}
	body, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("world: event of strings does not encode: %v", err))
	}
	w.cfg.Deliver(string(body))
}

// announceState sends an event about an instance's new state.
func (w *World) announceState(i *Instance, s State, at time.Time) {
	i.announced = s
	w.deliver(i, stateChange, at, map[string]any{"instance-id": i.ID, "state": s.Name})
}

// uuid returns a random UUID of version 4.
func (w *World) uuid() string {
	a, b := w.rng.Uint64(), w.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}

// NewUUID returns a random UUID of version 4.
func (w *World) NewUUID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.uuid()
}
