package catalogue

import (
	"math"
	"testing"
)

// FuzzRead reads arbitrary bytes as a catalogue. Accepted types have finite prices in range, amounts that are not negative, and
// distinct names in order.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`[]`, `null`, `[null]`, `{}`, `[{"name": "a", "allocatable": {"cpu": "1930m", "memory": "7Gi"}, "offerings": [{"zone": "a", "capacityType": "spot", "price": 0.1}]}]`,
		`[{"name": "a", "offerings": [{"zone": "a", "capacityType": "spot", "price": 1e300}]}]`, `[{"name": "a", "allocatable": {"cpu": "9E9"}, "capacity": {"cpu": "-1"}}]`,
		`[{"name": "a", "labels": {"kubernetes.io/os": "windows", "": ""}, "attach": {"x": -1}}]`, `[{"name": "a"}, {"name": "a"}]`, "[\n{]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		types, err := Read("types.json", data)
		if err != nil {
			return
		}
		for i, m := range types {
			if m.Name == "" || i > 0 && types[i-1].Name >= m.Name {
				t.Errorf("type %d is %q after %q", i, m.Name, types[max(0, i-1)].Name)
			}
			for name, amount := range m.Allocatable {
				if amount < 0 || amount > m.Capacity[name] {
					t.Errorf("%s has %d of %d %s", m.Name, amount, m.Capacity[name], name)
				}
			}
			for _, o := range m.Offerings {
				if math.IsNaN(o.Price) || o.Price < 0 || o.Price > maxPrice || o.Zone == "" {
					t.Errorf("%s costs %v in %q", m.Name, o.Price, o.Zone)
				}
			}
		}
	})
}
