package awsemu

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// buildControl returns the handler of all paths below /_emulator/, except those of the metadata service.
func (e *Emulator) buildControl() http.Handler {
	mux := http.NewServeMux()
	order := func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, h) }
	order("GET /_emulator/health", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]string{"status": "ok"}) })
	order("POST /_emulator/capacity", ordered(e.orderCapacity))
	order("DELETE /_emulator/capacity", ordered(func(p control.Pool) error { e.ClearCapacity(p); return nil }))
	order("POST /_emulator/price", ordered(e.orderPrice))
	order("DELETE /_emulator/price", done(e.world.ClearPrices))
	order("POST /_emulator/quota", ordered(e.orderQuota))
	order("POST /_emulator/throttle", ordered(e.orderThrottle))
	order("POST /_emulator/throttle/ec2", done(func() { e.faults.document(true) }))
	order("POST /_emulator/fail", ordered(e.orderFail))
	order("POST /_emulator/hang", ordered(e.orderHang))
	order("DELETE /_emulator/faults", func(w http.ResponseWriter, r *http.Request) {
		e.ClearFaults(r.URL.Query().Get("op"))
		reply(w, struct{}{})
	})
	order("POST /_emulator/policy", ordered(func(p control.Policy) error { return e.SetPolicy(p.Documents...) }))
	order("POST /_emulator/boot", ordered(e.orderBoot))
	order("DELETE /_emulator/boot", done(e.ClearBoot))
	order("POST /_emulator/lag", ordered(func(l control.Lag) error {
		e.world.SetHidden(time.Duration(l.For))
		e.world.SetTagsHidden(time.Duration(l.Tags))
		return nil
	}))
	order("POST /_emulator/event", ordered(e.Event))
	order("POST /_emulator/reservation", e.serveReserve)
	order("DELETE /_emulator/reservation", ordered(e.Cancel))
	order("POST /_emulator/placement", e.servePlace)
	order("POST /_emulator/shift", ordered(func(s control.Shift) error {
		return e.world.ShiftAway(s.Zone, time.Duration(s.For), world.Shift{NotApplied: s.NotApplied, Unlisted: s.Unlisted})
	}))
	order("DELETE /_emulator/shift", ordered(func(s control.Shift) error { e.world.ShiftBack(s.Zone); return nil }))
	order("POST /_emulator/interrupt", chosen(e.Interrupt))
	order("POST /_emulator/stop", chosen(func(s control.Select) ([]string, error) { return e.Stop(s.Instances) }))
	order("POST /_emulator/start", chosen(func(s control.Select) ([]string, error) { return e.Start(s.Instances) }))
	order("POST /_emulator/reset", done(e.Reset))
	order("GET /_emulator/instances", func(w http.ResponseWriter, _ *http.Request) { reply(w, e.Instances()) })
	order("GET /_emulator/bill", func(w http.ResponseWriter, r *http.Request) {
		since, err := parseSince(r.URL.Query().Get("since"))
		if err != nil {
			http.Error(w, "since is no time: "+err.Error(), http.StatusBadRequest)
			return
		}
		reply(w, e.Bill(since))
	})
	order("GET /_emulator/calls", func(w http.ResponseWriter, r *http.Request) {
		since, err := strconv.ParseInt(orDefault(r.URL.Query().Get("since"), "0"), 10, 64)
		if err != nil {
			http.Error(w, "since is no number", http.StatusBadRequest)
			return
		}
		reply(w, e.Calls(since))
	})
	return mux
}

// ordered serves a control request with a JSON body. Unknown fields are an error, so that misspelt ones are noticed.
func ordered[T any](do func(T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in T
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			http.Error(w, fmt.Sprintf("decode order: %v", err), http.StatusBadRequest)
			return
		}
		if err := do(in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply(w, struct{}{})
	}
}

// done serves a control request without parameters.
func done(do func()) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		do()
		reply(w, struct{}{})
	}
}

// reply writes body as JSON.
func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// chosen serves a control request that chooses instances, and returns their ids.
func chosen[T any](do func(T) ([]string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in T
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, fmt.Sprintf("decode order: %v", err), http.StatusBadRequest)
			return
		}
		ids, err := do(in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply(w, map[string][]string{"instances": ids})
	}
}

// poolOf converts a control pool to patterns. An empty field becomes "*".
func poolOf(p control.Pool) world.Pool {
	return world.Pool{Type: orDefault(p.Type, "*"), Zone: orDefault(p.Zone, "*"), Capacity: orDefault(p.Capacity, "*")}
}

// SetCapacity limits the number of instances in each matching pool.
func (e *Emulator) SetCapacity(c control.Capacity) {
	e.world.SetCapacity(world.CapacityRule{Pool: poolOf(c.Pool), Limit: c.Limit, Code: c.Code})
}

// ICE (insufficient capacity error) removes all capacity of the matching pools.
func (e *Emulator) ICE(p control.Pool) { e.SetCapacity(control.Capacity{Pool: p}) }

