package v1

import (
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"
)

// NodePoolHashVersion names the rule of NodePool.Hash. Hashes of different
// versions must not be compared.
const NodePoolHashVersion = "v3"

// Hash sums up the part of a pool's template that claims copy and that cannot
// be compared with the cloud: labels, annotations, taints, startup taints, node
// class, grace period and expiry. Requirements are left out (a claim is checked
// against them one by one), and so is everything outside the template.
//
// The value equals the one Karpenter computes, so a cluster can move in both
// directions without drift. It depends on the names of the Go types and fields;
// the order of lists does not matter, and a zero value counts as absent.
func (p *NodePool) Hash() string {
	sum, err := hashstructure.Hash(p.Spec.Template, hashstructure.FormatV2, &hashstructure.HashOptions{
		SlicesAsSets:    true,
		IgnoreZeroValue: true,
		ZeroNil:         true,
	})
	if err != nil {
		// The type holds nothing the library cannot hash.
		panic(fmt.Sprintf("hash template of nodepool %s: %v", p.Name, err))
	}
	return strconv.FormatUint(sum, 10)
}
