package nodeclass

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
)

// HashVersion names the rule by which Hash works. It is changed whenever an unchanged class would get another hash; hashes
// of different versions are never compared. Upstream's versions are v1, v2 and so on.
const HashVersion = "go1"

// Hash returns what nodes of the class are made from, as a number. Selectors are not in it: what they resolve to is
// compared by itself. Neither is the cluster's CA: to replace every node when it changes would be worse than the change.
// Lists whose order means nothing are sorted.
func Hash(class *awsv1.EC2NodeClass) string {
	spec := class.Spec.DeepCopy()
	spec.SubnetSelectorTerms, spec.SecurityGroupSelectorTerms, spec.AMISelectorTerms = nil, nil, nil
	spec.CapacityReservationSelectorTerms, spec.IPPrefixCount = nil, nil
	family := catalog.FamilyOf(class).Name // whether named or taken from the alias
	spec.AMIFamily = &family
	slices.SortFunc(spec.BlockDeviceMappings, func(a, b *awsv1.BlockDeviceMapping) int {
		return cmp.Compare(text(a), text(b))
	})
	slices.SortFunc(spec.NetworkInterfaces, func(a, b *awsv1.NetworkInterface) int {
		return cmp.Compare(text(a), text(b))
	})
	sum := sha256.Sum256([]byte(text(spec)))
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8]), 10)
}

// text is canonical: keys sorted at every depth, also in the kubelet section, and quantities in their shortest form.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // it came from JSON
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		panic(fmt.Sprintf("decode %s: %v", raw, err)) // it was written a line above
	}
	if raw, err = json.Marshal(plain); err != nil {
		panic(fmt.Sprintf("encode %#v: %v", plain, err))
	}
	return string(raw)
}
