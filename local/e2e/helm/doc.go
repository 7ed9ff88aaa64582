// Package helm installs the packed charts with the real Helm on a local cluster: from archives and from a registry, alone and
// below another chart, with values written for upstream's chart; upgrades, rolls back, tests and uninstalls them; and renders
// them once more to see that a GitOps tool would find no difference.
//
// Containers are not run on the local cluster, so the tests run the programs of the pods as processes: the program in
// bin/, with the arguments and the environment of the container and the rights of its ServiceAccount. The namespace
// admits restricted pods only.
//
//	go test ./e2e/helm   needs bin/ (make build)
package helm
