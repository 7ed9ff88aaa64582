package v1

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// HashVersion names the rule of EC2NodeClass.Hash. It is not one of Karpenter's
// (v1 to v6): hashes of different versions are never compared, so neither a
// takeover from Karpenter nor a return to it replaces a node.
//
// It must change with the rule: when a field that may already be set joins or
// leaves the hash, changes its type, or gets another default.
const HashVersion = "ext-v1"

// Hash sums up what nodes get from a class and what cannot be compared with the
// cloud afterwards. Selectors are left out, because nodes are compared with
// what they select, and so is ipPrefixCount. caBundle is the cluster's, as it is
// written to user data: a new one replaces all nodes.
//
// The order of lists and maps does not matter, and neither does whether the
// family is named or follows from the alias.
func (c *EC2NodeClass) Hash(caBundle string) string {
	spec := c.Spec.DeepCopy()
	spec.SubnetSelectorTerms = nil
	spec.SecurityGroupSelectorTerms = nil
	spec.CapacityReservationSelectorTerms = nil
	spec.AMISelectorTerms = nil
	spec.IPPrefixCount = nil
	spec.AMIFamily = nil
	for name, value := range spec.Kubelet {
		value.Raw = canonical(value.Raw)
		spec.Kubelet[name] = value
	}
	slices.SortFunc(spec.BlockDeviceMappings, byJSON)
	slices.SortFunc(spec.NetworkInterfaces, byJSON)
	sum := sha256.Sum256(encoded(struct {
		Spec     *EC2NodeClassSpec
		Family   string
		CABundle string
	}{spec, c.ResolvedAMIFamily(), caBundle}))
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8]), 10)
}

// byJSON orders by the JSON of two values, which is enough to make a list the
// same list in whatever order it is written.
func byJSON[T any](a, b T) int {
	return bytes.Compare(encoded(a), encoded(b))
}

// encoded is the JSON of a value, with the keys of maps sorted.
func encoded(value any) []byte {
	b, err := json.Marshal(value)
	if err != nil {
		// Only kubelet holds JSON that was not made by us, and canonical has been
		// over it.
		panic(fmt.Sprintf("encode %T for its hash: %v", value, err))
	}
	return b
}

// canonical rewrites JSON with sorted keys and without spaces. What is no JSON
// becomes a string, so that it has a hash too.
func canonical(raw []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		value = string(raw)
	}
	return encoded(value)
}
