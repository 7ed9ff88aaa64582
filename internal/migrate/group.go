package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A group is a node group of EKS or Auto Scaling.
type group struct {
	name     string
	cluster  string
	types    []string
	spot     bool
	mixed    bool // has spot and on-demand instances
	min, max int
	desired  int
	subnets  []string
	family   string // image family, empty if unknown
	arch     string // empty if unknown
	role     string // name of the role, empty if unknown
	labels   map[string]string
	taints   []taint
	disk     int // GiB, 0 for the default
	template string
	region   string // empty if unknown

	// managed is true for a group of EKS. behind is the name of the EKS group to which a group of Auto Scaling belongs,
	// "" if there is none.
	managed bool
	behind  string
	// tags are the tags that an Auto Scaling group sets on its instances, without reserved ones.
	tags map[string]string
	// ranges are the bounds of vCPUs and memory in MiB, if the group chooses instance types by attributes.
	ranges []bounds
	// lost has sentences about settings that have no equivalent in the manifests.
	lost []string
}

// bounds are the minimum and maximum of the value of the label key; most is 0 if there is no maximum.
type bounds struct {
	key         string
	least, most int
}

type taint struct{ Key, Value, Effect string }

// nodegroup is one group in the output of aws eks describe-nodegroup.
type nodegroup struct {
	Name          string            `json:"nodegroupName"`
	Cluster       string            `json:"clusterName"`
	CapacityType  string            `json:"capacityType"`
	InstanceTypes []string          `json:"instanceTypes"`
	Subnets       []string          `json:"subnets"`
	AMIType       string            `json:"amiType"`
	NodeRole      string            `json:"nodeRole"`
	Labels        map[string]string `json:"labels"`
	Taints        []taint           `json:"taints"`
	DiskSize      int               `json:"diskSize"`
	Scaling       struct {
		Min     int `json:"minSize"`
		Max     int `json:"maxSize"`
		Desired int `json:"desiredSize"`
	} `json:"scalingConfig"`
	LaunchTemplate *struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	} `json:"launchTemplate"`
	ARN          string `json:"nodegroupArn"`
	RemoteAccess struct {
		Key string `json:"ec2SshKey"`
	} `json:"remoteAccess"`
	Repair struct {
		Enabled bool `json:"enabled"`
	} `json:"nodeRepairConfig"`
}

// launchTemplate is a reference to a launch template in Auto Scaling.
type launchTemplate struct{ LaunchTemplateName, LaunchTemplateId string }

// autoScalingGroup is one group in the output of aws autoscaling describe-auto-scaling-groups.
type autoScalingGroup struct {
	AutoScalingGroupName              string
	MinSize, MaxSize, DesiredCapacity int
	VPCZoneIdentifier                 string
	LaunchTemplate                    *launchTemplate
	MixedInstancesPolicy              *struct {
		LaunchTemplate struct {
			LaunchTemplateSpecification launchTemplate
			Overrides                   []struct {
				InstanceType         string
				InstanceRequirements map[string]json.RawMessage
			}
		}
		InstancesDistribution struct {
			OnDemandBaseCapacity                int
			OnDemandPercentageAboveBaseCapacity *int
		}
	}
	Instances               []struct{ InstanceType string }
	Tags                    []tag
	LaunchConfigurationName string
	AvailabilityZones       []string
	WarmPoolConfiguration   map[string]json.RawMessage
}

type tag struct {
	Key, Value        string
	PropagateAtLaunch bool
}

// answer is the output of one of the supported commands. Only the fields of that command are set.
type answer struct {
	Nodegroup         *nodegroup
	Nodegroups        []nodegroup
	AutoScalingGroups []autoScalingGroup
}

// read returns the groups in a file. The file may contain several outputs of commands, one after the other.
func read(f File) ([]group, error) {
	var groups []group
	decoder := json.NewDecoder(bytes.NewReader(f.Data))
	for number := 1; ; number++ {
		var a answer
		err := decoder.Decode(&a)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w (must be the JSON output of aws eks describe-nodegroup or aws autoscaling describe-auto-scaling-groups)",
				f.Name, number, err)
		}
		if a.Nodegroup == nil && len(a.Nodegroups) == 0 && a.AutoScalingGroups == nil {
			return nil, fmt.Errorf("%s: document %d: neither nodegroup nor AutoScalingGroups is set; use the JSON output of aws eks describe-nodegroup or"+
				" aws autoscaling describe-auto-scaling-groups", f.Name, number)
		}
		if a.Nodegroup != nil {
			a.Nodegroups = append(a.Nodegroups, *a.Nodegroup)
		}
		for _, n := range a.Nodegroups {
			groups = append(groups, n.group())
		}
		for _, g := range a.AutoScalingGroups {
			groups = append(groups, g.group())
		}
	}
	return groups, nil
}

