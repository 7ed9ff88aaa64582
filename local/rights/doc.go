// Package rights returns the rights of a program in a Helm chart: its ServiceAccount and RBAC objects. It renders the
// chart like Helm. So local tests use the rights that users install.
package rights
