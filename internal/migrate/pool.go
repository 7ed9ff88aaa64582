package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// pool returns the NodePool for a group, as YAML.
func (m *migration) pool(g group, class string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: %s\nspec:\n  template:\n", m.name("pool", g.name))
	if labels := m.labels(g); len(labels) > 0 {
		b.WriteString("    metadata:\n      labels:\n")
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			fmt.Fprintf(&b, "        %s: %s\n", strconv.Quote(key), strconv.Quote(labels[key]))
		}
	}
	fmt.Fprintf(&b, "    spec:\n      nodeClassRef:\n        group: karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: %s\n      requirements:\n", class)
	m.require(&b, g)
	if len(g.taints) > 0 {
		b.WriteString("      taints:\n")
		for _, t := range g.taints {
			fmt.Fprintf(&b, "        - key: %s\n          value: %s\n          effect: %s\n", strconv.Quote(t.Key), strconv.Quote(t.Value), strconv.Quote(t.Effect))
		}
	}
	fmt.Fprintf(&b, "  limits:\n    nodes: %d\n  disruption:\n    consolidationPolicy: WhenEmptyOrUnderutilized\n    consolidateAfter: 5m\n", max(g.max, 1))
	if g.min > 0 {
		m.note(g, "minSize %d is not carried over: a NodePool scales to zero; for spare capacity see examples/capacity-buffer", g.min)
	}
	for _, lost := range g.lost {
		m.note(g, "%s", lost)
	}
	return b.String()
}

// labels returns the labels of a group that a NodePool may set on its nodes. It adds a note for each of the others.
func (m *migration) labels(g group) map[string]string {
	rules := apiv1.CoreLabels().With(awsv1.Labels())
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(g.labels)) {
		if err := rules.CheckKey(key); err != nil {
			m.note(g, "label %s=%s is not carried over: %v", key, g.labels[key], err)
			continue
		}
		out[key] = g.labels[key]
	}
	return out
}

// require writes the requirements of the NodePool for a group, with notes about guesses.
func (m *migration) require(b *strings.Builder, g group) {
	line := func(key string, values ...string) {
		for i, v := range values {
			values[i] = strconv.Quote(v)
		}
		fmt.Fprintf(b, "        - key: %s\n          operator: In\n          values: [%s]\n", key, strings.Join(values, ", "))
	}
	switch {
	case g.spot:
		line("karpenter.sh/capacity-type", "spot")
	case g.mixed:
		line("karpenter.sh/capacity-type", "spot", "on-demand")
		m.note(g, "mixes spot and on-demand: the NodePool uses spot if it is available; for a fixed share of on-demand see examples/on-demand-base")
	default:
		line("karpenter.sh/capacity-type", "on-demand")
	}
	if g.arch != "" {
		line("kubernetes.io/arch", g.arch)
	}
	for _, r := range g.ranges {
		fmt.Fprintf(b, "        - key: %s\n          operator: Gt\n          values: [\"%d\"]\n", r.key, max(r.least-1, 0))
		if r.most > 0 {
			fmt.Fprintf(b, "        - key: %s\n          operator: Lt\n          values: [\"%d\"]\n", r.key, r.most+1)
		}
	}
	if len(g.ranges) > 0 {
		return
	}
	if len(g.types) == 0 {
		line("karpenter.k8s.aws/instance-category", "c", "m", "r")
		m.note(g, "instance types unknown: the NodePool allows the categories c, m and r; fix: set spec.template.spec.requirements")
		return
	}
	line("node.kubernetes.io/instance-type", slices.Clone(g.types)...)
	if len(g.types) < 5 {
		m.note(g, "only %s allowed: more instance types make nodes cheaper and more available; use requirements on"+
			" karpenter.k8s.aws/instance-category and karpenter.k8s.aws/instance-generation instead", counted(len(g.types), "instance type"))
	}
}

func nodes(n int) string { return counted(n, "node") }

// counted returns the number with the noun in singular or plural: 1 node, 2 nodes.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
