// Package reboot executes the reboots that node repair has requested: it drains the node, calls the cloud to reboot the
// instance, and waits until the node is ready again.
//
// The state of a reboot is in the conditions and annotations of the claim. Only the calls that the cloud has accepted are in
// memory. If they are lost, the cloud is called once more. If a reboot fails, node repair replaces the node. This package deletes
// a claim only if its node or instance no longer exists.
package reboot
