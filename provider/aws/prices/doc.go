// Package prices knows what instances cost, in dollars per hour.
//
// It starts from the table that was shipped with the binary and improves on it with the Pricing API (on demand) and EC2's
// spot price history, when they answer. Readers take an immutable table and never wait for a refresh; a refresh that
// fails leaves the old prices in place. Prices are a cache of AWS and may be lost.
package prices
