package cloud

// A Pricer is a Provider whose prices are old when it starts, because it ships with a table of prices or keeps none.
type Pricer interface {
	Provider
	// PricesCurrent reports whether the prices of InstanceTypes were refreshed since the start, or could not be for so long
	// that waiting helps no more. It must return at once.
	PricesCurrent() bool
}
