// Package reboot carries out the reboots that node repair has requested: it drains the node, has the cloud reboot the instance,
// and waits until the node is ready again.
//
// A reboot is a condition of the claim, and all that it needs is on the claim. What is in memory, which calls the cloud has
// accepted, may be lost: the cloud is then called once more. A node whose reboot failed stays, and repair replaces it. A claim is
// deleted only if its node or instance is gone.
package reboot
