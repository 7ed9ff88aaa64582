// Package control controls a running emulator over HTTP: it takes capacity away,
// moves prices, breaks calls, reclaims instances and reads back what happened.
//
// The types are the JSON of the control interface below /_emulator/. Every
// pattern may use * and ?; an empty one means "any". Durations are Go's
// ("90s").
package control
