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

// A ShiftedError means that an instance is not changed, because traffic is shifted away from its zone. The same call
// succeeds after the shift.
type ShiftedError struct {
	what, instance, zone string
}

func (e *ShiftedError) Error() string {
	return fmt.Sprintf("%s instance %s: a zonal shift away from zone %s is active, retried until it ends", e.what, e.instance, e.zone)
}

// shifted remembers instances as EC2 last described them, for the time of a zonal shift. EC2's answers about a zone in
// trouble may be wrong: an instance that is missing in one would be taken for ended. A nil shifted follows no shifts.
type shifted struct {
	away func(ctx context.Context, i Instance) bool

	mu   sync.Mutex // guards seen
	seen map[string]Instance
}

// get returns the instance if its zone is shifted away from.
func (s *shifted) get(ctx context.Context, id string) (Instance, bool) {
	if s == nil {
		return Instance{}, false
	}
	s.mu.Lock()
	i, ok := s.seen[id]
	s.mu.Unlock()
	return i, ok && s.away(ctx, i)
}

// refuse returns an error if the zone of the instance is shifted away from.
func (s *shifted) refuse(ctx context.Context, what, id string) error {
	if i, away := s.get(ctx, id); away {
		return &ShiftedError{what: what, instance: id, zone: i.Zone}
	}
	return nil
}

// note remembers what EC2 said of one instance.
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

// complete remembers the list of all instances, and returns it with those that are missing from zones that are shifted away
// from.
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
