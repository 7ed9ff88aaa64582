package launch

import (
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

const (
	// userDataWarnSize is the size of user data, in bytes, from which it is logged. It is 90% of userDataLimit.
	userDataWarnSize = 14745
	// userDataLogPause is the time between two such lines for one class.
	userDataLogPause = time.Hour
	// recommendedTypes is the number of types below which a log line says that a launch falls back to on-demand capacity.
	recommendedTypes = 5
	// maxDroppedNames is the largest number of types that a log line about a filter names.
	maxDroppedNames = 5
)

// drop has the types that a filter of Choose removed.
type drop struct {
	// Filter is the name of the filter in log lines.
	Filter string
	// Count is the number of types, and Names has the first maxDroppedNames of them.
	Count int
	Names []string
}

// drops has one drop for each filter that removed types, in the order of the filters.
type drops []drop

// filter returns the candidates that keep returns for left. It adds the others to the drops. keep may change the slice that
// it gets, and keeps the order of the candidates.
func (s *drops) filter(name string, left []candidate, keep func([]candidate) []candidate) []candidate {
	kept := keep(slices.Clone(left))
	if len(kept) == len(left) {
		return kept
	}
	d := drop{Filter: name, Count: len(left) - len(kept)}
	next := 0 // index of the next candidate of kept
	for _, x := range left {
		switch {
		case next < len(kept) && kept[next].t == x.t:
			next++
		case len(d.Names) < maxDroppedNames:
			d.Names = append(d.Names, x.t.Name)
		}
	}
	*s = append(*s, d)
	return kept
}

// logChoice logs what limits the choice of a fleet call. It is called once for each fleet call, and not for each claim.
func (l *Launcher) logChoice(ctx context.Context, o *order) {
	to := log.FromContext(ctx).WithValues("NodeClaim", klog.KRef("", o.Claim.Name))
	for _, d := range o.choice.Dropped {
		to.V(1).Info("instance types filtered out of a launch", "filter", d.Filter, "count", d.Count, "instance-types", d.Names)
	}
	reqs := require.FromSpec(o.Claim.Spec.Requirements).Normalize(l.Aliases)
	if n := len(o.choice.Types); n < recommendedTypes && o.choice.CapacityType == apiv1.CapacityTypeOnDemand && allows(reqs, apiv1.CapacityTypeSpot) {
		to.Info("launching on-demand although spot is allowed, with few instance types", "instance-types", n, "recommended", recommendedTypes)
	}
}

// logLargeUserData logs that the user data of a class nearly have the size that EC2 allows.
func (l *Launcher) logLargeUserData(ctx context.Context, class string, size int) {
	if size < userDataWarnSize {
		return
	}
	if _, logged := l.loggedUserData.Get(class); logged {
		return
	}
	l.loggedUserData.Set(class, true)
	log.FromContext(ctx).Info("user data are near the limit of EC2", "EC2NodeClass", klog.KRef("", class), "bytes", size, "limit", userDataLimit)
}
