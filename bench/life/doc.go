// Package life carries decisions out in virtual time, on a simulated cluster. Its scheduler scores nodes as kube-scheduler does
// by default and ignores plans, so it scatters the pods that consolidation moves. The results show what plans save despite
// that. A scale-in of minutes takes a second.
//
//	cd bench && go test -v -run ScaleIn ./life
package life
