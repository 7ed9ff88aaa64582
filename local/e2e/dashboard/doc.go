// Package dashboard tests the page of the dashboard in a browser: with generated data, and with the controller of a local cluster
// that is scaled up and restarted meanwhile. It needs Node, and installs the packages of web/package-lock.json and Debian's Chromium.
//
//	go test ./e2e/dashboard                 needs bin/ (make build)
//	go test -run Page ./e2e/dashboard       needs no cluster
//	go test -short ./e2e/dashboard          skips it
package dashboard
