// Package shipped holds what was known of EC2 when Karpenter was built: instance types, their zones and their prices, by
// region. It stands in for the Pricing API until that answers, supplies the few facts that no API returns (branch network
// interfaces), and is the data of commands without an account.
//
// The table is made by the generator in hack/catalog, which describes the document. The embedded bytes never change, so
// a decoded Catalog is the same in every process of a build.
package shipped
