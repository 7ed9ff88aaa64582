// Package rights returns the rights of a Helm chart's program: its ServiceAccount and RBAC objects. It renders the
// chart like Helm, so that local tests use the rights that users install.
package rights
