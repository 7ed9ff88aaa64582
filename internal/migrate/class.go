package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// class returns the spec of the node class for a group, as YAML. It adds notes about an unknown image family or role, about
// AL2, and about a launch template, which is not carried over.
func (m *migration) class(g group) string {
	var b strings.Builder
	b.WriteString("spec:\n")
	if g.family == "" {
		g.family = "al2023"
		m.note(g, "image family unknown: spec.amiSelectorTerms set to alias al2023@latest; fix: if the launch template has its own image, select it there")
	}
	if g.family == "al2" {
		m.note(g, "AL2 has no images for Kubernetes 1.33 and newer; fix: use alias al2023@latest")
	}
	fmt.Fprintf(&b, "  amiSelectorTerms:\n    - alias: %s@latest\n", g.family)
	if g.role == "" {
		g.role = "KarpenterNodeRole-" + g.cluster
		m.note(g, "node role unknown: spec.role set to %s; fix: set it to the role of your nodes", g.role)
	}
	fmt.Fprintf(&b, "  role: %s\n", strconv.Quote(g.role))
	b.WriteString("  subnetSelectorTerms:\n")
	for _, s := range g.subnets {
		fmt.Fprintf(&b, "    - id: %s\n", strconv.Quote(s))
	}
	if len(g.subnets) == 0 {
		fmt.Fprintf(&b, "    - tags:\n        karpenter.sh/discovery: %s\n", strconv.Quote(g.cluster))
	}
	fmt.Fprintf(&b, "  securityGroupSelectorTerms:\n    # the group that EKS makes for the cluster\n    - tags:\n        aws:eks:cluster-name: %s\n",
		strconv.Quote(g.cluster))
	if g.disk > 0 {
		fmt.Fprintf(&b, "  blockDeviceMappings:\n    - deviceName: %s\n      ebs:\n        volumeSize: %dGi\n        volumeType: gp3\n        encrypted: true\n",
			dataDevice(g.family), g.disk)
	}
	if len(g.tags) > 0 {
		b.WriteString("  tags:\n")
		for _, key := range slices.Sorted(maps.Keys(g.tags)) {
			fmt.Fprintf(&b, "    %s: %s\n", strconv.Quote(key), strconv.Quote(g.tags[key]))
		}
	}
	if g.template != "" {
		m.note(g, "launch template %s is not carried over; fix: set its user data, disks, security groups and metadata options in the EC2NodeClass", strings.TrimSpace(g.template))
	}
	return b.String()
}

// dataDevice returns the device name of the disk that has the files of kubelet.
func dataDevice(family string) string {
	switch {
	case family == "bottlerocket":
		return "/dev/xvdb"
	case strings.HasPrefix(family, "windows"):
		return "/dev/sda1"
	}
	return "/dev/xvda"
}
