package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/cost"
)

// Other stands for the namespaces, owners, labels and NodePools that exceed the maximum number of keys.
const Other = "other"

// The bucket of the current period has keys as they are while there are fewer than maxKeys. After that, new keys lose their
// owner, then their label, their namespace and their place (see coarse). When the next bucket begins, the keptKeys largest amounts
// keep their keys. The others lose as little as possible (see condense). With these numbers a month of buckets fits in maxEncoded.
const (
	maxKeys        = 1000
	keptKeys       = 250
	keptLabels     = 100
	keptNamespaces = 200
)

// A Bucket has the dollars of one period, by key.
type Bucket struct {
	// Start is the beginning of the period. End is the time up to which amounts were added.
	Start, End time.Time
	Dollars    map[cost.Key]float64
	// Used is how nodes used commitments, by the name of the commitment. It is nil without commitments.
	Used map[string]Used
}

// A tier is a list of buckets of equal length, oldest first.
type tier struct {
	step time.Duration
	keep int
	list []*Bucket
}

// A Book has the amounts of the last 31 days. Use newBook, because the zero Book has no tiers.
type Book struct {
	tiers []tier
}

func newBook() *Book {
	return &Book{tiers: []tier{
		{step: 5 * time.Minute, keep: 36}, // three hours
		{step: time.Hour, keep: 72},       // three days
		{step: 24 * time.Hour, keep: 31},
	}}
}

// add adds dollars to the bucket that contains the time at. If at is before the last bucket, they are added to the last
// bucket.
func (b *Book) add(at time.Time, k cost.Key, dollars float64) {
	b.bucket(at).add(k, dollars)
}

// next returns the end of the bucket that contains the time at.
func (b *Book) next(at time.Time) time.Time {
	step := b.tiers[0].step
	return at.Truncate(step).Add(step)
}

// bucket returns the bucket that contains the time at, and creates it if necessary.
func (b *Book) bucket(at time.Time) *Bucket {
	t := &b.tiers[0]
	start := at.Truncate(t.step)
	if n := len(t.list); n > 0 && !start.After(t.list[n-1].Start) {
		return t.list[n-1]
	}
	if n := len(t.list); n > 0 {
		t.list[n-1].compact()
	}
	fresh := &Bucket{Start: start, End: at, Dollars: map[cost.Key]float64{}}
	b.push(0, fresh)
	return fresh
}

// push adds a bucket to tier i: to the last bucket there if both are in the same period, otherwise as a new bucket. If the
// tier then has too many buckets, the oldest ones are moved to the next tier, or dropped if there is none.
func (b *Book) push(i int, fresh *Bucket) {
	t := &b.tiers[i]
	if n := len(t.list); n > 0 && fresh.Start.Truncate(t.step).Equal(t.list[n-1].Start) {
		t.list[n-1].merge(fresh)
		return
	}
	if i > 0 {
		fresh = &Bucket{Start: fresh.Start.Truncate(t.step), End: fresh.End, Dollars: maps.Clone(fresh.Dollars), Used: maps.Clone(fresh.Used)}
	}
	t.list = append(t.list, fresh)
	for len(t.list) > t.keep {
		if i+1 < len(b.tiers) {
			b.push(i+1, t.list[0])
		}
		t.list = slices.Delete(t.list, 0, 1)
	}
}

func (b *Bucket) add(k cost.Key, dollars float64) {
	for i, most := range [...]int{maxKeys, maxKeys + keptKeys, maxKeys + 2*keptKeys, 2 * maxKeys} {
		if _, known := b.Dollars[k]; known || len(b.Dollars) < most {
			break
		}
		k = coarse(k, i+1)
	}
	b.Dollars[k] += dollars
}

// coarse returns k with Other in place of fields whose number of values is not bounded. The first step replaces the owner, the
// second also the label, the third also the namespace. The fourth step replaces the NodePool, too, and omits zone and capacity
// type. Empty fields stay empty.
func coarse(k cost.Key, steps int) cost.Key {
	for i, field := range [...]*string{&k.Owner, &k.Label, &k.Namespace, &k.Pool} {
		if i < steps && *field != "" {
			*field = Other
		}
	}
	if steps > 3 {
		k.Zone, k.CapacityType = "", ""
	}
	return k
}

func (b *Bucket) merge(o *Bucket) {
	for k, v := range o.Dollars {
		b.add(k, v)
	}
	for name, u := range o.Used {
		b.use(name, u)
	}
	if o.End.After(b.End) {
		b.End = o.End
	}
	b.compact()
}

// compact bounds the number of keys.
func (b *Bucket) compact() { condense(b.Dollars, keptKeys) }

// condense bounds the number of keys. The largest amounts, as many as the parameter most, keep their keys. The others lose their
// owner. Of the keys without owner, the keptLabels largest keep their label. Of those without label, the keptNamespaces largest
// keep their namespace.
// Keys of idle and reserved capacity have no namespace, owner and label, so condense does not change them.
func condense[V float64 | cost.Micros](sums map[cost.Key]V, most int) {
	if len(sums) <= most {
		return
	}
	fold(sums, most, 1, func(cost.Key) bool { return true })
	fold(sums, keptLabels, 2, func(k cost.Key) bool { return k.Owner == Other && k.Label != "" && k.Label != Other })
	fold(sums, keptNamespaces, 3, func(k cost.Key) bool {
		return k.Owner == Other && (k.Label == "" || k.Label == Other) && k.Namespace != Other
	})
}

// fold adds the amounts of the selected keys, except for the largest ones, to their coarse keys.
func fold[V float64 | cost.Micros](sums map[cost.Key]V, most, steps int, selected func(cost.Key) bool) {
	var keys []cost.Key
	for k := range sums {
		if selected(k) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l cost.Key) int { return cmp.Or(cmp.Compare(sums[l], sums[k]), k.Compare(l)) })
	for _, k := range keys[min(most, len(keys)):] {
		if c := coarse(k, steps); c != k {
			v := sums[k]
			delete(sums, k)
			sums[c] += v
		}
	}
}

// Begin returns the beginning of the oldest bucket, zero if there is none.
func (b *Book) Begin() time.Time {
	for i := len(b.tiers) - 1; i >= 0; i-- {
		if len(b.tiers[i].list) > 0 {
			return b.tiers[i].list[0].Start
		}
	}
	return time.Time{}
}

// Sum returns the amounts since the given time, by key. If a bucket begins before that time, a proportional part of its
// amounts is included.
func (b *Book) Sum(since time.Time) map[cost.Key]float64 {
	out := map[cost.Key]float64{}
	b.each(since, func(x *Bucket, share float64) {
		for k, v := range x.Dollars {
			out[k] += v * share
		}
	})
	return out
}

// Used returns how nodes used commitments since the given time, by the name of the commitment. Buckets count as in Sum.
func (b *Book) Used(since time.Time) map[string]Used {
	out := map[string]Used{}
	b.each(since, func(x *Bucket, share float64) {
		for name, u := range x.Used {
			out[name] = out[name].plus(u.times(share))
		}
	})
	return out
}

// each calls f for each bucket that ends after the given time, with the share of the bucket that is after that time.
func (b *Book) each(since time.Time, f func(x *Bucket, share float64)) {
	for _, t := range b.tiers {
		for _, x := range t.list {
			share := 1.0
			if length := x.End.Sub(x.Start); x.Start.Before(since) && length > 0 {
				share = max(0, x.End.Sub(since).Seconds()/length.Seconds())
			}
			if share > 0 {
				f(x, share)
			}
		}
	}
}
