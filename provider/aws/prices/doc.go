// Package prices returns the prices of instances, in dollars per hour.
//
// It begins with the table shipped with the binary and updates it from the Pricing API (on demand) and EC2's spot price
// history. Readers get an immutable table and never wait for a refresh. A refresh that fails keeps the old prices. Prices
// are a cache of AWS and may be lost.
package prices
