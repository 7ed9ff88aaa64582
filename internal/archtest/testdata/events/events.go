// Package events publishes events that break the rule.
package events

import (
	"fmt"

	"github.com/karpenter-go/karpenter/engine/interruption"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

var late = interruption.Event{Reason: interruption.ReasonTerminating, Message: "deleted " + "a"} // want message begins with a small letter

type recorder interface {
	Event(object any, eventType, reason, message string)
}

func wrong(r recorder, name string) []telemetry.Event {
	r.Event(nil, "Normal", "Unheard", "Node deleted")                   // want reason "Unheard" is not in the table
	r.Event(nil, "Normal", telemetry.EventEvicted, "evicted pod "+name) // want message begins with a small letter
	return []telemetry.Event{
		{Reason: "Unheard"}, // want reason "Unheard" is not in the table
		{Reason: telemetry.EventEvicted, Message: fmt.Sprintf("evicted pod %s", name)}, // want message begins with a small letter
		{Reason: telemetry.EventEvicted, Message: "Evicted pod."},                      // want message ends with a stop
	}
}

func fine(r recorder, reason, message string) telemetry.Event {
	r.Event(nil, "Normal", telemetry.EventEvicted, "Evicted pod")
	return telemetry.Event{Reason: reason, Message: message}
}
