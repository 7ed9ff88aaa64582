package model

// A FreeCapacity has what pods may still use of nodes, by node name, while pods are assigned to them one after another. A
// node without an entry has its free resources. A claim that is not launched has the requests of the claim.
type FreeCapacity map[string]Resources

// Take subtracts the pod's requests from the free capacity of the node. If that is not enough, it changes nothing and
// returns false.
func (f FreeCapacity) Take(n *Node, p *Pod) bool {
	left, ok := f[n.Name]
	switch {
	case ok:
	case n.Launched():
		left = n.Free()
	default:
		left = RequestsOf(n.Claim.Spec.Resources.Requests)
	}
	if _, _, short := p.Requests.Short(left); short {
		return false
	}
	f[n.Name] = left.Minus(p.Requests)
	return true
}
