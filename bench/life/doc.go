// Package life executes decisions of the engine in virtual time, on a simulated cluster. Its scheduler scores nodes as
// kube-scheduler does by default. Evicted pods are replaced by new pods without a nomination, so the scheduler scatters the
// pods that consolidation moves. The results show how much plans save with such a scheduler. The simulation of several
// minutes takes a second.
//
//	cd bench && go test -v -run ScaleIn ./life
package life
