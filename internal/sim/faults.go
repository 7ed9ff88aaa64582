package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// kind is what happens to a call.
type kind int

const (
	serve  kind = iota
	refuse      // not carried out; the connection is refused
	fail        // not carried out; an error is the answer
	lose        // carried out; the answer is lost
	hang        // not carried out; no answer comes
)

// A fate is what happens to one call.
type fate struct {
	kind     kind
	response kubeapi.Response
	after    time.Duration // for lose: from the call until the caller gets an error
}

// A strike is a fault that is active until a time.
type strike struct {
	Event
	until time.Time
	// rate is the share of calls that it affects, delay by how much it delays them.
	rate  float64
	delay time.Duration
	// match limits the fault to operations of the cloud, paths of the API server or plurals of kinds that begin with it. If
	// it is empty, the fault affects all of them.
	match string
	// of limits the fault to the replica with that name; empty means all replicas.
	of string
}

// faults decides what happens to calls.
type faults struct {
	driver *Driver
	active []*strike
	// struck counts how often each fault had an effect.
	struck map[string]int
	// disturbed is when the last of all events so far is over. hampered is the same for those faults that keep the operator
	// from its work. Either may be in the future.
	disturbed, hampered time.Time
}

func newFaults(d *Driver) *faults {
	return &faults{driver: d, struck: map[string]int{}, disturbed: time.Now(), hampered: time.Now()}
}

// note records an event that begins now. It extends disturbed, and hampered if the verb hampers, to the end of the event. It
// counts the event in struck if the verb is a fault that counts once.
func (f *faults) note(e Event, v verb) {
	until := time.Now().Add(e.For)
	f.disturbed = later(f.disturbed, until)
	if v.hampers {
		f.hampered = later(f.hampered, until)
	}
	if v.fault && !v.counted {
		f.struck[e.Verb]++
	}
}

// ended records that the effect of an earlier event ends now.
func (f *faults) ended() { f.disturbed = later(f.disturbed, time.Now()) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// calls begins a fault of calls. The first argument is a rate or a delay, and the second limits the fault to some calls.
func (f *faults) calls(e Event) error {
	s := &strike{Event: e, rate: 1}
	if len(e.Args) > 0 {
		var err error
		if s.rate, err = strconv.ParseFloat(e.Args[0], 64); err != nil {
			if s.delay, err = time.ParseDuration(e.Args[0]); err != nil {
				return fmt.Errorf("%s: %q is neither a rate nor a duration", e, e.Args[0])
			}
		}
	}
	if len(e.Args) > 1 {
		s.match = e.Args[1]
	}
	f.start(s)
	return nil
}

// start makes a strike active.
func (f *faults) start(s *strike) {
	s.until = time.Now().Add(s.For)
	f.active = append(f.active, s)
}

// each calls do with the strikes of a verb that are active for the replica who and the subject: an operation, a path or the
// plural of a kind.
func (f *faults) each(verb, who, subject string, do func(s *strike)) {
	now := time.Now()
	for _, s := range f.active {
		if s.Verb == verb && now.Before(s.until) && (s.of == "" || s.of == who) && (s.match == "" || strings.HasPrefix(subject, s.match)) {
			do(s)
		}
	}
}

// hits reports whether a strike of a verb affects a call.
func (f *faults) hits(d Dice, verb, who, subject string) (hit bool) {
	f.each(verb, who, subject, func(s *strike) { hit = hit || d.Chance(s.rate) })
	if hit {
		f.struck[verb]++
	}
	return hit
}

// added returns by how much strikes of a verb delay a call.
func (f *faults) added(verb, who, subject string) (delay time.Duration) {
	f.each(verb, who, subject, func(s *strike) { delay += s.delay })
	if delay > 0 {
		f.struck[verb]++
	}
	return delay
}

// held returns for how much longer the fault hold stops all calls of a replica; zero if it is not held.
func (f *faults) held(who string) (delay time.Duration) {
	f.each("hold", who, "", func(s *strike) { delay = max(delay, time.Until(s.until)) })
	if delay > 0 {
		f.struck["hold"]++
	}
	return delay
}

// kube returns when a call to the API server is carried out, and what happens to it.
func (f *faults) kube(who string, q *kubeapi.Request) (time.Duration, fate) {
	d := f.driver.Dice(who + q.Method + q.Path + "?" + queryOf(q))
	delay := d.Between(time.Millisecond, 10*time.Millisecond)
	delay += f.added("api-slow", who, q.Path) + f.held(who)
	write := q.Method != http.MethodGet
	switch {
	case f.hits(d, "api-down", who, q.Path), f.hits(d, "partition", who, q.Path):
		return delay, fate{kind: refuse}
	case q.Query.Get("watch") == "true" && f.hits(d, "watch-gap", who, q.Path[strings.LastIndex(q.Path, "/")+1:]):
		return delay, fate{kind: refuse}
	case f.hits(d, "api-errors", who, q.Path):
		return delay, fate{kind: fail, response: failure(d, q)}
	case write && f.hits(d, "api-lost", who, q.Path):
		return delay, fate{kind: lose, after: d.Between(time.Second, 20*time.Second)}
	}
	return delay, fate{}
}

// cloud returns when a call to the cloud is carried out, and what happens to it.
func (f *faults) cloud(who, op string) (time.Duration, fate) {
	d := f.driver.Dice(who + op)
	delay := d.Between(20*time.Millisecond, 300*time.Millisecond)
	delay += f.added("cloud-slow", who, op) + f.held(who)
	switch {
	case f.hits(d, "cloud-down", who, op):
		return delay, fate{kind: refuse}
	case f.hits(d, "cloud-errors", who, op):
		return delay, fate{kind: fail}
	case f.hits(d, "cloud-hang", who, op):
		return delay, fate{kind: hang}
	case f.hits(d, "cloud-lost", who, op):
		return delay, fate{kind: lose}
	}
	return delay, fate{}
}

// watch returns how late an event of a watch arrives. The events of the objects with which a watch begins are not delayed by watch-delay:
// they are read like a list.
func (f *faults) watch(who, plural string, initial bool) time.Duration {
	delay := f.driver.Dice(who+" event "+plural).Between(time.Millisecond, 20*time.Millisecond)
	if !initial {
		delay += f.added("watch-delay", who, plural)
	}
	return delay + f.held(who)
}

// quietKind reports whether the path of a request names an Event or a Lease. Writes of these do not depend on decisions.
func quietKind(path string) bool {
	return strings.Contains(path, "/events") || strings.Contains(path, "/leases")
}

// status returns the answer to a call that fails with an error of the API server.
func status(err *apierrors.StatusError) kubeapi.Response {
	err.ErrStatus.APIVersion, err.ErrStatus.Kind = "v1", "Status"
	body, merr := json.Marshal(err.ErrStatus)
	if merr != nil {
		panic(merr) // a struct of strings
	}
	return kubeapi.Response{Code: int(err.ErrStatus.Code), Body: body}
}

// failure returns one of the errors that kube-apiserver gives under load.
func failure(d Dice, q *kubeapi.Request) kubeapi.Response {
	switch d.IntN(4) {
	case 0:
		return status(apierrors.NewTooManyRequests("the server is busy", 1))
	case 1:
		return status(apierrors.NewServiceUnavailable("etcdserver: leader changed"))
	case 2:
		if q.Method == http.MethodPut || q.Method == http.MethodPatch {
			return status(apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, q.Path, errDown))
		}
	}
	return status(apierrors.NewInternalError(errDown))
}
