// Package clouds has end-to-end tests of providers in other processes, and of several providers in one controller: the
// emulated AWS and simulated nodes, each behind a socket.
package clouds
