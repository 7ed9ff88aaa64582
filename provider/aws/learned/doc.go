// Package learned records how much memory nodes really have, by instance type and image. Until the first node of a
// type has joined, the memory that hypervisor and kernel use is estimated by a percentage. From then on, plans use
// the observed memory.
//
// The observations are stored in the ConfigMap karpenter-discovered-memory in the controller's namespace, written at
// most once a minute. If the controller may not write that ConfigMap, the observations are in memory only and a restart
// loses them.
package learned