// ClearCapacity removes the limits whose pools match.
func (e *Emulator) ClearCapacity(p control.Pool) { e.world.ClearCapacity(poolOf(p)) }

// SetPrice sets the price of the matching pools from now on. Without a capacity type, the price is for spot if a zone is given,
// and otherwise for on-demand.
func (e *Emulator) SetPrice(p control.Price) error {
	if p.USD < 0 {
		return fmt.Errorf("set price: %g is negative", p.USD)
	}
	if p.Capacity == "" {
		p.Capacity = world.OnDemand
		if p.Zone != "" {
			p.Capacity = world.Spot
		}
	}
	e.world.SetPrice(poolOf(p.Pool), p.USD)
	return nil
}

// PriceOf returns the current price of one pool in USD per hour, 0 if it is not offered.
func (e *Emulator) PriceOf(p control.Pool) float64 { return e.world.Price(poolOf(p)) }

// Interrupt reclaims one spot instance, or several random ones, with the usual notice of two minutes. It returns their ids.
func (e *Emulator) Interrupt(in control.Interrupt) ([]string, error) {
	if in.Instance == "" {
		if in.Random < 1 {
			return nil, fmt.Errorf("interrupt: name an instance or a number of them")
		}
		return e.world.InterruptRandom(in.Random), nil
	}
	if failure := e.world.Interrupt(in.Instance); failure != nil {
		return nil, failure
	}
	return []string{in.Instance}, nil
}

// ReleaseImages publishes a new release of Amazon Linux 2023, which the alias al2023@latest names from now on.
func (e *Emulator) ReleaseImages() { e.world.ReleaseImages() }

// CopyImage publishes a copy of an image in another account, and returns its id.
func (e *Emulator) CopyImage(id, name, owner string) (string, error) {
	return e.world.CopyImage(id, name, owner)
}

// Deprecate deprecates an image now.
func (e *Emulator) Deprecate(image string) error {
	if !e.world.Deprecate(image, e.world.Now()) {
		return fmt.Errorf("deprecate image: there is no %s", image)
	}
	return nil
}

// Maintain sends one message about the retirement of instances, as a message of AWS may name several. They keep running.
func (e *Emulator) Maintain(ids ...string) error {
	if failure := e.world.ScheduleMaintenance(ids...); failure != nil {
		return failure
	}
	return nil
}

// retired is the description of a scheduled retirement.
const retired = "The instance is running on degraded hardware"

// Event sends an event about an instance, or changes the result of its status checks or its scheduled events. The
// instance keeps running.
func (e *Emulator) Event(in control.Event) error {
	var failure *wire.Error
	switch in.Kind {
	case "rebalance":
		failure = e.world.Rebalance(in.Instance)
	case "maintenance":
		failure = e.world.ScheduleMaintenance(in.Instance)
	case "impaired":
		failure = e.world.Impair(in.Instance, "instance", e.world.Now().Add(-time.Duration(in.Since)))
	case "host-impaired":
		failure = e.world.Impair(in.Instance, "system", e.world.Now().Add(-time.Duration(in.Since)))
	case "retirement":
		failure = e.world.Schedule(in.Instance, "instance-retirement", retired, e.world.Now().Add(14*24*time.Hour))
	case "cancelled-retirement":
		failure = e.world.Schedule(in.Instance, "instance-retirement", "[Canceled] "+retired, e.world.Now().Add(14*24*time.Hour))
	case "healthy":
		failure = e.world.Heal(in.Instance)
	default:
		return fmt.Errorf("send event: kind %q is none of %s", in.Kind, strings.Join(control.EventKinds(), ", "))
	}
	if failure != nil {
		return failure
	}
	return nil
}

// Terminate terminates instances, as another user of the account does.
func (e *Emulator) Terminate(ids ...string) error {
	if _, failure := e.world.Terminate(ids); failure != nil {
		return failure
	}
	return nil
}

// Instance returns the instance with the id, with everything that its launch set.
func (e *Emulator) Instance(id string) (world.Instance, bool) { return e.world.Instance(id) }

// Instances returns all instances that the account still has, in order of launch.
func (e *Emulator) Instances() []control.Instance {
	now, active := e.world.Now(), e.activeReservations()
	out := []control.Instance{}
	for _, i := range e.world.Instances(false) {
		reservation, capacity := "", i.Capacity
		if active[i.InReservation] {
			reservation = i.InReservation
		} else if capacity == world.Reserved {
			capacity = world.OnDemand // it runs on after its reservation ended
		}
		out = append(out, control.Instance{
			ID: i.ID, State: i.State(now).Name, Type: i.Type, Zone: i.Zone, Capacity: capacity, Reservation: reservation,
			Partition:    i.Data.Placement.Partition,
			PricePerHour: i.PricePerHour, Node: i.PrivateDNS(e.world.Region()), Address: i.Address.String(),
			Image: i.Image.Name, Launched: i.Launched, Reason: i.ReasonCode, Tags: i.Tags, Console: i.Console,
		})
	}
	return out
}
