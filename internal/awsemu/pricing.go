package awsemu

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// pricingActions returns the operations of the price list service.
func (e *Emulator) pricingActions() map[string]handler {
	return map[string]handler{"GetProducts": e.getProducts}
}

// A priceFilter is one filter of GetProducts.
type priceFilter struct{ Field, Type, Value string }

// getProducts lists the on-demand prices of Linux instances in one region. Unlike the real service, it requires the filter
// regionCode.
func (e *Emulator) getProducts(r *request) (any, *wire.Error) {
	var in struct {
		ServiceCode string
		Filters     []priceFilter
		MaxResults  int
		NextToken   string
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if in.ServiceCode != "AmazonEC2" {
		return nil, wire.Errorf("InvalidParameterException", "The service code %q is not emulated", in.ServiceCode)
	}
	region := ""
	for _, f := range in.Filters {
		if f.Type != "TERM_MATCH" {
			return nil, wire.Errorf("InvalidParameterException", "Filter type %q is not emulated", f.Type)
		}
		if f.Field == "regionCode" {
			region = f.Value
		}
	}
	if in.MaxResults <= 0 || in.MaxResults > 100 {
		in.MaxResults = 100
	}
	prices := e.world.OnDemandPrices(region)
	var names []string
	for _, name := range sortedKeys(prices) {
		if passesPriceFilters(e.product(name, region), in.Filters) {
			names = append(names, name)
		}
	}
	names, next, failure := wire.Cut(names, func(s string) string { return s }, wire.Page{Max: in.MaxResults, Token: in.NextToken})
	if failure != nil {
		return nil, wire.Errorf("InvalidNextTokenException", "Invalid NextToken")
	}
	out := struct {
		FormatVersion string
		PriceList     []string
		NextToken     string `json:",omitempty"`
	}{"aws_v1", []string{}, next}
	for _, name := range names {
		item, err := e.priceItem(name, region, prices[name])
		if err != nil {
			return nil, wire.Errorf("InternalErrorException", "%v", err)
		}
		out.PriceList = append(out.PriceList, item)
	}
	return out, nil
}

// product returns the attributes of a type's price, to which filters apply.
func (e *Emulator) product(name, region string) map[string]string {
	t, ok := e.world.AnyType(name)
	if !ok {
		return nil
	}
	family, tenancy := "Compute Instance", "Shared"
	if t.BareMetal {
		family, tenancy = "Compute Instance (bare metal)", "Dedicated"
	}
	current := "No"
	if t.Current {
		current = "Yes"
	}
	return map[string]string{
		"productFamily": family, "servicecode": "AmazonEC2", "serviceCode": "AmazonEC2", "regionCode": region, "instanceType": name,
		"tenancy": tenancy, "operatingSystem": "Linux", "preInstalledSw": "NA", "capacitystatus": "Used",
		"marketoption": "OnDemand", "licenseModel": "No License required", "operation": "RunInstances",
		"locationType": "AWS Region", "currentGeneration": current, "vcpu": strconv.Itoa(t.VCPU),
		"memory": fmt.Sprintf("%g GiB", float64(t.MemoryMiB)/1024), "instanceFamily": strings.Split(name, ".")[0],
	}
}

// passesPriceFilters reports whether a product has the values of all filters.
func passesPriceFilters(product map[string]string, filters []priceFilter) bool {
	for _, f := range filters {
		if !strings.EqualFold(product[f.Field], f.Value) {
			return false
		}
	}
	return product != nil
}

// priceItem encodes a price like the service: as JSON text inside a JSON string.
func (e *Emulator) priceItem(name, region string, usd float64) (string, error) {
	sku := skuOf(name, region)
	const term, rate = "JRTCKXETXF", "6YS6EN2CT7" // the codes for "on demand" and "per hour"
	attributes := e.product(name, region)
	family := attributes["productFamily"]
	delete(attributes, "productFamily")
	delete(attributes, "serviceCode")
	item := map[string]any{
		"serviceCode": "AmazonEC2",
		"product":     map[string]any{"productFamily": family, "sku": sku, "attributes": attributes},
		"terms": map[string]any{"OnDemand": map[string]any{sku + "." + term: map[string]any{
			"sku": sku, "offerTermCode": term, "termAttributes": map[string]any{},
			"priceDimensions": map[string]any{sku + "." + term + "." + rate: map[string]any{
				"unit": "Hrs", "rateCode": sku + "." + term + "." + rate, "beginRange": "0", "endRange": "Inf",
				"description":  fmt.Sprintf("$%g per On Demand Linux %s Instance Hour", usd, name),
				"pricePerUnit": map[string]string{"USD": strconv.FormatFloat(usd, 'f', 10, 64)},
			}},
		}}},
	}
	data, err := json.Marshal(item)
	if err != nil {
		return "", fmt.Errorf("encode price of %s: %w", name, err)
	}
	return string(data), nil
}

// skuOf derives a product's SKU from the names of type and region.
func skuOf(name, region string) string {
	h := fnv.New64a()
	h.Write([]byte(region + "/" + name))
	return strings.ToUpper(fmt.Sprintf("%016x", h.Sum64()))
}
