// Package prices returns the prices of instances, in dollars per hour. In regions of China, they are in yuan per
// hour.
//
// The first prices are those of the catalogue in the binary, converted to yuan for China. They are updated from the
// Pricing API (on-demand) and from EC2's spot price history. Until list prices are read, those of types that the
// catalogue does not price are estimated. Readers use an immutable table and never wait for a refresh. If a refresh
// fails, the earlier prices stay in use. Prices are a cache of AWS and may be lost.
package prices
