package dashboard

import "testing"

// The parts of the page that need no browser.
func TestUnits(t *testing.T) {
	prepare(t)
	node(t, "unit")
}

// Every view, state, key and address of the page, with generated data.
func TestPage(t *testing.T) {
	browser := prepare(t)
	node(t, "browser", "CHROMIUM="+browser)
}