func (n nodegroup) group() group {
	g := group{
		name: n.Name, cluster: n.Cluster, types: n.InstanceTypes, spot: n.CapacityType == "SPOT", min: n.Scaling.Min,
		max: n.Scaling.Max, desired: n.Scaling.Desired, subnets: n.Subnets, labels: map[string]string{}, disk: n.DiskSize,
		role: n.NodeRole[strings.LastIndexByte(n.NodeRole, '/')+1:], managed: true,
	}
	if parts := strings.Split(n.ARN, ":"); len(parts) > 3 {
		g.region = parts[3]
	}
	if n.RemoteAccess.Key != "" {
		g.lost = append(g.lost, fmt.Sprintf("SSH key %s is not carried over; fix: use Session Manager, or add the key in spec.userData of the"+
			" EC2NodeClass", n.RemoteAccess.Key))
	}
	if n.Repair.Enabled {
		g.lost = append(g.lost, "node repair is enabled; fix: set the feature gate NodeRepair of the controller")
	}
	g.family, g.arch = image(n.AMIType)
	for key, value := range n.Labels {
		if !strings.HasPrefix(key, "eks.amazonaws.com/") {
			g.labels[key] = value
		}
	}
	effects := map[string]string{"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
	for _, t := range n.Taints {
		effect, known := effects[t.Effect]
		if !known {
			g.lost = append(g.lost, fmt.Sprintf("taint %s is not carried over: unknown effect %q", t.Key, t.Effect))
			continue
		}
		g.taints = append(g.taints, taint{t.Key, t.Value, effect})
	}
	if n.LaunchTemplate != nil {
		g.template = n.LaunchTemplate.Name + " " + n.LaunchTemplate.ID
	}
	return g
}

// image returns the image family and architecture of an AMI type of EKS, such as AL2023_ARM_64_STANDARD. Both are
// empty for an unknown type.
func image(kind string) (family, arch string) {
	for _, f := range []struct{ prefix, family string }{
		{"AL2023_", "al2023"}, {"AL2_", "al2"}, {"BOTTLEROCKET_", "bottlerocket"},
		{"WINDOWS_CORE_2019", "windows2019"}, {"WINDOWS_FULL_2019", "windows2019"},
		{"WINDOWS_CORE_2022", "windows2022"}, {"WINDOWS_FULL_2022", "windows2022"},
		{"WINDOWS_CORE_2025", "windows2025"}, {"WINDOWS_FULL_2025", "windows2025"},
	} {
		if strings.HasPrefix(kind, f.prefix) {
			family = f.family
			break
		}
	}
	switch {
	case strings.Contains(kind, "ARM_64"):
		arch = "arm64"
	case family != "":
		arch = "amd64"
	}
	return family, arch
}

// Prefixes of tags by which Auto Scaling groups declare labels and taints of their nodes for Cluster Autoscaler.
const (
	labelTag = "k8s.io/cluster-autoscaler/node-template/label/"
	taintTag = "k8s.io/cluster-autoscaler/node-template/taint/"
)

func (a autoScalingGroup) group() group {
	g := group{
		name: a.AutoScalingGroupName, min: a.MinSize, max: a.MaxSize, desired: a.DesiredCapacity, labels: map[string]string{},
		tags: map[string]string{},
	}
	if len(a.AvailabilityZones) > 0 {
		g.region = strings.TrimRight(a.AvailabilityZones[0], "abcdefghijklmnopqrstuvwxyz")
	}
	for _, s := range strings.Split(a.VPCZoneIdentifier, ",") {
		if s = strings.TrimSpace(s); s != "" {
			g.subnets = append(g.subnets, s)
		}
	}
	for _, i := range a.Instances {
		g.types = append(g.types, i.InstanceType)
	}
	if a.LaunchTemplate != nil {
		g.template = a.LaunchTemplate.LaunchTemplateName + " " + a.LaunchTemplate.LaunchTemplateId
	}
	if a.LaunchConfigurationName != "" {
		g.lost = append(g.lost, fmt.Sprintf("launch configuration %s is not carried over; fix: set its image, user data, disks and security groups in the EC2NodeClass", a.LaunchConfigurationName))
	}
	if a.WarmPoolConfiguration != nil {
		g.lost = append(g.lost, "warm pool is not carried over; for spare capacity see examples/capacity-buffer")
	}
	a.mix(&g)
	slices.Sort(g.types)
	g.types = slices.Compact(g.types)
	for _, t := range a.Tags {
		g.readTag(t)
	}
	return g
}

// mix sets the fields of g from the mixed instances policy.
func (a autoScalingGroup) mix(g *group) {
	m := a.MixedInstancesPolicy
	if m == nil {
		return
	}
	g.template = m.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateName + " " + m.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateId
	for _, o := range m.LaunchTemplate.Overrides {
		if o.InstanceType != "" {
			g.types = append(g.types, o.InstanceType)
		}
		if o.InstanceRequirements != nil {
			g.types = nil // the instances of the group have only some of the allowed types
			g.attributes(o.InstanceRequirements)
			break
		}
	}
	d := m.InstancesDistribution
	if d.OnDemandPercentageAboveBaseCapacity != nil && *d.OnDemandPercentageAboveBaseCapacity < 100 {
		g.spot = *d.OnDemandPercentageAboveBaseCapacity == 0 && d.OnDemandBaseCapacity == 0
		g.mixed = !g.spot
	}
}

// attributes reads InstanceRequirements. vCPUs and memory become ranges; lost names the others.
func (g *group) attributes(all map[string]json.RawMessage) {
	var others []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key := map[string]string{"VCpuCount": "karpenter.k8s.aws/instance-cpu", "MemoryMiB": "karpenter.k8s.aws/instance-memory"}[name]
		var limits struct{ Min, Max int }
		if key == "" || json.Unmarshal(all[name], &limits) != nil {
			others = append(others, name)
			continue
		}
		g.ranges = append(g.ranges, bounds{key, limits.Min, limits.Max})
	}
	if len(others) > 0 {
		g.lost = append(g.lost, "these attributes of InstanceRequirements are not carried over: "+strings.Join(others, ", "))
	}
}

