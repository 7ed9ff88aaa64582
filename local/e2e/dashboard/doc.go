// Package dashboard tests the page of the dashboard in a browser: with generated data, and with the controller of a local
// cluster. During the latter test, the cluster is scaled up and the controller is restarted. The tests need Node. They install
// the packages of web/package-lock.json and Debian's Chromium.
//
//	go test ./e2e/dashboard                 needs bin/ (make build)
//	go test -run Page ./e2e/dashboard       needs no cluster
//	go test -short ./e2e/dashboard          skips it
package dashboard
