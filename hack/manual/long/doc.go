// Package long runs what the manual shows of what takes minutes: builds, tests, measurements. It works in a copy of the
// repository, so that nothing in it is written over and no file counts that git does not know. What it runs has a variable set at
// which it does nothing, or the manual's own "make test-all", which ends with it, would never end.
//
//	cd hack && KARPENTER_LONG=1 go test ./manual/long -timeout 3h    all; an hour and a half on two cores that do other things too
//	cd hack && KARPENTER_LONG=1 go test ./manual/long -timeout 3h -run TestLong/bench.md -clone /tmp/clone    again, with what is built there
package long
