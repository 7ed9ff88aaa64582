package convert

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// A class is an EC2NodeClass of the output that the conversion converted or created.
type class struct {
	*object
	name string
}

// specFields are the fields of the spec of an EC2NodeClass in v1.
var specFields = []string{
	"amiFamily", "amiSelectorTerms", "subnetSelectorTerms", "securityGroupSelectorTerms", "role", "instanceProfile",
	"userData", "tags", "kubelet", "blockDeviceMappings", "metadataOptions", "detailedMonitoring", "instanceStorePolicy",
	"associatePublicIPAddress", "context", "capacityReservationSelectorTerms", "placementGroupSelector", "ipPrefixCount",
	"networkInterfaces", "connectionTracking", "cpuOptions", "enclaveOptions",
}

// class converts an AWSNodeTemplate or EC2NodeClass.
func (c *converter) class(o *object) {
	spec := c.head(o, legacy.AWSGroup+"/v1", "EC2NodeClass")
	for _, wrapper := range []string{"provider", "aws"} {
		c.lift(o, spec, wrapper)
	}
	take(spec, "apiVersion")
	take(spec, "kind")
	c.classSpec(o, "spec", spec)
	o.lifted = nil
	c.classes = append(c.classes, &class{o, scalar(at(o.root, "metadata", "name"))})
}

// classSpec converts the spec of a node class in place.
func (c *converter) classSpec(o *object, path string, spec *yaml.Node) {
	c.spell(o, path, spec, slices.Concat(specFields, classFields))
	c.images(o, path, spec)
	for _, f := range [][2]string{{"subnets", "subnetSelectorTerms"}, {"securityGroups", "securityGroupSelectorTerms"}} {
		list := get(spec, f[0])
		if list == nil || list.Kind != yaml.SequenceNode || get(spec, f[1]) != nil {
			continue
		}
		c.warn(o, path+"."+f[0], "list of IDs converted to %s", f[1])
		terms := rename(spec, f[0], f[1]).value
		for i, id := range terms.Content {
			terms.Content[i] = mapping("id", id)
		}
		terms.Style = 0
	}
	c.selector(o, path, spec, "subnetSelector", "subnetSelectorTerms")
	c.selector(o, path, spec, "securityGroupSelector", "securityGroupSelectorTerms")
	for _, key := range []string{"launchTemplate", "launchTemplateName"} {
		if f := take(spec, key); f.ok() {
			c.warn(o, path+"."+key, "launch templates are not supported in v1, removed: %s; fix: move its image to"+
				" amiSelectorTerms, user data to userData, disks to blockDeviceMappings, security groups to securityGroupSelectorTerms", brief(f.value))
		}
	}
	c.identity(o, path, spec)
	c.pairs(o, path+".tags", spec, "tags")
	c.tags(o, path, get(spec, "tags"))
	for _, key := range []string{"detailedMonitoring", "associatePublicIPAddress"} {
		c.boolean(o, path+"."+key, get(spec, key))
	}
	c.disks(o, path, get(spec, "blockDeviceMappings"))
	c.metadataOptions(o, path, spec)
	for _, key := range []string{"kubeletConfiguration", "kubelet"} {
		if f := take(spec, key); f.ok() {
			c.kubelet(o, path+"."+key, f.value)
			put(spec, "kubelet", f)
		}
	}
	c.unknown(o, path, spec)
}

// unknown removes the fields that v1 does not have, with a warning.
func (c *converter) unknown(o *object, path string, spec *yaml.Node) {
	for i := 0; i+1 < len(spec.Content); {
		key, value := spec.Content[i].Value, spec.Content[i+1]
		if slices.Contains(specFields, key) {
			i += 2
			continue
		}
		spec.Content = append(spec.Content[:i:i], spec.Content[i+2:]...)
		hint := ""
		switch {
		case key == "kubernetesVersion":
			hint = "; nodes get the version of the control plane"
		case strings.HasPrefix(key, "instanceType") || slices.Contains(poolSpecFields, key):
			hint = "; fix: set it in a NodePool"
		}
		c.warn(o, path+"."+key, "not supported in v1, removed: %s%s", brief(value), hint)
	}
}

// identity sets the role of nodes if the node class has neither role nor instance profile, and removes the instance
// profile if it has both.
func (c *converter) identity(o *object, path string, spec *yaml.Node) {
	c.identityByOtherNames(o, path, spec)
	role, profile := get(spec, "role"), get(spec, "instanceProfile")
	for _, key := range []string{"role", "instanceProfile"} {
		if v := get(spec, key); v != nil && null(v) {
			take(spec, key)
		}
	}
	switch {
	case role != nil && !null(role) && profile != nil && !null(profile):
		c.warn(o, path+".instanceProfile", "removed because role is set: %s", brief(profile))
		take(spec, "instanceProfile")
	case role != nil && !null(role) || profile != nil && !null(profile):
	default:
		name := c.options.Role
		if name == "" {
			name = "KarpenterNodeRole-" + c.cluster
		}
		c.warn(o, path+".role", "neither role nor instanceProfile is set: role set to %s; fix: set it to the role of your"+
			" nodes, or pass --role", name)
		set(spec, "role", text(name))
	}
}

// identityNames maps wrong names for the role and instance profile, which occur in manifests written by hand, to the
// right ones.
var identityNames = [][2]string{
	{"instanceRole", "role"}, {"nodeRole", "role"}, {"iamRole", "role"}, {"roleName", "role"}, {"roleARN", "role"}, {"roleArn", "role"},
	{"instanceProfileName", "instanceProfile"}, {"iamInstanceProfile", "instanceProfile"},
}

