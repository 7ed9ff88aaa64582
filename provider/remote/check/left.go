package check

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/conformance"
)

// leftovers are the instances that a check has launched and that could not be ended. Later checks do not count them, so that
// one broken rule does not make all of them fail.
type leftovers struct {
	ids map[string]bool
}

// without returns the instances of the list that are not left from earlier checks.
func (l *leftovers) without(list []*cloud.Instance) []*cloud.Instance {
	return slices.DeleteFunc(slices.Clone(list), func(i *cloud.Instance) bool { return l.ids[i.ProviderID] })
}

// List implements cloud.Provider, without instances that are left from earlier checks.
func (l *losing) List(ctx context.Context) ([]*cloud.Instance, error) {
	list, err := l.Provider.List(ctx)
	return l.left.without(list), err
}

// clear terminates the instances that exist although those of all claims were terminated. Such an instance was
// launched by a second call for a claim. Those that still exist afterwards are leftovers.
func (m *memory) clear(r *conformance.Result) {
	p := m.provider()
	extra := m.living(p)
	for n, id := range extra {
		claim := &apiv1.NodeClaim{}
		claim.Name, claim.UID, claim.Status.ProviderID = fmt.Sprint("left-", n), types.UID(fmt.Sprint("left-", n)), id
		_ = p.Delete(m.ctx, claim) // the next list shows whether it was ended
	}
	if len(extra) > 0 {
		r.Failures = append(r.Failures, fmt.Sprintf("after the check, instances of no NodeClaim were left (%d), such as %s", len(extra), extra[0]))
	}
	for _, id := range m.living(p) {
		m.left.ids[id] = true
	}
}

// living returns the provider IDs of the instances that p lists and that are not being terminated. Callers pass a
// losing provider, which lists no leftovers.
func (m *memory) living(p cloud.Provider) (ids []string) {
	list, err := p.List(m.ctx)
	if err != nil {
		panic(broken{err})
	}
	for _, i := range list {
		if !i.Ending {
			ids = append(ids, i.ProviderID)
		}
	}
	return ids
}