// readTag sets the fields of g from a tag of the Auto Scaling group.
func (g *group) readTag(t tag) {
	domain, _, _ := strings.Cut(t.Key, "/")
	switch {
	case t.Key == "eks:nodegroup-name":
		g.behind = t.Value
	case strings.HasPrefix(t.Key, labelTag):
		if key := strings.TrimPrefix(t.Key, labelTag); !strings.HasPrefix(key, "eks.amazonaws.com/") {
			g.labels[key] = t.Value
		}
	case strings.HasPrefix(t.Key, taintTag):
		value, effect, _ := strings.Cut(t.Value, ":")
		key := strings.TrimPrefix(t.Key, taintTag)
		if !slices.Contains([]string{"NoSchedule", "NoExecute", "PreferNoSchedule"}, effect) {
			g.lost = append(g.lost, fmt.Sprintf("taint %s is not carried over: %q is not of the form VALUE:EFFECT", key, t.Value))
			return
		}
		g.taints = append(g.taints, taint{key, value, effect})
	case strings.HasPrefix(t.Key, "kubernetes.io/cluster/"):
		g.cluster = strings.TrimPrefix(t.Key, "kubernetes.io/cluster/")
	case t.PropagateAtLaunch && t.Key != "Name" && !strings.HasPrefix(t.Key, "aws:") && !strings.HasPrefix(t.Key, "eks:") &&
		!slices.ContainsFunc(ownTags, func(own string) bool { return domain == own || strings.HasSuffix(domain, "."+own) }):
		g.tags[t.Key] = t.Value
	}
}

// ownTags are the domains of tags that programs of Kubernetes read, or that Karpenter sets. Such tags are not carried
// over.
var ownTags = []string{"kubernetes.io", "k8s.io", "karpenter.sh", "k8s.aws", "eksctl.io", "eksctl.cluster.k8s.io"}