// identityByOtherNames converts fields in identityNames, and ARNs where v1 requires names.
func (c *converter) identityByOtherNames(o *object, path string, spec *yaml.Node) {
	for _, n := range identityNames {
		f := take(spec, n[0])
		switch now := get(spec, n[1]); {
		case !f.ok():
		case f.value.Kind != yaml.ScalarNode:
			c.warn(o, path+"."+n[0], "not supported in v1, removed: %s", brief(f.value))
		case now != nil && !null(now):
			c.warn(o, path+"."+n[0], "removed because %s is set: %s", n[1], brief(f.value))
		default:
			c.warn(o, path+"."+n[0], "unknown field, interpreted as %s", n[1])
			put(spec, n[1], f)
		}
	}
	for _, key := range [][2]string{{"role", ":role/"}, {"instanceProfile", ":instance-profile/"}} {
		v := get(spec, key[0])
		if v == nil || !strings.HasPrefix(v.Value, "arn:") || !strings.Contains(v.Value, key[1]) {
			continue
		}
		was := v.Value
		v.Value = was[strings.LastIndexByte(was, '/')+1:]
		c.warn(o, path+"."+key[0], "ARN %s converted to the name %s", was, v.Value)
	}
}

// reservedTag reports whether Karpenter sets the tag itself, or did in an older version. v1 refuses most of these
// tags in a node class.
func reservedTag(key string) bool {
	return strings.HasPrefix(key, "kubernetes.io/cluster") || slices.Contains([]string{"eks:eks-cluster-name",
		"karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", "karpenter.sh/provisioner-name"}, key)
}

// tags converts the values of tags of instances and volumes to strings, and removes reserved tags.
func (c *converter) tags(o *object, path string, tags *yaml.Node) {
	c.strings(o, path+".tags", tags)
	if tags == nil || tags.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(tags.Content); {
		if key := tags.Content[i].Value; reservedTag(key) {
			c.warn(o, path+".tags["+key+"]", "removed: Karpenter sets this tag")
			take(tags, key)
			continue
		}
		i += 2
	}
}

// disks converts block device mappings in place: wrong field names, types of values, and sizes.
func (c *converter) disks(o *object, path string, list *yaml.Node) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	for i, disk := range list.Content {
		field := fmt.Sprintf("%s.blockDeviceMappings[%d].ebs", path, i)
		for _, f := range [][2]string{{"type", "volumeType"}, {"size", "volumeSize"}} {
			if ebs := get(disk, "ebs"); get(ebs, f[0]) != nil && get(ebs, f[1]) == nil {
				rename(ebs, f[0], f[1])
				c.warn(o, field+"."+f[0], "renamed to %s", f[1])
			}
		}
		for _, key := range []string{"encrypted", "deleteOnTermination"} {
			c.boolean(o, field+"."+key, at(disk, "ebs", key))
		}
		for _, key := range []string{"iops", "throughput"} {
			c.whole(o, field+"."+key, at(disk, "ebs", key))
		}
		size := at(disk, "ebs", "volumeSize")
		if size == nil || size.Kind != yaml.ScalarNode || o.doc.template.in(size.Value) {
			continue
		}
		if now := volumeSize(size.Value); now != size.Value && now != "" {
			c.warn(o, field+".volumeSize", "%s converted to %s", size.Value, now)
			size.Value, size.Tag = now, "!!str"
		}
	}
}

// volumeSize writes a size in the format of v1: a whole number with the unit Gi, G, Ti or T. A bare number of at most
// five digits means GiB, as in EC2, and GB means G. Other quantities of Kubernetes, such as 1500Mi, are rounded up to
// whole GiB. Leading zeros are dropped. volumeSize returns "" if the text is not a size, or zero.
func volumeSize(was string) string {
	was = strings.TrimLeft(was, "0")
	for _, unit := range []string{"Gi", "G", "Ti", "T"} {
		if number, ok := strings.CutSuffix(was, unit); ok && digits.MatchString(number) {
			return was
		}
	}
	if digits.MatchString(was) && len(was) <= 5 {
		return was + "Gi"
	}
	if number, ok := strings.CutSuffix(strings.ToUpper(was), "GB"); ok && digits.MatchString(strings.TrimSpace(number)) {
		return strings.TrimSpace(number) + "G"
	}
	q, err := resource.ParseQuantity(was)
	if err != nil || q.Sign() <= 0 {
		return ""
	}
	return fmt.Sprintf("%dGi", int64(math.Ceil(float64(q.Value())/(1<<30))))
}

// metadataOptions sets httpPutResponseHopLimit to its old default if the manifest does not set it, because v1 has
// another default. It changes nothing in a manifest with apiVersion v1.
func (c *converter) metadataOptions(o *object, path string, spec *yaml.Node) {
	if len(o.tell) > 0 {
		return // its apiVersion is v1, so the default of v1 applies
	}
	f := get(spec, "metadataOptions")
	if f != nil && !null(f) && f.Kind != yaml.MappingNode {
		return
	}
	options := child(spec, "metadataOptions")
	if get(options, "httpPutResponseHopLimit") == nil {
		set(options, "httpPutResponseHopLimit", number(2))
		c.warn(o, path+".metadataOptions.httpPutResponseHopLimit", "set to 2, the default before v1 (v1 default: 1); with 1,"+
			" only pods in the host network reach the instance metadata service, which is safer")
	}
}
