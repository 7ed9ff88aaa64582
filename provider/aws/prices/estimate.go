package prices

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// Estimate estimates the list prices of the instance types that the shipped catalogue does not price in the region, such
// as types that are newer. vcpus has the number of vCPUs of each type that EC2 offers. Estimates are used until list
// prices are read. In regions without a Pricing API that is always. Call Estimate whenever the offered types may have changed.
//
// A type costs as much as a type of the most similar family of the region, in proportion to vCPUs. If the region has no priced family
// of the category, those of fallbackRegion count. A category without any priced family has no estimates.
func (b *Book) Estimate(ctx context.Context, vcpus map[string]int64) {
	b.write.Lock()
	defer b.write.Unlock()
	old := b.table.Load()
	if old.listed {
		return
	}
	elsewhere, _ := shippedPrices(b.shipped, fallbackRegion, b.region)
	near, far := familiesOf(b.shipped, old.onDemand), familiesOf(b.shipped, elsewhere)
	next := *old
	next.estimate = map[string]float64{}
	for name, n := range vcpus {
		if _, known := old.onDemand[name]; known {
			continue
		}
		r, ok := near.closest(name, n)
		if !ok {
			r, ok = far.closest(name, n)
		}
		if ok && n > 0 {
			next.estimate[name] = r.price * (float64(n) / float64(r.vcpus))
		}
	}
	if !maps.Equal(next.estimate, old.estimate) {
		next.revision++
		b.table.Store(&next)
		b.estimated.Set(float64(len(next.estimate)))
	}
	if !b.Listed() {
		b.reportEstimates(ctx)
	}
}

// reportEstimates logs once which families have estimated list prices.
func (b *Book) reportEstimates(ctx context.Context) {
	estimate := b.table.Load().estimate
	if len(estimate) == 0 || !b.reported.CompareAndSwap(false, true) {
		return
	}
	families := map[string]bool{}
	for name := range estimate {
		families[familyOf(name)] = true
	}
	log.FromContext(ctx).Info("estimated list prices that are not known", "count", len(estimate),
		"families", strings.Join(slices.Sorted(maps.Keys(families)), ","))
}

// A reference is an instance type with a list price from which other prices are estimated.
type reference struct {
	name  string
	vcpus int64
	price float64
}

// families has the references of a region by instance family.
type families map[string][]reference

func familiesOf(c *shipped.Catalog, onDemand map[string]float64) families {
	out := families{}
	for _, t := range c.Types {
		if p, ok := onDemand[t.Name]; ok && t.VCPU > 0 {
			family := familyOf(t.Name)
			out[family] = append(out[family], reference{t.Name, t.VCPU, p})
		}
	}
	return out
}

// closest returns the reference for an instance type with n vCPUs: in the most similar family the type of the same size, or else
// that of the nearest number of vCPUs. ok is false if there is no family of the category.
func (f families) closest(instanceType string, n int64) (r reference, ok bool) {
	family, size, _ := strings.Cut(instanceType, ".")
	to := parseFamily(family)
	var same []string
	for name := range f {
		if parseFamily(name).category == to.category {
			same = append(same, name)
		}
	}
	if len(same) == 0 {
		return reference{}, false
	}
	best := slices.MinFunc(same, func(a, b string) int { return cmp.Or(to.compare(parseFamily(a), parseFamily(b)), cmp.Compare(a, b)) })
	distance := func(r reference) int64 {
		if r.name == best+"."+size {
			return -1
		}
		return max(r.vcpus-n, n-r.vcpus)
	}
	return slices.MinFunc(f[best], func(a, b reference) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a.name, b.name))
	}), true
}

// A parsedFamily has the parts of the name of an instance family: m, 8 and i-flex of m8i-flex. The generation is 0 if the
// name has none.
type parsedFamily struct {
	category   string
	generation int
	letters    string
}

var familyParts = regexp.MustCompile(`^([a-z]*)([0-9]*)(.*)$`)

func parseFamily(family string) parsedFamily {
	parts := familyParts.FindStringSubmatch(family)
	if parts == nil {
		return parsedFamily{category: family}
	}
	generation, _ := strconv.Atoi(parts[2])
	return parsedFamily{parts[1], generation, parts[3]}
}

// processor returns the letter of the processor: a, g or i. Families without one, such as m5, have processors of Intel.
func (f parsedFamily) processor() string {
	if f.letters != "" && strings.Contains("ag", f.letters[:1]) {
		return f.letters[:1]
	}
	return "i"
}

// unlike returns 0 for a family with the same letters, 1 for one with the same processor, and 2 for others.
func (f parsedFamily) unlike(a parsedFamily) int {
	switch {
	case a.letters == f.letters:
		return 0
	case a.processor() == f.processor():
		return 1
	}
	return 2
}

// compare orders families of one category by their similarity to f, the most similar first. Families with the same letters
// come first, then those with the same processor. Among these the nearest generation comes first, of two as near the
// newer one, and then the family with the fewest letters.
func (f parsedFamily) compare(a, b parsedFamily) int {
	away := func(g int) int { return max(g-f.generation, f.generation-g) }
	return cmp.Or(
		cmp.Compare(f.unlike(a), f.unlike(b)),
		cmp.Compare(away(a.generation), away(b.generation)),
		cmp.Compare(b.generation, a.generation),
		cmp.Compare(len(a.letters), len(b.letters)),
	)
}
