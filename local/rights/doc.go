// Package rights reads out of a Helm chart what the chart's program may do:
// its ServiceAccount and its RBAC objects. It renders the chart as Helm would,
// so what is tested locally is what users install.
package rights
