// Package long runs the commands of the manual that take minutes: builds, tests, measurements. It works in a copy of
// the repository with the files that git tracks, so that it overwrites nothing. It sets an environment variable for
// the commands that disables this package. Without that, "make test-all" in the manual, which runs this package, would
// never end.
//
//	cd hack && KARPENTER_LONG=1 go test ./manual/long -timeout 3h    all; an hour and a half on two cores that do other things too
//	cd hack && KARPENTER_LONG=1 go test ./manual/long -timeout 3h -run TestLong/bench.md -clone /tmp/clone    again, with the existing build
package long
