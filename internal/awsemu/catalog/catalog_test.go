package catalog

import (
	"slices"
	"testing"
)

func TestLoad(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Types) < 850 || len(c.Regions) != 34 {
		t.Errorf("%d types in %d regions, want about 900 in 34", len(c.Types), len(c.Regions))
	}
	m5, ok := c.Type("m5.large")
	if !ok || m5.VCPU != 2 || m5.MemoryMiB != 8192 || m5.ENIs != 3 || m5.IPsPerENI != 10 || m5.Hypervisor != "nitro" {
		t.Errorf("m5.large is %+v", m5)
	}
	g5, ok := c.Type("g5.12xlarge")
	if !ok || len(g5.GPUs) != 1 || g5.GPUs[0].Count != 4 || g5.GPUs[0].Manufacturer != "NVIDIA" || g5.NVMeGB != 3800 {
		t.Errorf("g5.12xlarge is %+v", g5)
	}
	if _, ok := c.Type("m5.tiny"); ok {
		t.Error("m5.tiny exists")
	}
	virginia, ok := c.Region("us-east-1")
	if !ok || len(virginia.Zones) != 6 || virginia.Zones[0] != (Zone{"us-east-1a", "use1-az1"}) {
		t.Fatalf("us-east-1 is %+v", virginia)
	}
	offer := virginia.Offers["m5.large"]
	if offer.OnDemand != 0.096 || offer.Spot <= 0 || offer.Spot >= offer.OnDemand || !slices.Contains(offer.Zones, "us-east-1b") {
		t.Errorf("m5.large is offered as %+v", offer)
	}
	for _, r := range c.Regions {
		for name, o := range r.Offers {
			if len(o.Zones) == 0 {
				t.Errorf("%s is offered in no zone of %s", name, r.Name)
			}
		}
	}
}
