// Package catalog holds the emulator's copy of the shipped table of EC2
// instance types, zones and prices, and decodes it.
//
// The data is made by hack/catalog, whose doc.go explains every field and how
// old each kind of fact is. The emulator has its own decoder for the file and
// shares no code with its other readers.
package catalog
