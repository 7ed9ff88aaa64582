// Package state manages the files of a local cluster: their paths, the ports of the cluster, and the processes that it
// has started.
//
// All files are in one directory to which no other program writes. Ports are chosen once and kept as long as the
// directory exists, so that a restarted part has the same port.
package state
