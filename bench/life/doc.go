// Package life lets decisions play out in virtual time, on a cluster whose scheduler does as it pleases: it scores nodes as
// kube-scheduler does by default, knows nothing of plans, and so scatters the pods that consolidation moves. What a plan is
// worth is what is left of it then. A scale-in of minutes takes a second.
//
//	cd bench && go test -v -run ScaleIn ./life
package life
