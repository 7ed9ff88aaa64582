package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/karpenter-go/karpenter/cloud"
)

// A ShiftedError means that an instance is not changed because traffic is shifted away from its zone, or because that is not known
// yet. The same call may succeed after the shift, or when the shifts are known.
type ShiftedError struct {
	what, instance, zone string
	unknown              bool // it is not known whether traffic is shifted away from the zone
}

func (e *ShiftedError) Error() string {
	if e.unknown {
		return fmt.Sprintf("%s instance %s: zonal shifts are not known, because ARC has not answered since the start; retried until it does",
			e.what, e.instance)
	}
	return fmt.Sprintf("%s instance %s: a zonal shift away from zone %s is active, retried until it ends", e.what, e.instance, e.zone)
}

// shifted stores each instance as EC2 described it last. During a zonal shift, the stored values are used for instances
// in the zone. EC2 may not list all instances of an impaired zone, and a missing one would count as terminated. A nil
// shifted does nothing.
type shifted struct {
	away  func(ctx context.Context, i Instance) bool
	known func() bool // Config.Known

	mu   sync.Mutex // guards seen
	seen map[string]Instance
}

// get returns the stored instance if traffic is shifted away from its zone.
func (s *shifted) get(ctx context.Context, id string) (Instance, bool) {
	if s == nil {
		return Instance{}, false
	}
	s.mu.Lock()
	i, ok := s.seen[id]
	s.mu.Unlock()
	return i, ok && s.away(ctx, i)
}

// refuse returns a ShiftedError if traffic is shifted away from the zone of the instance, or if the shifts are not known yet.
func (s *shifted) refuse(ctx context.Context, what, id string) error {
	if i, away := s.get(ctx, id); away {
		return &ShiftedError{what: what, instance: id, zone: i.Zone}
	}
	if s != nil && !s.known() {
		return &ShiftedError{what: what, instance: id, unknown: true}
	}
	return nil
}

// refuseUnknown returns a ShiftedError if traffic is, or may be, shifted away from the zone of an instance that EC2 does not find.
// The instance may exist nevertheless: it need not be stored, because the process may have started during the shift, and EC2 may
// have stopped listing it before the shift was known.
func (s *shifted) refuseUnknown(ctx context.Context, id, zone string) error {
	if s != nil && !s.known() {
		return &ShiftedError{what: "find", instance: id, unknown: true}
	}
	if s == nil || !s.away(ctx, Instance{ID: id, Zone: zone}) {
		return nil
	}
	return &ShiftedError{what: "find", instance: id, zone: zone}
}

// note stores the instance that was described, or removes it if err is
// cloud.ErrNotFound. Other errors change nothing.
func (s *shifted) note(id string, i Instance, err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.seen[id] = i
	case errors.Is(err, cloud.ErrNotFound):
		delete(s.seen, id)
	}
}

// complete stores the list of all instances. It returns the list together with missing instances from zones from which
// traffic is shifted away.
func (s *shifted) complete(ctx context.Context, list []Instance) []Instance {
	if s == nil {
		return list
	}
	fresh := make(map[string]Instance, len(list))
	for _, i := range list {
		fresh[i.ID] = i
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, i := range s.seen {
		if _, listed := fresh[id]; !listed && s.away(ctx, i) {
			fresh[id] = i
			list = append(list, i)
		}
	}
	s.seen = fresh
	slices.SortFunc(list, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
