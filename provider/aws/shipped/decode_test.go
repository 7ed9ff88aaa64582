package shipped

import (
	"bytes"
	"compress/gzip"
	"testing"
)

func TestLoad(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	r, ok := c.Region("us-east-1")
	if !ok || len(r.Zones) != 6 || c.AsOf.Prices == "" {
		t.Fatalf("us-east-1 has %d zones, prices are of %q", len(r.Zones), c.AsOf.Prices)
	}
	newer := []string{ // types that are newer than the facts about instances
		"c8g-flex.large", "m8g-flex.large", "c9g.large", "c9gd.large", "m9g.large", "m9gd.large", "g7.2xlarge", "r9gd.large",
	}
	for _, name := range newer {
		if c.BranchENIs[name] == 0 {
			t.Errorf("%s has no branch interfaces", name)
		}
	}
	for _, o := range r.Offers {
		if c.Types[o.Type].Name == "m5.large" {
			if o.OnDemand != 0.096 || len(r.Sells(o)) < 5 {
				t.Errorf("m5.large: %+v in %v", o, r.Sells(o))
			}
			return
		}
	}
	t.Error("m5.large is not sold in us-east-1")
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, text := range map[string]string{
		"another schema": `{"schema": 2}`,
		"a wild index":   `{"schema": 1, "regions": [{"name": "r", "offers": [[7, 1, 1, 1]]}]}`,
		"no JSON":        `schema`,
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := decode(b.Bytes()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := decode([]byte("not packed")); err == nil {
		t.Error("not packed: no error")
	}
}
