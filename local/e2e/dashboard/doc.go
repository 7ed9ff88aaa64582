// Package dashboard tests the page of the dashboard in a browser: with generated data, and with the controller of a local
// cluster. During the latter test, the cluster is scaled up and the controller is restarted. The tests need Node. They install
// the packages of web/package-lock.json and Debian's Chromium. By default only the tests without a browser run.
//
//	go test ./e2e/dashboard                        the committed page is the one that web builds, and its unit tests
//	KARPENTER_LONG=1 go test ./e2e/dashboard       all; needs bin/ (make build)
//	go test -short ./e2e/dashboard                 skips it
package dashboard
