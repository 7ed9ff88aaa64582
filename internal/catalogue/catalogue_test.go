package catalogue

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// All mistakes of a file are reported at once, each with the item and the field.
func TestReadReportsMistakes(t *testing.T) {
	_, err := Read("types.json", []byte(`[
		{"allocatable": {"cpu": "1"}},
		{"name": "twice"}, {"name": "twice"},
		{"name": "text", "allocatable": {"cpu": "many"}},
		{"name": "negative", "capacity": {"cpu": "-1"}},
		{"name": "zoneless", "offerings": [{"capacityType": "spot"}]},
		{"name": "lease", "offerings": [{"zone": "a", "capacityType": "lease"}]},
		{"name": "paid", "offerings": [{"zone": "a", "capacityType": "spot", "price": -1}]},
		{"name": "dear", "offerings": [{"zone": "a", "capacityType": "spot", "price": 1e300}]},
		{"name": "attached", "attach": {"ebs.csi.aws.com": -1}}
	]`))
	if err == nil {
		t.Fatal("it is accepted")
	}
	want := []string{
		`types.json: item 1: type "" has no name`,
		`types.json: item 3: type "twice" is there twice`,
		`types.json: item 4: type text: allocatable.cpu: "many" is no quantity such as 500m, 2 or 4Gi`,
		`types.json: item 5: type negative: capacity.cpu: -1 is negative`,
		`types.json: item 6: type zoneless: offerings[0].zone: is missing`,
		`types.json: item 7: type lease: offerings[0].capacityType: is "lease", want on-demand, spot or reserved`,
		`types.json: item 8: type paid: offerings[0].price: is -1, want dollars per hour from 0 to 1000000`,
		`types.json: item 9: type dear: offerings[0].price: is 1e+300, want dollars per hour from 0 to 1000000`,
		`types.json: item 10: type attached: attach.ebs.csi.aws.com: -1 is negative`,
	}
	if got := err.Error(); got != strings.Join(want, "\n") {
		t.Errorf("it reports\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if _, err := Read("types.json", []byte("[\n{]")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("no JSON: %v, want the line", err)
	}
}

// InstanceTypes keeps the order of the types. Read sorts them by name. A type without a number of pods has 110.
func TestInstanceTypes(t *testing.T) {
	types := []Type{
		{Name: "z", Allocatable: map[string]string{"cpu": "2", "pods": "8"}, Offerings: []Offering{{Zone: "a", CapacityType: "spot", Price: 1}}},
		{Name: "a", Allocatable: map[string]string{"cpu": "1"}, Capacity: map[string]string{"cpu": "1500m"}},
	}
	got, err := InstanceTypes(types)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Name != "z" || got[0].Allocatable[corev1.ResourcePods] != 8 || len(got[0].Offerings) != 1 {
		t.Errorf("the first is %+v", got[0])
	}
	if got[1].Allocatable[corev1.ResourcePods] != 110 || got[1].Capacity[corev1.ResourceCPU] != 1500 {
		t.Errorf("the second is %+v", got[1])
	}
	read, err := Read("types.json", []byte(`[{"name": "z"}, {"name": "a"}]`))
	if err != nil || read[0].Name != "a" {
		t.Errorf("read %v, %v", read, err)
	}
	if _, err := InstanceTypes([]Type{{Name: "b", Allocatable: map[string]string{"cpu": "x"}}}); err == nil || !strings.HasPrefix(err.Error(), "type b: ") {
		t.Errorf("error is %v, want the type's name", err)
	}
}
