package ledger

import (
	"cmp"
	"slices"

	"github.com/karpenter-go/karpenter/engine/cost"
)

// The maximum number of namespaces and NodePools with series of their own. The series of all others is "other".
const (
	maxNamespaces = 50
	maxPools      = 200
)

// shown has the names with series of their own, and in due the amounts that are not yet added to counters. Counters cannot
// decrease, so a negative correction is subtracted from later amounts.
type shown struct {
	namespaces, pools map[string]bool
	due               map[cost.Key]float64
}

// name returns text, and adds it to the known names. If text is not known and at least `most` names are known, it returns
// Other.
func name(known *map[string]bool, text string, most int) string {
	if *known == nil {
		*known = map[string]bool{}
	}
	if !(*known)[text] && len(*known) >= most {
		return Other
	}
	(*known)[text] = true
	return text
}

// add records an amount that is to be published.
func (v *shown) add(k cost.Key, dollars float64) {
	if v.due == nil {
		v.due = map[cost.Key]float64{}
	}
	v.due[cost.Key{Kind: k.Kind, Pool: k.Pool, CapacityType: k.CapacityType, Cause: k.Cause}] += dollars
	if k.Kind == cost.Workload {
		v.due[cost.Key{Namespace: k.Namespace}] += dollars
	}
}

// publish writes the metrics.
func (l *Ledger) publish() {
	m := l.Metrics
	if m == nil {
		l.shown.due = nil
		return
	}
	l.publishRates()
	for k, dollars := range l.shown.due {
		if dollars <= 0 {
			continue
		}
		if k.Kind == "" {
			m.NamespaceDollarsTotal.WithLabelValues(name(&l.shown.namespaces, k.Namespace, maxNamespaces)).Add(dollars)
		} else {
			m.DollarsTotal.WithLabelValues(name(&l.shown.pools, k.Pool, maxPools), k.CapacityType, string(k.Kind), string(k.Cause)).Add(dollars)
		}
		delete(l.shown.due, k)
	}
}

// publishActions adds the actions that have ended to the metrics, once each.
func (l *Ledger) publishActions() {
	for _, a := range l.savings.actions {
		if a.State == Running || a.told {
			continue
		}
		a.told = true
		if l.Metrics != nil {
			l.publishAction(a)
		}
	}
}

// publishRates writes the gauges.
func (l *Ledger) publishRates() {
	m := l.Metrics
	rates, namespaces := map[cost.Key]cost.Micros{}, map[string]cost.Micros{}
	for _, p := range l.now.Parts {
		k := p.Key
		rates[cost.Key{Kind: k.Kind, Pool: name(&l.shown.pools, k.Pool, maxPools), CapacityType: k.CapacityType, Cause: k.Cause}] += p.Rate
		if k.Kind == cost.Workload {
			namespaces[k.Namespace] += p.Rate
		}
	}
	m.DollarsPerHour.Reset()
	for k, rate := range rates {
		m.DollarsPerHour.WithLabelValues(k.Pool, k.CapacityType, string(k.Kind), string(k.Cause)).Set(rate.Dollars())
	}
	names := make([]string, 0, len(namespaces)) // the most expensive namespaces are the first to get their own series
	for n := range namespaces {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(namespaces[b], namespaces[a]), cmp.Compare(a, b)) })
	m.NamespaceDollarsPerHour.Reset()
	for _, n := range names {
		m.NamespaceDollarsPerHour.WithLabelValues(name(&l.shown.namespaces, n, maxNamespaces)).Add(namespaces[n].Dollars())
	}
	l.publishCommitments()
	m.FloorDollarsPerHour.WithLabelValues().Set(l.floor.Dollars())
	m.UnpricedNodes.WithLabelValues().Set(float64(l.now.Unpriced))
}

func (l *Ledger) publishAction(a *Action) {
	m := l.Metrics
	m.ActionsTotal.WithLabelValues(a.reason(), a.Decision, a.State).Inc()
	if a.State == Done {
		m.SavingsPlanned.WithLabelValues(a.reason(), a.Decision).Add(a.Planned)
		m.SavingsRealized.WithLabelValues(a.reason(), a.Decision).Add(a.Realized())
		m.ActionEvictionsTotal.WithLabelValues(a.reason(), a.Decision).Add(float64(a.Evictions))
	}
}
