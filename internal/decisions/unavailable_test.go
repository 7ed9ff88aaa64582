package decisions

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/engine/model"
)

func offer(zone, capacityType string, available bool, quota string) model.Offering {
	return model.Offering{Zone: zone, CapacityType: capacityType, Price: 1, Available: available, Quota: quota}
}

// What is written to the ConfigMap makes the same offerings unavailable for its reader.
func TestUnavailable(t *testing.T) {
	there := map[string][]*model.InstanceType{
		"one": {
			{Name: "m.large", Offerings: []model.Offering{offer("a", "spot", false, ""), offer("b", "spot", true, "")}},
			{Name: "c.large", Offerings: []model.Offering{offer("a", "spot", false, ""), offer("a", "on-demand", false, "vCPUs")}},
			{Name: "g.large", Offerings: []model.Offering{{Zone: "a", CapacityType: "spot", Unpriced: true}, {Zone: "a", CapacityType: "reserved", ReservationID: "r"}}},
		},
		// Another NodePool can use the offering, so it has capacity.
		"two": {{Name: "c.large", Offerings: []model.Offering{offer("a", "spot", true, "")}}},
	}
	text := NewUnavailable(there).Encode()
	want := `{"groups":[{"capacityType":"on-demand","zone":"a","quota":"vCPUs","types":["c.large"]},{"capacityType":"spot","zone":"a","types":["m.large"]}]}`
	if text != want {
		t.Errorf("%s, want %s", text, want)
	}
	read, err := DecodeUnavailable(text)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]*model.InstanceType{"one": {
		{Name: "m.large", Offerings: []model.Offering{offer("a", "spot", true, ""), offer("b", "spot", true, "")}},
		{Name: "c.large", Offerings: []model.Offering{offer("a", "on-demand", true, "")}},
	}}
	got := read.Apply(known)["one"]
	if diff := cmp.Diff([]model.Offering{offer("a", "spot", false, ""), offer("b", "spot", true, "")}, got[0].Offerings); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]model.Offering{offer("a", "on-demand", false, "vCPUs")}, got[1].Offerings); diff != "" {
		t.Error(diff)
	}
	if !known["one"][0].Offerings[0].Available {
		t.Error("Apply changed its argument")
	}
}

// The text is bounded.
func TestUnavailableIsBounded(t *testing.T) {
	var types []*model.InstanceType
	for i := range 20_000 {
		types = append(types, &model.InstanceType{Name: fmt.Sprintf("m%05d.large", i), Offerings: []model.Offering{offer("a", "spot", false, "")}})
	}
	u := NewUnavailable(map[string][]*model.InstanceType{"one": types})
	if n := len(u.Encode()); n > maxUnavailable+1000 || u.Omitted == 0 || u.Omitted+len(u.Groups[0].Types) != len(types) {
		t.Errorf("%d bytes, %d omitted, %d listed", n, u.Omitted, len(u.Groups[0].Types))
	}
}

func TestDecodeUnavailable(t *testing.T) {
	if u, err := DecodeUnavailable(""); err != nil || len(u.Groups) > 0 {
		t.Errorf("%v, %v", u, err)
	}
	if _, err := DecodeUnavailable("{"); err == nil {
		t.Error("no error")
	}
}
