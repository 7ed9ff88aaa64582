package cloud

// A Pricer is a Provider that has no current prices when it starts. It then has the prices of a shipped table, or
// none.
type Pricer interface {
	Provider
	// PricesCurrent reports whether the prices of InstanceTypes have been refreshed since the start. It also returns true
	// if the refresh has failed for so long that waiting for it is no longer useful. It must not wait for a refresh. A provider
	// in this process may return false without a time limit while the user's own prices have an error.
	PricesCurrent() bool
}
