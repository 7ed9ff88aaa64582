// Package shipped has the catalogue of EC2 in the binary: instance types, their zones and their prices, by region. Its
// prices are used until the Pricing API was read. It has the few facts that no API returns (branch network interfaces).
// Commands that need no AWS account use it as well.
//
// The generator in hack/catalog creates the catalogue and describes the document.
package shipped
