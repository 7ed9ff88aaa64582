// Package topology reads the constraints of pods about other pods: topology spread, affinity and anti-affinity.
//
// A Term selects pods and has a topology key: nodes with the same value of that label form a domain. A Rule is a
// constraint of one pod about the pods of a Term. Begin with Of, which returns the rules of a pod. A Book finds the
// terms that select a pod. Counting and placing pods is the task of the packer.
package topology
