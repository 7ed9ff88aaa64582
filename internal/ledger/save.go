package ledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/karpenter-go/karpenter/engine/cost"
)

const (
	// MapName is the name of the ConfigMap, MapKey the key of its binary data.
	MapName = "karpenter-cost"
	MapKey  = "ledger.json.gz"
	// maxEncoded is the maximum size of an encoded ledger in bytes. A ConfigMap can have 1 MiB.
	maxEncoded = 900 << 10
	// maxDecoded bounds the decoded size of the ConfigMap, because other users may have changed it.
	maxDecoded = 64 << 20
)

// A Saved is the stored form of a Ledger. Reports are computed from it.
type Saved struct {
	// Begin is the time since which amounts are known. Until is the time up to which they are charged.
	Begin time.Time `json:"begin"`
	Until time.Time `json:"until"`
	// Rates are the prices per hour at Until, Floor the lower bound of their sum.
	Rates    []cost.Part `json:"rates"`
	Floor    cost.Micros `json:"floor"`
	Nodes    int         `json:"nodes"`
	Unpriced int         `json:"unpriced,omitempty"`
	// Commitments are how the nodes use commitments at Until.
	Commitments []Commitment `json:"commitments,omitempty"`
	// Opens is the result of the function Opens at Until or up to a minute earlier.
	Opens map[string]time.Time `json:"opens,omitempty"`
	// Label is the key of the label by which amounts are added up.
	Label string `json:"label,omitempty"`
	// Tiers are the buckets of a Book, without those that do not fit in a ConfigMap.
	Tiers [][]savedBucket `json:"tiers"`
	// Actions are the ended actions that are kept, and the last maxActions of those that are running. Sums are those of ended
	// actions that are not kept.
	Actions     []Action    `json:"actions,omitempty"`
	Sums        []Saving    `json:"savings,omitempty"`
	Predictions Predictions `json:"predictions"`
}

type savedBucket struct {
	Start   time.Time     `json:"s"`
	End     time.Time     `json:"e"`
	Amounts []savedAmount `json:"a"`
	// Used is by the name of the commitment.
	Used map[string]Used `json:"c,omitempty"`
}

// A savedAmount is an amount with the fields of its key, in the order of cost.Key.
type savedAmount struct {
	Key     [8]string    `json:"k"`
	Dollars savedDollars `json:"d"`
}

// savedDollars are encoded with ten digits. Compression cannot reduce further digits, so they would be most of the data.
type savedDollars float64

// MarshalJSON implements json.Marshaler.
func (d savedDollars) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(d), 'g', 10, 64), nil
}

func packKey(k cost.Key) [8]string {
	return [8]string{string(k.Kind), k.Pool, k.CapacityType, k.Zone, k.Namespace, k.Owner, k.Label, string(k.Cause)}
}

func unpackKey(f [8]string) cost.Key {
	return cost.Key{
		Kind: cost.Kind(f[0]), Pool: f[1], CapacityType: f[2], Zone: f[3], Namespace: f[4], Owner: f[5], Label: f[6], Cause: cost.Cause(f[7]),
	}
}

// Save returns the ledger in its stored form. If the rates have too many keys, some are added up under coarse keys.
func (l *Ledger) Save() Saved {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Saved{
		Begin: l.begin, Until: l.last, Rates: few(l.now.Parts), Floor: l.floor, Nodes: l.now.Nodes, Unpriced: l.now.Unpriced,
		Commitments: l.commitments, Label: l.Label, Opens: l.opens, Predictions: l.predictions.copy(),
	}
	for _, t := range l.book.tiers {
		list := []savedBucket{}
		for _, b := range t.list {
			x := savedBucket{Start: b.Start.UTC(), End: b.End.UTC(), Used: maps.Clone(b.Used)}
			for k, v := range b.Dollars {
				x.Amounts = append(x.Amounts, savedAmount{packKey(k), savedDollars(v)})
			}
			slices.SortFunc(x.Amounts, func(a, b savedAmount) int { return unpackKey(a.Key).Compare(unpackKey(b.Key)) })
			list = append(list, x)
		}
		out.Tiers = append(out.Tiers, list)
	}
	out.Actions, out.Sums = l.savings.saved(), slices.Clone(l.savings.sums)
	return out
}

