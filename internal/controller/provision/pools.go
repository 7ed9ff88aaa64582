package provision

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// tellPools publishes a warning on each NodePool that cannot launch nodes, because no instance type meets its requirements.
// It skips NodePools that are not usable, or whose instance types could not be listed in this round.
func (c *Controller) tellPools(s *model.Snapshot) {
	for _, p := range s.Pools() {
		types := s.Types(p.Name)
		if !p.Usable().OK() || len(types) == 0 || anyMeets(types, p.Requirements) {
			continue
		}
		c.Events.Publish(telemetry.Event{
			Object: p.Object, Type: corev1.EventTypeWarning, Reason: telemetry.EventNoCompatibleInstanceTypes,
			Message: "No instance type matches spec.template.spec.requirements: none has " + impossible(types, p.Requirements),
		})
	}
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
