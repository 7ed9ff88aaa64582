package v1

import (
	"fmt"
	"strconv"

	"github.com/mitchellh/hashstructure/v2"
)

// NodePoolHashVersion is the version of the function NodePool.Hash. Hashes of
// different versions must not be compared.
const NodePoolHashVersion = "v3"

// Hash returns a hash of the part of the template that claims copy and that is
// not compared in another way: labels, annotations, taints, startup taints,
// node class, grace period and expiry. Requirements are left out (a claim is
// checked against them one by one), and so is everything outside the template.
//
// The value equals that of upstream Karpenter, so a cluster can be migrated in
// both directions without drift. It depends on the names of the Go types and
// fields; the order of lists does not matter, and a zero value counts as
// absent.
func (p *NodePool) Hash() string {
	sum, err := hashstructure.Hash(p.Spec.Template, hashstructure.FormatV2, &hashstructure.HashOptions{
		SlicesAsSets:    true,
		IgnoreZeroValue: true,
		ZeroNil:         true,
	})
	if err != nil {
		// An error cannot occur, because the library can hash all fields of the type.
		panic(fmt.Sprintf("hash template of nodepool %s: %v", p.Name, err))
	}
	return strconv.FormatUint(sum, 10)
}
