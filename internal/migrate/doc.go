// Package migrate turns node groups into NodePools and node classes: it reads what EKS and Auto Scaling answer about groups,
// and writes one pool for each, with as few node classes as there are kinds of nodes, and the steps from here to there.
//
// It is a pure function. A group is one shape and a pool may be many; what is written keeps the shape, and says where it
// could be wider.
package migrate
