// Package control controls a running emulator over HTTP. It limits capacity, sets prices, makes calls fail, reclaims instances,
// and reads calls and instances.
//
// The types are the JSON of the control interface below /_emulator/. A pattern may contain * and ?; an empty pattern matches
// everything. Durations have Go's format ("90s").
package control
