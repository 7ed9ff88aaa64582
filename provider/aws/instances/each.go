package instances

import (
	"time"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

const (
	// maxRefused is how many refusals other than NotFound one batch looks into. Without a bound, a controller that may
	// terminate nothing would call once an instance.
	maxRefused = 32
	// apart is how long an instance that EC2 refused is kept out of calls with others.
	apart = 10 * time.Minute
)

// bucket returns the key of the batch that an instance belongs to. Instances that EC2 refused share a batch of their own.
func (s *Store) bucket(id string) string {
	if _, refused := s.refused.Get(id); refused {
		return "refused"
	}
	return ""
}

// each makes the call for all ids and returns the errors by id. EC2 fails a whole call because of one id that it refuses,
// so the list is halved until that id is alone: for k such ids of n that is about k·log n calls. Any other error is that of
// all ids of the call. After maxRefused refusals the ids that are left get the last one.
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
			errs[ids[0]] = cloud.ErrNotFound
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
