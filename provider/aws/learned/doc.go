// Package learned remembers how much memory nodes really have. Until the first node of a type has joined, what the
// hypervisor and the kernel keep is estimated by a percentage; from then on, plans count on what was seen, per type and
// image.
//
// What was learned is kept in the ConfigMap karpenter-learned-memory in the controller's namespace, written once a minute at
// the most. Without the right to write it, it is kept in memory and learned anew after a restart.
package learned
