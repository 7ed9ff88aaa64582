package provision

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// tellPools publishes a warning on each NodePool that cannot launch nodes because of its requirements (see incompatible). It
// skips NodePools that are not usable, or whose instance types could not be listed in this round.
func (c *Controller) tellPools(s *model.Snapshot) {
	for _, p := range s.Pools() {
		types := s.Types(p.Name)
		if !p.Usable().OK() || len(types) == 0 {
			continue
		}
		if why := incompatible(types, p.Requirements, !c.Options.RelaxMinValues); why != "" {
			c.Events.Publish(telemetry.Event{
				Object: p.Object, Type: corev1.EventTypeWarning, Reason: telemetry.EventNoCompatibleInstanceTypes, Message: why,
			})
		}
	}
}

// incompatible returns why the requirements leave no instance type that can be launched now, empty if they leave one: no type
// meets them, or none that does has an available offering. If strict is set, they also leave none if the types that are left
// have fewer values than minValues requires.
func incompatible(types []*model.InstanceType, reqs require.Set, strict bool) string {
	if !anyMeets(types, reqs) {
		return "No instance type matches spec.template.spec.requirements: none has " + impossible(types, reqs)
	}
	var left []*model.InstanceType
	for t := range model.Launchable(types, reqs) {
		left = append(left, t)
	}
	if len(left) == 0 {
		return "No instance type that matches spec.template.spec.requirements has an available offering"
	}
	for r := range reqs.All() {
		if n := model.Distinct(left, r, reqs); strict && n < r.MinValues() {
			return fmt.Sprintf("Available instance types that match spec.template.spec.requirements have %s of %s, fewer than its minValues of %d",
				units.Counted(n, "value"), r.Key(), r.MinValues())
		}
	}
	return ""
}

// impossible returns the requirements that no instance type meets, or all requirements if each is met by some type.
func impossible(types []*model.InstanceType, reqs require.Set) string {
	var alone []string
	for r := range reqs.All() {
		if !anyMeets(types, require.NewSet(r)) {
			alone = append(alone, r.String())
		}
	}
	if len(alone) == 0 {
		return "all of " + reqs.String()
	}
	return strings.Join(alone, ", and none has ")
}

func anyMeets(types []*model.InstanceType, reqs require.Set) bool {
	return slices.ContainsFunc(types, func(t *model.InstanceType) bool {
		_, ok := t.Requirements.Intersects(reqs)
		return ok
	})
}
