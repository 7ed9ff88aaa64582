package convert

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// classFields are the fields of a node class of any version. Some manifests have them in NodePools.
var classFields = []string{
	"amiFamily", "amiSelector", "amiSelectorTerms", "ami", "subnetSelector", "subnetSelectorTerms", "securityGroupSelector",
	"securityGroupSelectorTerms", "role", "instanceProfile", "userData", "tags", "blockDeviceMappings", "metadataOptions",
	"detailedMonitoring", "launchTemplate", "launchTemplateName", "instanceStorePolicy", "associatePublicIPAddress",
	"context", "subnets", "securityGroups", "instanceRole", "nodeRole", "iamRole", "instanceProfileName", "iamInstanceProfile",
}

// classFields removes the node class fields from a NodePool, both those in spec.provider and those elsewhere, and
// returns them. It returns nil if there are none.
func (p *pool) classFields(c *converter, old, inner *yaml.Node) *yaml.Node {
	inline := mapping()
	p.stood = map[string]string{}
	for _, from := range []place{{"spec", old}, {"spec.template.spec", inner}} {
		f := take(from.node, "provider")
		switch {
		case !f.ok():
		case f.value.Kind != yaml.MappingNode:
			c.warn(p.object, from.path+".provider", "not a mapping, removed: %s", brief(f.value))
		default:
			take(f.value, "apiVersion")
			take(f.value, "kind")
			inline.Content = append(inline.Content, f.value.Content...)
			p.inlinePath = from.path + ".provider"
		}
		for _, key := range classFields {
			if f := take(from.node, key); f.ok() {
				c.warn(p.object, from.path+"."+key, "moved to the EC2NodeClass")
				put(inline, key, f)
				p.stood[key] = from.path
			}
		}
	}
	if len(inline.Content) == 0 {
		return nil
	}
	return inline
}

// setReference sets the NodePool's reference to its node class.
func (p *pool) setReference(c *converter, old, inner *yaml.Node) {
	f := take(inner, "nodeClassRef")
	path := "spec.template.spec.nodeClassRef"
	for _, key := range []string{"nodeClassRef", "providerRef", "nodeClass", "nodeClassName", "nodeTemplate"} {
		if moved := take(old, key); moved.ok() && !f.ok() {
			if f, path = moved, "spec."+key; !strings.HasSuffix(key, "Ref") {
				c.warn(p.object, path, "unknown field, interpreted as the name of the node class")
			}
		}
	}
	name, group, kind := "default", legacy.AWSGroup, "EC2NodeClass"
	switch {
	case f.ok() && f.value.Kind == yaml.ScalarNode:
		name = f.value.Value
	case f.ok() && f.value.Kind == yaml.MappingNode:
		if n := scalar(get(f.value, "name")); n != "" {
			name = n
		} else {
			c.warn(p.object, path+".name", "not set: set to default; fix: make sure that this node class exists, or name another one")
		}
		if k := scalar(get(f.value, "kind")); k != "" && k != "AWSNodeTemplate" && k != "AWS" {
			kind = k
		}
		if g, _, _ := strings.Cut(scalar(get(f.value, "apiVersion")), "/"); g != "" {
			group = g
		}
		if g := scalar(get(f.value, "group")); g != "" {
			group = g
		}
		if get(f.value, "kind") == nil && group == legacy.AWSGroup {
			group, kind = c.kindOf(name)
		}
		p.extra(c, f.value, path)
	case p.inline != nil:
		name = p.name
		if name == "" {
			name = "default"
		}
	default:
		c.warn(p.object, "spec", "no nodeClassRef: set to EC2NodeClass \"default\"; fix: make sure that it exists, or name another one")
	}
	p.class = text(name)
	reference := mapping("group", group, "kind", kind)
	set(reference, "name", p.class)
	put(inner, "nodeClassRef", pair{f.key, reference})
}

// kindOf returns the group and kind of the node class with the given name in the input. If there is none, they are
// those of EC2NodeClass.
func (c *converter) kindOf(name string) (group, kind string) {
	group, kind = legacy.AWSGroup, "EC2NodeClass"
	for _, d := range c.docs {
		for _, o := range d.objects {
			k := scalar(get(o.root, "kind"))
			if scalar(at(o.root, "metadata", "name")) != name || !strings.HasSuffix(k, "NodeClass") {
				continue
			}
			if k == kind {
				return group, kind
			}
			group, _, _ = strings.Cut(scalar(get(o.root, "apiVersion")), "/")
			return group, k
		}
	}
	return group, kind
}

// extra warns about fields that references do not have.
func (p *pool) extra(c *converter, m *yaml.Node, path string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if key := m.Content[i].Value; !slices.Contains([]string{"name", "kind", "apiVersion", "group"}, key) {
			c.warn(p.object, path+"."+key, "not supported in v1, removed: %s", brief(m.Content[i+1]))
		}
	}
}

// setKubelet removes the kubelet configuration from a NodePool and stores it in p, because it is a field of the node
// class in v1.
func (p *pool) setKubelet(c *converter, old, inner *yaml.Node) {
	for _, from := range []place{{"spec", old}, {"spec.template.spec", inner}} {
		for _, key := range []string{"kubeletConfiguration", "kubelet"} {
			f := take(from.node, key)
			if !f.ok() {
				continue
			}
			if p.kubelet != nil {
				c.warn(p.object, from.path+"."+key, "removed because %s is set: %s", p.kubeletPath, brief(f.value))
				continue
			}
			p.kubelet, p.kubeletPath = f.value, from.path+"."+key
			c.kubelet(p.object, p.kubeletPath, p.kubelet)
		}
	}
	if p.kubelet != nil && p.kubelet.Kind == yaml.MappingNode && len(p.kubelet.Content) == 0 {
		p.kubelet = nil
	}
}

// kubelet converts a kubelet configuration in place.
func (c *converter) kubelet(o *object, path string, m *yaml.Node) {
	if f := take(m, "containerRuntime"); f.value != nil {
		c.warn(o, path+".containerRuntime", "removed: every image uses containerd: %s", brief(f.value))
	}
	for _, key := range []string{"systemReserved", "kubeReserved", "evictionHard", "evictionSoft", "evictionSoftGracePeriod"} {
		c.strings(o, path+"."+key, get(m, key))
	}
	for _, key := range []string{"maxPods", "podsPerCore", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "evictionMaxPodGracePeriod"} {
		c.whole(o, path+"."+key, get(m, key))
	}
	c.boolean(o, path+".cpuCFSQuota", get(m, "cpuCFSQuota"))
	if dns := get(m, "clusterDNS"); dns != nil && dns.Kind == yaml.ScalarNode && !null(dns) && !o.doc.template.in(dns.Value) {
		c.warn(o, path+".clusterDNS", "converted to a list")
		set(m, "clusterDNS", sequence(dns))
	}
}
