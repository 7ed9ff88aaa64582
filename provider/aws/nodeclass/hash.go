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

// HashVersion is the version of the function Hash. It must be changed whenever an unchanged class would get another
// hash, because hashes of different versions are not compared. The versions of upstream Karpenter are v1, v2 and so on.
const HashVersion = "go1"

// Hash returns a hash of the settings of the class on which its nodes depend. The selectors of
// subnets, security groups, images and capacity reservations are excluded, because the resources
// that they select are compared separately. spec.ipPrefixCount is excluded, too. The cluster's CA
// is not a part of the hash, so that a new CA does not replace all nodes. Lists whose order has no
// meaning are sorted.
func Hash(class *awsv1.EC2NodeClass) string {
	spec := class.Spec.DeepCopy()
	spec.SubnetSelectorTerms, spec.SecurityGroupSelectorTerms, spec.AMISelectorTerms = nil, nil, nil
	spec.CapacityReservationSelectorTerms, spec.IPPrefixCount = nil, nil
	family := catalog.FamilyOf(class).Name // from amiFamily or from the alias
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

// text returns v as canonical JSON: keys are sorted at every depth, including the kubelet section, and quantities have
// their shortest form.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // cannot happen: the value was decoded from JSON
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		panic(fmt.Sprintf("decode %s: %v", raw, err)) // cannot happen: json.Marshal made the text
	}
	if raw, err = json.Marshal(plain); err != nil {
		panic(fmt.Sprintf("encode %#v: %v", plain, err))
	}
	return string(raw)
}
