package awsemu

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// Reserve buys capacity in advance and returns the id of the reservation.
func (e *Emulator) Reserve(in control.Reservation) (string, error) {
	r := world.Reservation{
		Type: in.Type, Zone: in.Zone, Total: in.Count, Interruptible: in.Interruptible, Match: "open", Tags: in.Tags,
	}
	if in.Targeted {
		r.Match = "targeted"
	}
	if in.Block {
		r.Kind = world.ReservationBlock
	}
	if in.For > 0 {
		r.End = e.world.Now().Add(time.Duration(in.For))
	}
	made, failure := e.world.Reserve(r)
	if failure != nil {
		return "", failure
	}
	return made.ID, nil
}

// FillSubnets lets others use all but left of the unused addresses of the subnets of a zone, or of the subnet with that tag Name. With a
// negative number they release them.
func (e *Emulator) FillSubnets(name string, left int) { e.world.FillSubnets(name, left) }

// Cancel cancels a reservation.
func (e *Emulator) Cancel(in control.Reservation) error {
	if failure := e.world.Cancel(in.ID); failure != nil {
		return failure
	}
	return nil
}

// Place creates a placement group and returns its id.
func (e *Emulator) Place(in control.Placement) (string, error) {
	made, failure := e.world.Place(world.PlacementGroup{Name: in.Name, Strategy: in.Strategy, Partitions: in.Partitions})
	if failure != nil {
		return "", failure
	}
	return made.ID, nil
}

// Profiles returns the instance profiles whose path has a prefix.
func (e *Emulator) Profiles(prefix string) []world.Profile { return e.world.Profiles(prefix) }

func (e *Emulator) serveReserve(w http.ResponseWriter, r *http.Request) { made(w, r, e.Reserve) }

func (e *Emulator) servePlace(w http.ResponseWriter, r *http.Request) { made(w, r, e.Place) }

// made serves a control request that creates an object, and returns its id.
func made[T any](w http.ResponseWriter, r *http.Request, do func(T) (string, error)) {
	var in T
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, fmt.Sprintf("decode order: %v", err), http.StatusBadRequest)
		return
	}
	id, err := do(in)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply(w, map[string]string{"id": id})
}
