package migrate

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Options are what the answers do not say.
type Options struct {
	// Cluster is the cluster's name. Default: what the groups say.
	Cluster string
	// Price returns the hourly price of an instance type, ok=false if it is not known; may be nil.
	Price func(instanceType string, spot bool) (dollars float64, ok bool)
}

// A Result is what becomes of the groups.
type Result struct {
	// Manifests are NodePools and EC2NodeClasses.
	Manifests string
	// Notes are what to look at, a sentence each.
	Notes []string
	// Steps are the way from here to there, in order.
	Steps []string
}

// Groups reads answers of EKS and Auto Scaling and returns pools and node classes for the groups in them.
func Groups(name string, data io.Reader, o Options) (Result, error) {
	groups, err := read(name, data)
	if err != nil {
		return Result{}, err
	}
	if len(groups) == 0 {
		return Result{}, fmt.Errorf("%s: there is no node group in it", name)
	}
	m := &migration{options: o, classes: map[string]string{}, taken: map[string]bool{}}
	for _, g := range groups {
		m.group(g)
	}
	m.plan(groups)
	return Result{strings.Join(m.documents, "---\n"), m.notes, m.steps}, nil
}

// migration is the state of one call.
type migration struct {
	options   Options
	classes   map[string]string // name by spec
	taken     map[string]bool   // names of pools and classes
	documents []string
	notes     []string
	steps     []string
}

func (m *migration) note(g group, format string, args ...any) {
	m.notes = append(m.notes, g.name+": "+fmt.Sprintf(format, args...))
}

// invalid matches what names of objects may not have.
var invalid = regexp.MustCompile(`[^a-z0-9-]+`)