// saved returns copies of the actions to be stored.
func (v *savings) saved() (out []Action) {
	running := 0
	for _, a := range slices.Backward(v.actions) {
		if a.State == Running {
			running++
		}
		if a.State != Running || running <= maxActions {
			out = append(out, *a)
		}
	}
	slices.Reverse(out)
	return out
}

func (p *Predictions) copy() Predictions {
	out := Predictions{Errors: map[string]*Error{}, Hits: p.Hits, Misses: p.Misses}
	for k, e := range p.Errors {
		own := *e
		out.Errors[k] = &own
	}
	return out
}

// few bounds the number of parts (see condense). The maxKeys largest keep their keys. If it adds up parts, the result is in the
// order of keys.
func few(parts []cost.Part) []cost.Part {
	if len(parts) <= maxKeys {
		return slices.Clone(parts)
	}
	sums := make(map[cost.Key]cost.Micros, len(parts))
	for _, p := range parts {
		sums[p.Key] += p.Rate
	}
	condense(sums, maxKeys)
	out := make([]cost.Part, 0, len(sums))
	for k, rate := range sums {
		out = append(out, cost.Part{Key: k, Rate: rate})
	}
	slices.SortFunc(out, func(a, b cost.Part) int { return a.Key.Compare(b.Key) })
	return out
}

// compressors are gzip writers. A new one allocates more than a megabyte.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Encode returns the data for the ConfigMap. If they are larger than maxEncoded, the oldest buckets are omitted, but at
// least one remains in each tier that has any.
func (s Saved) Encode() ([]byte, error) {
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	for {
		var b bytes.Buffer
		z.Reset(&b)
		if err := json.NewEncoder(z).Encode(s); err != nil {
			return nil, fmt.Errorf("encode ledger: %w", err)
		}
		if err := z.Close(); err != nil {
			return nil, fmt.Errorf("compress ledger: %w", err)
		}
		if b.Len() <= maxEncoded || !s.dropOldest() {
			return b.Bytes(), nil
		}
	}
}

// dropOldest removes the oldest quarter, at least one, of the buckets of the last tier that has more than one bucket. It
// reports whether there is such a tier.
func (s *Saved) dropOldest() bool {
	for i := len(s.Tiers) - 1; i >= 0; i-- {
		if n := len(s.Tiers[i]); n > 1 {
			s.Tiers[i] = s.Tiers[i][max(1, n/4):]
			s.Begin = later(s.Begin, s.Tiers[i][0].Start)
			return true
		}
	}
	return false
}

// Decode is the inverse of Encode.
func Decode(data []byte) (Saved, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return Saved{}, fmt.Errorf("read ledger: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxDecoded))
	if err != nil {
		return Saved{}, fmt.Errorf("read ledger: %w", err)
	}
	var s Saved
	if err := json.Unmarshal(text, &s); err != nil {
		return Saved{}, fmt.Errorf("read ledger: %w", err)
	}
	return s, nil
}

// Restore continues a stored ledger in place of what was charged so far. It is called before the first Observe, or later if the
// stored ledger could not be read before. It drops stored actions that were not complete. If their nodes are still marked for
// disruption, Observe begins these actions again.
func (l *Ledger) Restore(s Saved) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin, l.last, l.nodes = s.Begin, s.Until, nil
	l.book = s.book()
	var actions []*Action
	for _, a := range s.Actions {
		if a.State != Running {
			a.told = true
			actions = append(actions, &a)
		}
	}
	l.savings.actions = append(actions, l.savings.actions...)
	for _, x := range s.Sums {
		l.savings.sums.merge(x)
	}
	l.predictions = s.Predictions
	if l.predictions.Errors != nil {
		l.predictions.boots = map[string]time.Duration{}
	}
}

// book returns the stored buckets as a Book.
func (s Saved) book() *Book {
	b := newBook()
	for i, list := range s.Tiers {
		if i >= len(b.tiers) {
			break
		}
		for _, x := range list {
			own := &Bucket{Start: x.Start, End: x.End, Dollars: make(map[cost.Key]float64, len(x.Amounts)), Used: maps.Clone(x.Used)}
			for _, a := range x.Amounts {
				own.Dollars[unpackKey(a.Key)] += float64(a.Dollars)
			}
			b.tiers[i].list = append(b.tiers[i].list, own)
		}
	}
	return b
}
