// Package state knows what a local cluster leaves on disk: where each file is,
// which ports the cluster took and which processes it started.
//
// Everything is under one directory that nothing else writes to. Ports are
// chosen once and kept for the life of the directory, so that a part that is
// started again is found where it was.
package state
