package observe

// Wake calls the functions of OnWork, for work that no watched object shows.
func (c *Cluster) Wake() { c.call(true, nil) }
