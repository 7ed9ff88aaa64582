package v1

// LabelRules are the labels that scheduling gives meaning to: the core ones and those of a provider. It is a value that
// is handed down; two are put together by Merge.
type LabelRules struct {
	// WellKnown are keys that every instance type defines, so that pods and pools may ask for them before a node exists.
	WellKnown map[string]bool
	// RestrictedDomains are domains, with all their subdomains, in which only well-known keys may be used.
	RestrictedDomains []string
	// KnownValues lists the values of keys that have a closed set of them.
	KnownValues map[string][]string
	// Aliases maps old keys to the ones that replaced them.
	Aliases map[string]string
}
