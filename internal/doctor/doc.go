// Package doctor looks at a cluster for what the controller needs, and for what commonly goes wrong: kinds that are missing
// or old, rights that are missing, a controller that does not run, pools and node classes that are not ready, claims that
// hang, budgets that block, a second autoscaler.
//
// It only reads. What it may not read it says, and goes on.
package doctor