// name makes a name of an object that is not taken yet.
func (m *migration) name(kind, wish string) string {
	base := strings.Trim(invalid.ReplaceAllString(strings.ToLower(wish), "-"), "-")
	if len(base) > 50 {
		base = strings.Trim(base[:50], "-")
	}
	if base == "" {
		base = "group"
	}
	name := base
	for n := 2; m.taken[kind+name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	m.taken[kind+name] = true
	return name
}

// group writes the pool of a group, and its class unless another group has the same.
func (m *migration) group(g group) {
	if m.options.Cluster != "" {
		g.cluster = m.options.Cluster
	}
	if g.cluster == "" {
		g.cluster = "CLUSTER_NAME"
		m.note(g, "names no cluster; put its name in place of CLUSTER_NAME, or give --cluster-name")
	}
	spec := m.class(g)
	class, ok := m.classes[spec]
	if !ok {
		class = m.name("class", g.name)
		m.classes[spec] = class
		m.documents = append(m.documents, "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata:\n  name: "+class+"\n"+spec)
	}
	m.documents = append(m.documents, m.pool(g, class))
}

// class is the spec of the node class of a group.
func (m *migration) class(g group) string {
	var b strings.Builder
	b.WriteString("spec:\n")
	if g.family == "" {
		g.family = "al2023"
		m.note(g, "its image cannot be told; the class has al2023@latest: put the image of the launch template there if it is your own")
	}
	if g.family == "al2" {
		m.note(g, "AL2 has no images from Kubernetes 1.33 on: think of al2023@latest")
	}
	fmt.Fprintf(&b, "  amiSelectorTerms:\n    - alias: %s@latest\n", g.family)
	if g.role == "" {
		g.role = "KarpenterNodeRole-" + g.cluster
		m.note(g, "its role cannot be told; the class has %s", g.role)
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
		device := map[string]string{"bottlerocket": "/dev/xvdb"}[g.family]
		if device == "" {
			device = "/dev/xvda"
		}
		if strings.HasPrefix(g.family, "windows") {
			device = "/dev/sda1"
		}
		fmt.Fprintf(&b, "  blockDeviceMappings:\n    - deviceName: %s\n      ebs:\n        volumeSize: %dGi\n        volumeType: gp3\n        encrypted: true\n",
			device, g.disk)
	}
	if g.template != "" {
		m.note(g, "has the launch template %s: carry over its user data, disks, groups and metadata options", strings.TrimSpace(g.template))
	}
	return b.String()
}

// pool is the NodePool of a group.
func (m *migration) pool(g group, class string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: %s\nspec:\n  template:\n", m.name("pool", g.name))
	if len(g.labels) > 0 {
		b.WriteString("    metadata:\n      labels:\n")
		for _, key := range slices.Sorted(maps.Keys(g.labels)) {
			fmt.Fprintf(&b, "        %s: %s\n", strconv.Quote(key), strconv.Quote(g.labels[key]))
		}
	}
	fmt.Fprintf(&b, "    spec:\n      nodeClassRef:\n        group: karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: %s\n      requirements:\n", class)
	capacity := `["on-demand"]`
	switch {
	case g.spot:
		capacity = `["spot"]`
	case g.mixed:
		capacity = `["spot", "on-demand"]`
		m.note(g, "mixes spot and on-demand; the pool takes spot where there is some: for a part that is always on-demand see examples/on-demand-base")
	}
	fmt.Fprintf(&b, "        - key: karpenter.sh/capacity-type\n          operator: In\n          values: %s\n", capacity)
	if g.arch != "" {
		fmt.Fprintf(&b, "        - key: kubernetes.io/arch\n          operator: In\n          values: [%q]\n", g.arch)
	}
	if len(g.types) > 0 {
		quoted := make([]string, len(g.types))
		for i, t := range g.types {
			quoted[i] = strconv.Quote(t)
		}
		fmt.Fprintf(&b, "        - key: node.kubernetes.io/instance-type\n          operator: In\n          values: [%s]\n", strings.Join(quoted, ", "))
		if len(g.types) < 5 {
			m.note(g, "has %d instance types; a pool gets cheaper and more reliable with each one more: think of requirements on"+
				" karpenter.k8s.aws/instance-category and -generation instead", len(g.types))
		}
	} else {
		b.WriteString("        - key: karpenter.k8s.aws/instance-category\n          operator: In\n          values: [\"c\", \"m\", \"r\"]\n")
		m.note(g, "its instance types cannot be told; the pool has c, m and r")
	}
	if len(g.taints) > 0 {
		b.WriteString("      taints:\n")
		for _, t := range g.taints {
			fmt.Fprintf(&b, "        - key: %s\n          value: %s\n          effect: %s\n", strconv.Quote(t.Key), strconv.Quote(t.Value), strconv.Quote(t.Effect))
		}
	}
	fmt.Fprintf(&b, "  limits:\n    nodes: %d\n  disruption:\n    consolidationPolicy: WhenEmptyOrUnderutilized\n    consolidateAfter: 5m\n", max(g.max, 1))
	if g.min > 0 {
		m.note(g, "keeps at least %d nodes; a pool has as many as its pods need, and none without pods", g.min)
	}
	return b.String()
}

// plan writes the steps.
func (m *migration) plan(groups []group) {
	m.steps = append(m.steps, "Set up the account and install the chart beside Cluster Autoscaler: docs/getting-started-eks.md.",
		"Read the manifests, then: karpenter lint -f, karpenter simulate -f with your workload, kubectl apply -f.",
		"Stop Cluster Autoscaler, or give the pools a taint until their pods move: both see the same pending pods.")
	for _, g := range groups {
		step := fmt.Sprintf("Group %s (%d nodes of %s%s): set its minimum to 0, cordon and drain its nodes one by one; the pods get nodes"+
			" of the pool.", g.name, g.desired, strings.Join(g.types, ", "), m.cost(g))
		m.steps = append(m.steps, step)
	}
	m.steps = append(m.steps, "Leave one small group for the controller itself and for what must not be moved. Then scale Cluster Autoscaler to 0.")
}

// cost is what a group costs an hour, by its first type.
func (m *migration) cost(g group) string {
	if m.options.Price == nil || len(g.types) == 0 || g.desired == 0 {
		return ""
	}
	price, ok := m.options.Price(g.types[0], g.spot)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", about $%.2f/h", price*float64(g.desired))
}
