package sim

import "slices"

// Shrink removes what is not needed to violate an invariant: events first, then further replicas, flags, and documents of
// cluster.yaml. fails reports whether a scenario still violates the invariant. Shrink calls it at most tries times.
func Shrink(s *Scenario, tries int, fails func(*Scenario) bool) *Scenario {
	s = s.clone()
	// A smaller scenario ends at the same time. Length is the time after the last event, so it changes if that is removed.
	total := s.End() + s.Length
	without := func(c *Scenario) bool {
		if tries <= 0 {
			return false
		}
		tries--
		c.Length = total - c.End()
		if !fails(c) {
			return false
		}
		s = c
		return true
	}
	for size := max(1, len(s.Events)/2); ; size /= 2 {
		for i := 0; i < len(s.Events); {
			c := s.clone()
			c.Events = slices.Delete(c.Events, i, min(i+size, len(c.Events)))
			if !without(c) {
				i += size
			}
		}
		if size <= 1 {
			break
		}
	}
	if c := s.clone(); c.Replicas > 1 {
		c.Replicas = 1
		without(c)
	}
	if c := s.clone(); len(c.Flags) > 0 {
		c.Flags = nil
		without(c)
	}
	for i := 0; ; {
		c := s.clone()
		docs := c.documents()
		if i >= len(docs) {
			break
		}
		c.setDocuments(slices.Delete(docs, i, i+1))
		if !without(c) {
			i++
		}
	}
	return s
}

func (s *Scenario) clone() *Scenario {
	c := *s
	c.Events, c.Files, c.Flags = slices.Clone(s.Events), slices.Clone(s.Files), slices.Clone(s.Flags)
	return &c
}
