// Package helm installs the packed charts with the real Helm on a local cluster. It installs them from archives and
// from a registry, alone and as a dependency of another chart, and with values for upstream's chart. It upgrades,
// rolls back, tests and uninstalls them. It also renders them again and checks that a GitOps tool would find no
// difference.
//
// The local cluster runs no containers. So the tests run the programs of the pods as processes: the program in bin/,
// with the arguments and the environment of the container and the rights of its ServiceAccount. The namespace admits
// restricted pods only.
//
//	go test ./e2e/helm                      needs bin/ (make build)
//	KARPENTER_LONG=1 go test ./e2e/helm     the commands of the manual too
package helm
