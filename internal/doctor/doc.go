// Package doctor checks a cluster for what the controller needs and for common faults: missing or old CRDs, missing rights, a
// controller that does not run, pools and node classes that are not ready, claims that hang, budgets that block, a second
// autoscaler.
//
// It only reads. Objects that it may not read are reported, and the other checks go on.
package doctor
