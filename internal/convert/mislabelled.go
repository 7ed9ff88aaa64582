package convert

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// oldFields are fields that only the old API had, or that authors often use as if it had them, with their usual
// positions. A manifest with one of them was not written for v1, whatever its apiVersion is.
var oldFields = map[legacy.Form][]spot{
	legacy.NodePool: {
		{[]string{"spec"}, []string{
			"ttlSecondsAfterEmpty", "ttlSecondsUntilExpired", "consolidation", "requirements", "taints", "startupTaints", "labels",
			"provider", "providerRef", "kubeletConfiguration", "nodeClassRef", "amiFamily", "subnetSelector", "securityGroupSelector",
			"subnetSelectorTerms", "securityGroupSelectorTerms", "instanceTypes", "instanceType", "capacityTypes", "capacityType", "zones",
			"consolidationPolicy", "expireAfter",
		}},
		{[]string{"spec", "template", "spec"}, []string{
			"kubelet", "kubeletConfiguration", "instanceTypes", "instanceType", "capacityTypes", "capacityType", "zones", "amiFamily",
			"subnetSelectorTerms", "securityGroupSelectorTerms", "provider", "providerRef",
		}},
		{[]string{"spec", "template", "spec", "nodeClassRef"}, []string{"apiVersion"}},
		{[]string{"spec", "disruption"}, []string{"expireAfter", "ttlSecondsAfterEmpty", "consolidation"}},
		{[]string{"spec", "limits"}, []string{"resources"}},
	},
	legacy.NodeClass: {
		{[]string{"spec"}, []string{"subnetSelector", "securityGroupSelector", "amiSelector", "ami", "kubeletConfiguration", "instanceTypes"}},
	},
}

// A spot is the path of a mapping in a manifest, and keys in the mapping.
type spot struct{ path, keys []string }

// mislabelled returns the form of a manifest with apiVersion v1 that was written for an older API, and the fields that
// prove it. It returns Foreign for other manifests. Unknown fields that are not in oldFields are mistakes and prove
// nothing.
func mislabelled(root *yaml.Node) (form legacy.Form, tell []string) {
	version := scalar(get(root, "apiVersion"))
	if !strings.Contains(version, "karpenter") || !strings.HasSuffix(version, "/v1") {
		return legacy.Foreign, nil
	}
	kind := map[string]legacy.Form{"NodePool": legacy.NodePool, "EC2NodeClass": legacy.NodeClass}[scalar(get(root, "kind"))]
	for _, p := range oldFields[kind] {
		for _, key := range p.keys {
			if v := get(at(root, p.path...), key); v != nil && !null(v) {
				tell = append(tell, strings.Join(append(slices.Clone(p.path), key), "."))
			}
		}
	}
	policy := scalar(at(root, "spec", "disruption", "consolidationPolicy"))
	if kind == legacy.NodePool && policy == "WhenUnderutilized" {
		tell = append(tell, "spec.disruption.consolidationPolicy: WhenUnderutilized")
	}
	ref := at(root, "spec", "template", "spec", "nodeClassRef")
	if kind == legacy.NodePool && get(ref, "name") != nil && get(ref, "group") == nil {
		tell = append(tell, "spec.template.spec.nodeClassRef without group")
	}
	if len(tell) == 0 {
		return legacy.Foreign, nil
	}
	return kind, tell
}
