package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
)

// Sources of prices, as the status of a class names them.
const (
	sourceAnnotation  = "Annotation"
	sourceConfigMap   = "ConfigMap"
	sourceFile        = "File"
	sourcePerResource = "PerResource"
)

// pricesKey is the key of a ConfigMap with prices.
const pricesKey = "prices.yaml"

// A price is what a machine costs.
type price struct {
	dollars float64 // per hour
	source  string
	read    *metav1.Time // when the price was read, nil if the source does not state it
}

// A priceTable is the content of a file or ConfigMap with prices.
type priceTable struct {
	// PriceTime is when the prices were read, as 2026-11-01 or in RFC 3339.
	PriceTime string       `json:"priceTime,omitempty"`
	Prices    []priceEntry `json:"prices"`

	read *metav1.Time
}

// A priceEntry is the price of one template, in one failure domain or zone if Zone is set.
type priceEntry struct {
	Template     string  `json:"template"`
	Zone         string  `json:"zone,omitempty"`
	PricePerHour float64 `json:"pricePerHour"`
}

// parsePrices parses a table of prices. Unknown fields are errors.
func parsePrices(data []byte) (*priceTable, error) {
	var t priceTable
	if err := yaml.UnmarshalStrict(data, &t); err != nil {
		return nil, fmt.Errorf("parse prices: %w", err)
	}
	var errs []error
	for i, e := range t.Prices {
		switch {
		case e.Template == "":
			errs = append(errs, fmt.Errorf("prices[%d].template is empty", i))
		case !(e.PricePerHour >= 0 && e.PricePerHour <= maxPrice):
			errs = append(errs, fmt.Errorf("prices[%d].pricePerHour is %v, want 0 to %d", i, e.PricePerHour, maxPrice))
		}
	}
	var err error
	t.read, err = parseTime(t.PriceTime)
	return &t, errors.Join(append(errs, err)...)
}

// maxPrice is the largest price per hour. A larger price is refused, because its unit is probably wrong.
const maxPrice = 100_000

// parseTime parses a date or a time in RFC 3339. An empty text is no time.
func parseTime(text string) (*metav1.Time, error) {
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return &metav1.Time{Time: t.UTC()}, nil
		}
	}
	return nil, fmt.Errorf("time of prices is %q, want 2026-11-01 or RFC 3339", text)
}

// of returns the price of the template in a zone or failure domain. An entry for this zone or failure domain takes
// precedence over one without a zone.
func (t *priceTable) of(name string, d domain, source string) (price, bool) {
	if t == nil {
		return price{}, false
	}
	best, found := price{source: source, read: t.read}, false
	for _, e := range t.Prices {
		if e.Template != name {
			continue
		}
		switch {
		case e.Zone == "" && !found:
			best.dollars, found = e.PricePerHour, true
		case e.Zone != "" && (e.Zone == d.zone || e.Zone == d.name):
			best.dollars = e.PricePerHour
			return best, true
		}
	}
	return best, found
}

// A priceBook finds prices for the templates of one class.
type priceBook struct {
	file, configMap *priceTable
	perResource     *clusterapiv1alpha1.ResourcePrices
}

// of returns the price of the template in the failure domain. The first of these that has a price counts: the annotation of the
// template, the ConfigMap, the file, the prices of resources.
func (b priceBook) of(t *template, d domain) (price, bool) {
	if p, ok := annotatedPrice(t, d); ok {
		return p, true
	}
	if p, ok := b.configMap.of(t.name, d, sourceConfigMap); ok {
		return p, true
	}
	if p, ok := b.file.of(t.name, d, sourceFile); ok {
		return p, true
	}
	return b.ofResources(t)
}

// annotatedPrice returns the price in the annotation of the template. The annotation is a list of entries, separated by
// commas. An entry is a price per hour, or zone=price, which takes precedence in that zone or failure domain. Entries
// that cannot be parsed are ignored.
func annotatedPrice(t *template, d domain) (price, bool) {
	read, err := parseTime(t.priceTime)
	if err != nil {
		read = nil
	}
	p, found := price{source: sourceAnnotation, read: read}, false
	for part := range strings.SplitSeq(t.price, ",") {
		where, amount, listed := strings.Cut(strings.TrimSpace(part), "=")
		if !listed {
			amount = where
		}
		dollars, err := strconv.ParseFloat(amount, 64)
		if err != nil || !(dollars >= 0 && dollars <= maxPrice) {
			continue
		}
		if listed && (where == d.name || where == d.zone) {
			p.dollars = dollars
			return p, true
		}
		if !listed {
			p.dollars, found = dollars, true
		}
	}
	return p, found
}

