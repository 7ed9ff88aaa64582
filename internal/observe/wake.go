package observe

// Wake calls those who asked to be told of work, for work that no watched object shows.
func (c *Cluster) Wake() { c.call(true, nil) }
