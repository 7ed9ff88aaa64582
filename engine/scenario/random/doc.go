// Package random generates small clusters with many constraints for tests, and shrinks those that fail a test.
//
// A seed determines a cluster, on any machine. A cluster combines many features that affect kube-scheduler. It need not
// be realistic: few objects should be subject to many rules at once. There are only three zones and a few labels, so
// that selectors often match and constraints often affect each other.
//
// Check tests a Law on the clusters of many seeds. A cluster that violates it is shrunk: objects and fields are removed
// one by one while the same rule is violated. The result is printed as a scenario that can be copied into a txtar file.
package random
