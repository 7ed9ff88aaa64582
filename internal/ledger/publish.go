package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-go/karpenter/engine/cost"
)

// The maximum number of namespaces and NodePools with series of their own. The series of all others is "other".
const (
	maxNamespaces = 50
	maxPools      = 200
)

// retired is the time without amounts after which a name can lose its series to another name. Prometheus has read the last amounts
// by then.
const retired = time.Hour

// shown has the names with series of their own, and in due the amounts that are not yet added to counters. Counters cannot
// decrease, so a negative correction is subtracted from later amounts.
type shown struct {
	namespaces, pools names
	due               map[cost.Key]float64
}

// names has the names with series of their own, with the last time at which each had an amount.
type names map[string]time.Time

// label returns text if it has series of its own, which it gets if fewer than `most` names have some. Otherwise it takes the place
// of the name without an amount for the longest time, if that is at least retired. free then removes the counters of that name. If
// there is no place, label returns Other.
func (n *names) label(text string, now time.Time, most int, free func(name string)) string {
	if *n == nil {
		*n = names{}
	}
	if _, known := (*n)[text]; !known && len(*n) >= most {
		oldest, since := "", now.Add(-retired)
		for name, at := range *n {
			if at.Before(since) || at.Equal(since) && (oldest == "" || name < oldest) {
				oldest, since = name, at
			}
		}
		if oldest == "" {
			return Other
		}
		delete(*n, oldest)
		free(oldest)
	}
	(*n)[text] = now
	return text
}

// namespace returns the label of the series for the namespace, which has an amount.
func (l *Ledger) namespace(name string) string {
	return l.shown.namespaces.label(name, l.last, maxNamespaces, func(old string) {
		l.Metrics.NamespaceDollarsTotal.DeleteLabelValues(old)
	})
}

// pool returns the label of the series for the NodePool, which has an amount.
func (l *Ledger) pool(name string) string {
	return l.shown.pools.label(name, l.last, maxPools, func(old string) {
		l.Metrics.DollarsTotal.DeletePartialMatch(prometheus.Labels{"nodepool": old})
	})
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
			m.NamespaceDollarsTotal.WithLabelValues(l.namespace(k.Namespace)).Add(dollars)
		} else {
			m.DollarsTotal.WithLabelValues(l.pool(k.Pool), k.CapacityType, string(k.Kind), string(k.Cause)).Add(dollars)
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
		rates[cost.Key{Kind: k.Kind, Pool: l.pool(k.Pool), CapacityType: k.CapacityType, Cause: k.Cause}] += p.Rate
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
		m.NamespaceDollarsPerHour.WithLabelValues(l.namespace(n)).Add(namespaces[n].Dollars())
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
