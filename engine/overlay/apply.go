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

// A Supply is what one pool may launch, before overlays. A pool whose types are not known is left out.
type Supply struct {
	Pool  *model.Pool
	Types []*model.InstanceType
}

// A Result is what overlays make of all supplies.
type Result struct {
	// Types are the instance types of each pool by name. Types that no overlay touches are the same as before.
	Types map[string][]*model.InstanceType
	// Findings tell of each overlay, by name, why it is not in force; nil if it is.
	Findings map[string]*Finding
}

// A Finding is why an overlay is not in force.
type Finding struct {
	// Reason is that of the condition ValidationSucceeded: RuntimeValidation or Conflict.
	Reason, Message string
}

// Apply returns what the overlays make of the supplies. Overlays that are being deleted count no more. Nothing that is
// handed in is changed.
func Apply(overlays []*overlayv1alpha1.NodeOverlay, supplies []Supply, rules apiv1.LabelRules) Result {
	r := Result{Types: make(map[string][]*model.InstanceType, len(supplies)), Findings: map[string]*Finding{}}
	book := ledger{prices: map[place]entry{}, capacity: map[place]entry{}}
	for _, o := range inOrder(overlays) {
		if err := o.Validate(rules); err != nil {
			r.Findings[o.Name] = &Finding{Reason: overlayv1alpha1.ReasonRuntimeValidation, Message: err.Error()}
			continue
		}
		change, err := changeOf(o)
		if err != nil {
			r.Findings[o.Name] = &Finding{Reason: overlayv1alpha1.ReasonRuntimeValidation, Message: err.Error()}
			continue
		}
		r.Findings[o.Name] = book.enter(change, supplies)
	}
	for _, s := range supplies {
		r.Types[s.Pool.Name] = book.lay(s)
	}
	return r
}

// inOrder returns the overlays that count, the strongest first.
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

// A place is one thing that an overlay may set: a price, or the amount of a resource, of one type in one pool.
type place struct {
	pool, kind string
	offering   int                 // index into the type's offerings, for prices
	resource   corev1.ResourceName // for capacity
}

// An entry is what is set at a place, and by whom.
type entry struct {
	by     *change
	price  float64
	amount int64
}

// A ledger holds what the overlays so far have set.
type ledger struct {
	prices, capacity map[place]entry
}

// enter adds what c sets where nobody stronger has set it. If somebody of the same weight has, nothing is added and the
// finding tells.
func (l *ledger) enter(c *change, supplies []Supply) *Finding {
	mine := ledger{prices: map[place]entry{}, capacity: map[place]entry{}}
	for _, s := range supplies {
		labels := require.FromLabels(s.Pool.Labels)
		for _, t := range s.Types {
			matched := c.matched(labels, t)
			if len(matched) == 0 {
				continue
			}
			if f := l.enterType(c, s.Pool, t, matched, mine); f != nil {
				return f
			}
		}
	}
	maps.Copy(l.prices, mine.prices)
	maps.Copy(l.capacity, mine.capacity)
	return nil
}

// enterType adds to mine what c sets of one type, of whose offerings it means those that matched.
func (l *ledger) enterType(
	c *change, pool *model.Pool, t *model.InstanceType, matched []int, mine ledger,
) *Finding {
	if c.price != nil {
		for _, i := range matched {
			at := place{pool: pool.Name, kind: t.Name, offering: i}
			if old, taken := l.prices[at]; !taken {
				mine.prices[at] = entry{by: c, price: c.price(t.Offerings[i].Price)}
			} else if old.by.weight == c.weight {
				return conflict(old.by, "the price of "+t.Name+" in "+t.Offerings[i].Zone, pool)
			}
		}
	}
	for _, name := range c.capacity.Names() {
		at := place{pool: pool.Name, kind: t.Name, resource: name}
		if old, taken := l.capacity[at]; !taken {
			mine.capacity[at] = entry{by: c, amount: c.capacity[name]}
		} else if old.by.weight == c.weight {
			return conflict(old.by, fmt.Sprintf("%s of %s", name, t.Name), pool)
		}
	}
	return nil
}

func conflict(with *change, what string, pool *model.Pool) *Finding {
	return &Finding{Reason: overlayv1alpha1.ReasonConflict, Message: fmt.Sprintf(
		"nodeoverlay %s has the same weight and sets %s for nodepool %s; give one of them another spec.weight",
		with.name, what, pool.Name)}
}

// lay returns the supply's types with all that the ledger holds for them.
func (l *ledger) lay(s Supply) []*model.InstanceType {
	extra := map[string]model.Resources{}
	for at, e := range l.capacity {
		if at.pool != s.Pool.Name {
			continue
		}
		if extra[at.kind] == nil {
			extra[at.kind] = model.Resources{}
		}
		extra[at.kind][at.resource] = e.amount
	}
	out := slices.Clone(s.Types)
	for i, t := range out {
		laid := *t
		l.price(&laid, s.Pool.Name)
		if more := extra[t.Name]; more != nil {
			laid.CapacityOverlaid = true
			laid.Capacity, laid.Allocatable = t.WithExtended(more)
		}
		if laid.PriceOverlaid || laid.CapacityOverlaid {
			out[i] = &laid
		}
	}
	return out
}

// price sets the prices of t, a copy, as the ledger has them for the pool.
func (l *ledger) price(t *model.InstanceType, pool string) {
	for i := range t.Offerings {
		e, ok := l.prices[place{pool: pool, kind: t.Name, offering: i}]
		if !ok {
			continue
		}
		if !t.PriceOverlaid {
			t.PriceOverlaid, t.Offerings = true, slices.Clone(t.Offerings)
		}
		t.Offerings[i].Price = e.price
	}
}
