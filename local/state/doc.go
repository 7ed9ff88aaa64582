// Package state manages the files of a local cluster: their paths, the ports
// that the cluster uses and the processes that it started.
//
// Everything is under one directory that nothing else writes to. Ports are
// chosen once and kept as long as the directory exists, so that a part that is
// started again has the same port.
package state
