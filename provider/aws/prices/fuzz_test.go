package prices

import (
	"math"
	"testing"
)

// FuzzParseRules reads price books of any form. With an accepted price book, every price is a finite number of dollars.
func FuzzParseRules(f *testing.F) {
	for _, text := range []string{
		priceBook, "", "null", "discounts: [{percent: .nan}]", "fees: [{usd: .inf}]", "fees: [{usd: 1e308}, {usd: 1e308}]", "discounts: [null]",
		"discounts: [{percent: 100, vcpus: 9223372036854775807, match: {types: ['*', '**?']}}]", "a: &a [*a, *a]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRules(text)
		if err != nil {
			return
		}
		for _, capacityType := range []string{"on-demand", "spot"} {
			u := Usage{Nodes: map[Sold]int{{"m5.large", capacityType}: 1}, VCPUs: map[Sold]int64{{"m5.large", capacityType}: 2}}
			if p := r.Price("m5.large", capacityType, 1, u); math.IsNaN(p) || math.IsInf(p, 0) || p < 0 {
				t.Errorf("the price is %v", p)
			}
		}
	})
}
