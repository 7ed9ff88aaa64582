package instances

import (
	"fmt"
	"time"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// ErrUnknown is an ErrNotFound because EC2 does not know the ID. Of an instance that was just launched it may not know it yet. An
// instance that has ended is known for about an hour.
var ErrUnknown = fmt.Errorf("EC2 does not know the ID: %w", cloud.ErrNotFound)

const (
	// maxRefused bounds how many refused calls of one batch are repeated with half of the IDs, apart from those because of
	// missing instances. Without a bound, a controller without permission would make one call per instance.
	maxRefused = 32
	// apart is how long an instance that EC2 refused is batched separately from others.
	apart = 10 * time.Minute
)

// bucket returns the batch key of an instance. Instances that EC2 refused earlier share a separate batch.
func (s *Store) bucket(id string) string {
	if _, refused := s.refused.Get(id); refused {
		return "refused"
	}
	return ""
}

// each makes the call for all ids and returns the errors by id. If EC2 refuses one ID, the whole call fails. So the
// list is halved until the ID is isolated, which takes about k·log n calls for k such IDs of n. After maxRefused
// refusals, lists are halved only because of instances that do not exist. All other errors apply to all IDs of the
// call.
func (s *Store) each(ids []string, call func(ids []string) error) map[string]error {
	errs, refusals := map[string]error{}, 0
	var try func(ids []string)
	try = func(ids []string) {
		if len(ids) == 0 {
			return
		}
		err := call(ids)
		unknown, refused := fault.NotFound(err), fault.OfOneInstance(err)
		if refused {
			refusals++
		}
		switch {
		case err == nil:
			for _, id := range ids {
				s.refused.Delete(id)
			}
		case len(ids) > 1 && (unknown || refused && refusals < maxRefused):
			try(ids[:len(ids)/2])
			try(ids[len(ids)/2:])
		case len(ids) == 1 && unknown:
			s.refused.Delete(ids[0])
			errs[ids[0]] = ErrUnknown
		default:
			for _, id := range ids {
				errs[id] = err
			}
			if len(ids) == 1 && refused {
				s.refused.Set(ids[0], true)
			}
		}
	}
	try(ids)
	return errs
}