// ofResources returns the price of the template's resources. If the template has GPUs and the class has no price of a
// GPU, the price is not known.
func (b priceBook) ofResources(t *template) (price, bool) {
	if b.perResource == nil {
		return price{}, false
	}
	cpu, memory := t.capacity[corev1.ResourceCPU], t.capacity[corev1.ResourceMemory]
	dollars := b.perResource.CPU.AsApproximateFloat64()*cpu.AsApproximateFloat64() +
		b.perResource.MemoryGiB.AsApproximateFloat64()*memory.AsApproximateFloat64()/(1<<30)
	if count := gpus(t.capacity); count > 0 {
		if b.perResource.GPU == nil {
			return price{}, false
		}
		dollars += b.perResource.GPU.AsApproximateFloat64() * float64(count)
	}
	return price{dollars: dollars, source: sourcePerResource}, true
}

// gpus returns the number of GPUs: the sum of all resources whose name ends in /gpu.
func gpus(capacity corev1.ResourceList) (count int64) {
	for name, q := range capacity {
		if strings.HasSuffix(string(name), "/gpu") {
			count += q.Value()
		}
	}
	return count
}

// priceAge is how long prices of a ConfigMap or file are used before they are read again.
const priceAge = time.Minute

// prices reads tables of prices. It keeps the last tables, so that a table that cannot be read or parsed does not remove prices.
type prices struct {
	reader client.Reader
	file   string // path, empty for none
	clock  clock.PassiveClock

	mu     sync.Mutex // guards tables
	tables map[string]*keptTable
}

// A keptTable is the last table of one source.
type keptTable struct {
	table *priceTable // nil if there was none yet
	err   error       // why the last read failed
	read  time.Time
}

// of returns the price book of the class, and an error for each source that could not be read.
func (p *prices) of(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) (priceBook, error) {
	var book priceBook
	var errs []error
	var err error
	if p.file != "" {
		book.file, err = p.table(p.file, func() ([]byte, error) { return os.ReadFile(p.file) })
		errs = append(errs, err)
	}
	if c := class.Spec.Prices; c != nil {
		book.perResource = c.PerResource
		if ref := c.ConfigMap; ref != nil {
			book.configMap, err = p.table("configmap "+ref.Namespace+"/"+ref.Name, func() ([]byte, error) { return p.configMap(ctx, *ref) })
			errs = append(errs, err)
		}
	}
	return book, errors.Join(errs...)
}

// table returns the table of a source, read at most priceAge ago. If the source cannot be read or parsed, it returns the
// error and the last table that could be, nil for none.
func (p *prices) table(source string, read func() ([]byte, error)) (*priceTable, error) {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.tables[source]
	if kept != nil && now.Sub(kept.read) < priceAge {
		return kept.table, kept.err
	}
	if kept == nil {
		kept = &keptTable{}
		if p.tables == nil {
			p.tables = map[string]*keptTable{}
		}
		p.tables[source] = kept
	}
	kept.read = now
	data, err := read()
	if err == nil {
		var table *priceTable
		if table, err = parsePrices(data); err == nil {
			kept.table = table
		}
	}
	kept.err = nil
	if err != nil {
		kept.err = fmt.Errorf("prices of %s: %w", source, err)
	}
	return kept.table, kept.err
}

func (p *prices) configMap(ctx context.Context, ref clusterapiv1alpha1.ConfigMapReference) ([]byte, error) {
	var m corev1.ConfigMap
	if err := p.reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &m); err != nil {
		return nil, err
	}
	text, ok := m.Data[pricesKey]
	if !ok {
		return nil, fmt.Errorf("it has no key %s", pricesKey)
	}
	return []byte(text), nil
}
