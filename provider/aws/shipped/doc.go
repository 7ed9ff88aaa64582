// Package shipped has the catalogue of EC2 in the binary: instance types, their zones and their prices, by region.
// Its prices are used until those of AWS were read. It has the few facts that no API returns, such as the number of
// branch network interfaces. Commands that need no AWS account use it as well.
//
// The catalogue is the JSON document in catalog.json.gz. The generator in hack/catalog creates it and describes its fields.
package shipped
