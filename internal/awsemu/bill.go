package awsemu

import (
	"fmt"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// Bill returns what the account has been charged for since the given time. The zero time means since the beginning.
func (e *Emulator) Bill(since time.Time) control.Bill {
	bill := control.Bill{Instances: []control.Charge{}}
	for _, c := range e.world.Bill(since) {
		bill.Instances = append(bill.Instances, control.Charge{
			ID: c.ID, Type: c.Type, Zone: c.Zone, CapacityType: c.Capacity, From: c.From.UTC(), To: c.To.UTC(), Dollars: c.USD,
		})
		bill.Dollars += c.USD
	}
	return bill
}

// parseSince parses a time in RFC 3339. Empty text is the zero time.
func parseSince(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("parse %q: %w", text, err)
	}
	return at, nil
}
