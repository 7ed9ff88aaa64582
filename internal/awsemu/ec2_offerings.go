package awsemu

import (
	"slices"
	"strconv"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type offeringXML struct {
	InstanceType string `xml:"instanceType"`
	LocationType string `xml:"locationType"`
	Location     string `xml:"location"`
}

type describeOfferingsXML struct {
	Offerings wire.Set[offeringXML] `xml:"instanceTypeOfferingSet"`
	Next      string                `xml:"nextToken,omitempty"`
}

// describeInstanceTypeOfferings lists the regions or zones in which types are offered.
func (e *Emulator) describeInstanceTypeOfferings(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 5, 1000)
	if failure != nil {
		return nil, failure
	}
	kind := r.form.String("LocationType")
	if kind == "" {
		kind = "region"
	}
	if !slices.Contains([]string{"region", "availability-zone", "availability-zone-id"}, kind) {
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter LocationType is invalid.", kind)
	}
	offerings, failure := wire.Keep(e.offerings(kind), wire.Filters(r.form), func(o offeringXML) wire.Lookup {
		return func(name string) ([]string, bool) {
			switch name {
			case "instance-type":
				return one(o.InstanceType)
			case "location":
				return one(o.Location)
			}
			return nil, false
		}
	})
	if failure != nil {
		return nil, failure
	}
	key := func(o offeringXML) string { return o.InstanceType + " " + o.Location }
	offerings, next, failure := wire.Cut(offerings, key, page)
	if failure != nil {
		return nil, failure
	}
	return describeOfferingsXML{wire.SetOf(offerings...), next}, r.form.Err()
}

// offerings returns every combination of type and location, sorted by type and location. kind is the type of the locations.
func (e *Emulator) offerings(kind string) []offeringXML {
	ids := map[string]string{}
	for _, z := range e.world.Zones() {
		ids[z.Name] = z.ID
	}
	var out []offeringXML
	for name, offer := range e.world.Offers() {
		locations := offer.Zones
		if kind == "region" {
			locations = []string{e.world.Region()}
		}
		for _, location := range locations {
			if kind == "availability-zone-id" {
				location = ids[location]
			}
			out = append(out, offeringXML{name, kind, location})
		}
	}
	slices.SortFunc(out, func(a, b offeringXML) int {
		return compareStrings(a.InstanceType+" "+a.Location, b.InstanceType+" "+b.Location)
	})
	return out
}

type spotPriceXML struct {
	InstanceType string `xml:"instanceType"`
	Product      string `xml:"productDescription"`
	Price        string `xml:"spotPrice"`
	Timestamp    string `xml:"timestamp"`
	Zone         string `xml:"availabilityZone"`
	ZoneID       string `xml:"availabilityZoneId"`
}

type describeSpotPricesXML struct {
	History wire.Set[spotPriceXML] `xml:"spotPriceHistorySet"`
	Next    string                 `xml:"nextToken"`
}

// describeSpotPriceHistory lists spot prices of Linux instances.
func (e *Emulator) describeSpotPriceHistory(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 1, 10000)
	if failure != nil {
		return nil, failure
	}
	if page.Max == 0 {
		page.Max = 1000
	}
	history := e.world.SpotHistory(r.form.Time("StartTime"), r.form.Time("EndTime"))
	types, zone := r.form.List("InstanceType"), r.form.String("AvailabilityZone")
	products := r.form.List("ProductDescription")
	linux := len(products) == 0 || slices.Contains(products, "Linux/UNIX") || slices.Contains(products, "Linux/UNIX (Amazon VPC)")
	history = slices.DeleteFunc(history, func(p world.SpotPrice) bool {
		return !linux || len(types) > 0 && !slices.Contains(types, p.Type) || zone != "" && zone != p.Zone
	})
	history, failure = wire.Keep(history, wire.Filters(r.form), spotLookup)
	if failure != nil {
		return nil, failure
	}
	slices.SortFunc(history, func(a, b world.SpotPrice) int { return compareStrings(spotKey(a), spotKey(b)) })
	history, next, failure := wire.Cut(history, spotKey, page)
	if failure != nil {
		return nil, failure
	}
	ids := map[string]string{}
	for _, z := range e.world.Zones() {
		ids[z.Name] = z.ID
	}
	out := describeSpotPricesXML{Next: next}
	for _, p := range history {
		out.History.Items = append(out.History.Items, spotPriceXML{
			p.Type, "Linux/UNIX", strconv.FormatFloat(p.USD, 'f', 6, 64), wire.Time(p.At), p.Zone, ids[p.Zone],
		})
	}
	return out, r.form.Err()
}

// spotKey returns a sort key: by type, then zone, then newest first.
func spotKey(p world.SpotPrice) string {
	const farFuture = 1 << 40
	return p.Type + " " + p.Zone + " " + strconv.FormatInt(farFuture-p.At.Unix(), 10)
}

// spotLookup returns the values of a spot price for the filters of DescribeSpotPriceHistory.
func spotLookup(p world.SpotPrice) wire.Lookup {
	return func(name string) ([]string, bool) {
		switch name {
		case "instance-type":
			return one(p.Type)
		case "availability-zone":
			return one(p.Zone)
		case "product-description":
			return []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"}, true
		case "spot-price":
			return one(strconv.FormatFloat(p.USD, 'f', 6, 64))
		case "timestamp":
			return one(wire.Time(p.At))
		}
		return nil, false
	}
}
