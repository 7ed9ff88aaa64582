// Package commitments measures how well plans use commitments: capacity that is paid for whether nodes use it or not.
//
// It generates reserved instances and Savings Plans for the instance types of a workload, plans the pods, and consolidates a
// fleet that was launched without them. The price beyond commitments is compared with a linear program that knows the
// commitments, and allows fractions of nodes and pods. No plan costs less.
package commitments
