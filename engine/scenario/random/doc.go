// Package random draws small, nasty clusters for tests, and makes those that fail a test smaller.
//
// A seed names a cluster, on any machine. Everything that kube-scheduler looks at is mixed: the point is not that a
// cluster is likely, but that few objects touch many rules at once. Universes are tiny on purpose (three zones, a handful
// of labels), so that selectors often match and constraints often meet.
//
// Check runs a law over many seeds. The first seed that breaks it is shrunk, object by object and field by field, as long
// as the law is broken in the same way, and printed as a scenario that can be put into a txtar file as it is.
package random
