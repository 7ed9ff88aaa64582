package overlay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Supply is a pool with the instance types that it may launch, before overlays are applied. Types is empty if they
// are not known.
type Supply struct {
	Pool  *model.Pool
	Types []*model.InstanceType
}

// A Result is the result of Apply.
type Result struct {
	// Types are the instance types by pool name. Unchanged types are the same pointers as before.
	Types map[string][]*model.InstanceType
	// Findings has, by overlay name, the reason why the overlay is not in effect; nil if it is in effect. Overlays that are being
	// deleted are missing.
	Findings map[string]*Finding
}

// A Finding is the reason why an overlay is not in effect.
type Finding struct {
	// Reason is the reason of the condition ValidationSucceeded: RuntimeValidation or Conflict.
	Reason, Message string
}

// Apply returns the instance types with the changes of the overlays. Overlays that are being deleted are ignored. The
// arguments are not changed.
func Apply(overlays []*overlayv1alpha1.NodeOverlay, supplies []Supply, rules apiv1.LabelRules) Result {
	r := Result{Types: make(map[string][]*model.InstanceType, len(supplies)), Findings: map[string]*Finding{}}
	set := ledger{}
	for _, o := range inOrder(overlays) {
		change, err := changeOf(o, rules)
		if err != nil {
			r.Findings[o.Name] = &Finding{Reason: overlayv1alpha1.ReasonRuntimeValidation, Message: err.Error()}
			continue
		}
		r.Findings[o.Name] = set.enter(change, supplies, rules.Aliases)
	}
	for _, s := range supplies {
		r.Types[s.Pool.Name] = set.applied(s)
	}
	return r
}

// inOrder returns the overlays that are not being deleted, by descending weight, then by descending name.
func inOrder(overlays []*overlayv1alpha1.NodeOverlay) []*overlayv1alpha1.NodeOverlay {
	list := slices.DeleteFunc(slices.Clone(overlays), func(o *overlayv1alpha1.NodeOverlay) bool {
		return !o.DeletionTimestamp.IsZero()
	})
	slices.SortFunc(list, func(a, b *overlayv1alpha1.NodeOverlay) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(b.Name, a.Name))
	})
	return list
}

func weight(o *overlayv1alpha1.NodeOverlay) int32 {
	if o.Spec.Weight == nil {
		return 0
	}
	return *o.Spec.Weight
}

// A place is a value that an overlay may set: the price of one offering, or the amount of one resource, of a type in a
// pool.
type place struct {
	pool, kind string              // names of the pool and of the instance type
	offering   int                 // index into the type's offerings, for prices
	resource   corev1.ResourceName // for capacity, empty for prices
}

// An entry is the value of a place, and the overlay that sets it.
type entry struct {
	at     place
	by     *change
	price  float64
	fixed  bool // true if the overlay sets the price, false if it adjusts the price
	amount int64
}

// A ledger holds the values that the overlays so far have set.
type ledger map[place]entry

// enter adds the values of c for places that no overlay before has set. If an overlay of the same weight has set one of the
// places of c, nothing is added, and a finding is returned. aliases map deprecated label keys to the keys that replace them.
func (l ledger) enter(c *change, supplies []Supply, aliases map[string]string) *Finding {
	mine := ledger{}
	for _, s := range supplies {
		labels := require.FromLabels(s.Pool.Labels).Normalize(aliases)
		for _, t := range s.Types {
			for _, e := range c.entries(s.Pool.Name, labels, t) {
				old, taken := l[e.at]
				if taken && old.by.weight == c.weight {
					return conflict(old.by, e.at, t)
				}
				if !taken {
					mine[e.at] = e
				}
			}
		}
	}
	maps.Copy(l, mine)
	return nil
}

// entries returns the values that c sets for one type in a pool whose nodes have these labels: prices, then amounts.
func (c *change) entries(pool string, labels require.Set, t *model.InstanceType) (out []entry) {
	matched := c.matched(labels, t)
	if len(matched) == 0 {
		return nil
	}
	if c.priced {
		for _, i := range matched {
			at := place{pool: pool, kind: t.Name, offering: i}
			out = append(out, entry{at: at, by: c, price: c.price(t.Offerings[i].Price), fixed: c.fixed})
		}
	}
	for _, name := range c.capacity.Names() {
		out = append(out, entry{at: place{pool: pool, kind: t.Name, resource: name}, by: c, amount: c.capacity[name]})
	}
	return out
}

// conflict returns the finding that the overlay of with has set the value of a place of type t already.
func conflict(with *change, at place, t *model.InstanceType) *Finding {
	what := fmt.Sprintf("%s of %s", at.resource, t.Name)
	if at.resource == "" {
		what = "the price of " + t.Name + " in " + t.Offerings[at.offering].Zone
	}
	return &Finding{Reason: overlayv1alpha1.ReasonConflict, Message: fmt.Sprintf(
		"Conflicts with NodeOverlay %s of equal spec.weight: both set %s for NodePool %s. This overlay is not applied; "+
			"fix: set different weights", with.name, what, at.pool)}
}

// applied returns the supply's types with the prices and amounts that overlays have set.
func (l ledger) applied(s Supply) []*model.InstanceType {
	extra := map[string]model.Resources{}
	for at, e := range l {
		if at.pool != s.Pool.Name || at.resource == "" {
			continue
		}
		if extra[at.kind] == nil {
			extra[at.kind] = model.Resources{}
		}
		extra[at.kind][at.resource] = e.amount
	}
	out := slices.Clone(s.Types)
	for i, t := range out {
		changed := *t
		l.price(&changed, s.Pool.Name)
		if more := extra[t.Name]; more != nil {
			changed.CapacityOverlaid = true
			changed.Capacity, changed.Allocatable = t.WithExtended(more)
		}
		if changed.PriceOverlaid || changed.CapacityOverlaid {
			out[i] = &changed
		}
	}
	return out
}

// price sets the prices of t, which is a copy, to those of the ledger for the pool.
func (l ledger) price(t *model.InstanceType, pool string) {
	for i := range t.Offerings {
		e, ok := l[place{pool: pool, kind: t.Name, offering: i}]
		if !ok {
			continue
		}
		if !t.PriceOverlaid {
			t.PriceOverlaid, t.Offerings = true, slices.Clone(t.Offerings)
		}
		o := &t.Offerings[i]
		o.Price = e.price
		if e.fixed && o.Unpriced {
			o.Available, o.Unpriced = true, false
		}
	}
}
