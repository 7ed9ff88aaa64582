// Package dashboard tests the page of the dashboard in a browser: against generated data, and against the controller of a local
// cluster that is scaled up and restarted meanwhile.
package dashboard
