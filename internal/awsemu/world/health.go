package world

import (
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// A Health has the status checks of an instance. In the zero Health, all checks pass.
type Health struct {
	// Instance and System are the times at which these checks began to fail, zero for a check that passes.
	Instance, System time.Time
	// Events are the scheduled events of the instance.
	Events []Scheduled
}

// A Scheduled is a scheduled event of an instance, such as its retirement.
type Scheduled struct {
	Code, Description string
	NotBefore         time.Time
}

// Impair makes a status check of an instance fail since the given time. check is "instance" or "system".
func (w *World) Impair(id, check string, since time.Time) *wire.Error {
	return w.ail(id, func(h *Health) *wire.Error {
		switch check {
		case "instance":
			h.Instance = since
		case "system":
			h.System = since
		default:
			return wire.Errorf("InvalidParameterValue", "The check '%s' is neither instance nor system", check)
		}
		return nil
	})
}

// Schedule adds a scheduled event, such as instance-retirement, to an instance. The description of one that is over begins with
// "[Canceled]" or "[Completed]".
func (w *World) Schedule(id, code, description string, at time.Time) *wire.Error {
	return w.ail(id, func(h *Health) *wire.Error {
		h.Events = append(slices.Clip(h.Events), Scheduled{Code: code, Description: description, NotBefore: at})
		return nil
	})
}

// Heal makes all status checks of an instance pass and removes its scheduled events.
func (w *World) Heal(id string) *wire.Error {
	return w.ail(id, func(h *Health) *wire.Error { *h = Health{}; return nil })
}

func (w *World) ail(id string, change func(*Health) *wire.Error) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.live(id)
	if err != nil {
		return err
	}
	return change(&i.Health)
}
