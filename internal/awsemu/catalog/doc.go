// Package catalog has the emulator's copy of the shipped table of EC2 instance types, zones and prices, and decodes it.
//
// hack/catalog makes the table. Its doc.go describes every field and the age of the data. The emulator has its own decoder and
// shares no code with other readers of the file.
package catalog
