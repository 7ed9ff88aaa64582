package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A group is a node group as its cloud describes it, whichever service answered.
type group struct {
	name     string
	cluster  string
	types    []string
	spot     bool
	mixed    bool // spot and on-demand
	min, max int
	desired  int
	subnets  []string
	family   string // image family, empty if it cannot be told
	arch     string // empty if it cannot be told
	role     string // name of the role, empty if unknown
	labels   map[string]string
	taints   []taint
	disk     int // GiB, 0 for the default
	template string
}

type taint struct{ Key, Value, Effect string }

// nodegroup is the answer of aws eks describe-nodegroup.
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
}

// launchTemplate is how Auto Scaling names one.
type launchTemplate struct{ LaunchTemplateName, LaunchTemplateId string }

// autoScalingGroup is one of aws autoscaling describe-auto-scaling-groups.
type autoScalingGroup struct {
	AutoScalingGroupName              string
	MinSize, MaxSize, DesiredCapacity int
	VPCZoneIdentifier                 string
	LaunchTemplate                    *launchTemplate
	MixedInstancesPolicy              *struct {
		LaunchTemplate struct {
			LaunchTemplateSpecification launchTemplate
			Overrides                   []struct{ InstanceType string }
		}
		InstancesDistribution struct {
			OnDemandBaseCapacity                int
			OnDemandPercentageAboveBaseCapacity *int
		}
	}
	Instances []struct{ InstanceType string }
	Tags      []struct{ Key, Value string }
}

// answer is any of the answers.
type answer struct {
	Nodegroup         *nodegroup
	Nodegroups        []nodegroup
	AutoScalingGroups []autoScalingGroup
}

// read returns the groups in answers, which may follow each other in one file. Auto Scaling's groups behind groups of EKS
// are those groups once more, and left out.
func read(name string, data io.Reader) ([]group, error) {
	var groups []group
	decoder := json.NewDecoder(data)
	for number := 1; ; number++ {
		var a answer
		err := decoder.Decode(&a)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: answer %d: %w (want the JSON of aws eks describe-nodegroup or aws autoscaling describe-auto-scaling-groups)",
				name, number, err)
		}
		if a.Nodegroup == nil && len(a.Nodegroups) == 0 && a.AutoScalingGroups == nil {
			return nil, fmt.Errorf("%s: answer %d has neither nodegroup nor AutoScalingGroups", name, number)
		}
		if a.Nodegroup != nil {
			a.Nodegroups = append(a.Nodegroups, *a.Nodegroup)
		}
		for _, n := range a.Nodegroups {
			groups = append(groups, n.group())
		}
		for _, g := range a.AutoScalingGroups {
			if found, ok := g.group(); ok {
				groups = append(groups, found)
			}
		}
	}
	return groups, nil
}

func (n nodegroup) group() group {
	g := group{
		name: n.Name, cluster: n.Cluster, types: n.InstanceTypes, spot: n.CapacityType == "SPOT", min: n.Scaling.Min,
		max: n.Scaling.Max, desired: n.Scaling.Desired, subnets: n.Subnets, labels: map[string]string{}, disk: n.DiskSize,
		role: n.NodeRole[strings.LastIndexByte(n.NodeRole, '/')+1:],
	}
	g.family, g.arch = image(n.AMIType)
	for key, value := range n.Labels {
		if !strings.HasPrefix(key, "eks.amazonaws.com/") {
			g.labels[key] = value
		}
	}
	effects := map[string]string{"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
	for _, t := range n.Taints {
		g.taints = append(g.taints, taint{t.Key, t.Value, effects[t.Effect]})
	}
	if n.LaunchTemplate != nil {
		g.template = n.LaunchTemplate.Name + " " + n.LaunchTemplate.ID
	}
	return g
}

// image reads EKS's type of image, such as AL2023_ARM_64_STANDARD.
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

// Tags of Auto Scaling groups that say what nodes will look like; Cluster Autoscaler reads them.
const (
	labelTag = "k8s.io/cluster-autoscaler/node-template/label/"
	taintTag = "k8s.io/cluster-autoscaler/node-template/taint/"
)

func (a autoScalingGroup) group() (group, bool) {
	g := group{
		name: a.AutoScalingGroupName, min: a.MinSize, max: a.MaxSize, desired: a.DesiredCapacity, labels: map[string]string{},
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
	if m := a.MixedInstancesPolicy; m != nil {
		g.template = m.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateName + " " + m.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateId
		for _, o := range m.LaunchTemplate.Overrides {
			g.types = append(g.types, o.InstanceType)
		}
		d := m.InstancesDistribution
		if d.OnDemandPercentageAboveBaseCapacity != nil && *d.OnDemandPercentageAboveBaseCapacity < 100 {
			g.spot = *d.OnDemandPercentageAboveBaseCapacity == 0 && d.OnDemandBaseCapacity == 0
			g.mixed = !g.spot
		}
	}
	slices.Sort(g.types)
	g.types = slices.Compact(g.types)
	for _, t := range a.Tags {
		switch {
		case t.Key == "eks:nodegroup-name":
			return group{}, false
		case strings.HasPrefix(t.Key, labelTag):
			g.labels[strings.TrimPrefix(t.Key, labelTag)] = t.Value
		case strings.HasPrefix(t.Key, taintTag):
			value, effect, _ := strings.Cut(t.Value, ":")
			g.taints = append(g.taints, taint{strings.TrimPrefix(t.Key, taintTag), value, effect})
		case strings.HasPrefix(t.Key, "kubernetes.io/cluster/"):
			g.cluster = strings.TrimPrefix(t.Key, "kubernetes.io/cluster/")
		}
	}
	return g, true
}
