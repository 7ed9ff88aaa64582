package model

// A FreeCapacity is what pods may still use of each node, by node name, while pods are assigned one after another. Without
// an entry, it is Node.Free, or the resource requests of the claim if the claim is not launched.
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
