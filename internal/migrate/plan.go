package migrate

import (
	"cmp"
	"fmt"
	"strings"
)

// A Step is one step of the migration.
type Step struct {
	What string `json:"what"`
	// Group is the group concerned, empty if there is none. Nodes is its number of nodes. CostPerHour is their cost in
	// dollars per hour, 0 if it is not known.
	Group       string  `json:"group,omitempty"`
	Nodes       int     `json:"nodes,omitempty"`
	CostPerHour float64 `json:"costPerHour,omitempty"`
	// Commands are the commands of the step, in order.
	Commands []string `json:"commands,omitempty"`
}

// String returns the step with its commands on separate lines.
func (s Step) String() string {
	out := s.What
	for _, c := range s.Commands {
		out += "\n     " + c
	}
	return out
}

// plan adds the steps.
func (m *migration) plan(groups []group) {
	m.steps = append(m.steps,
		Step{What: "Set up the account and install the chart beside Cluster Autoscaler: docs/getting-started-eks.md."},
		Step{What: "Review the manifests, check them, and simulate them with your workload.",
			Commands: []string{"karpenter lint -f pools.yaml", "karpenter simulate -f pools.yaml -f WORKLOAD"}},
		Step{What: "Stop Cluster Autoscaler, because both launch nodes for the same pending pods; or separate the two, see" +
			" docs/migration-cluster-autoscaler.md#side-by-side. Then apply the manifests.", Commands: []string{
			"kubectl scale deployment cluster-autoscaler --namespace kube-system --replicas 0", "kubectl apply -f pools.yaml"}})
	for _, g := range groups {
		if g.desired == 0 {
			m.steps = append(m.steps, Step{Group: g.name, What: fmt.Sprintf("Group %s has no nodes: delete it.", g.name)})
			continue
		}
		m.steps = append(m.steps, m.move(g))
	}
	m.steps = append(m.steps, Step{What: "Keep one small group for the controller and for pods that must not be moved. Remove Cluster Autoscaler."})
}

// move returns the step that drains the nodes of a group.
func (m *migration) move(g group) Step {
	s := Step{Group: g.name, Nodes: g.desired, CostPerHour: m.cost(g)}
	what := nodes(g.desired)
	if len(g.types) > 0 {
		what += " of " + strings.Join(g.types, ", ")
	}
	if s.CostPerHour > 0 {
		what += fmt.Sprintf(", about $%.2f/h", s.CostPerHour)
	}
	s.What = fmt.Sprintf("Group %s (%s): cordon all nodes, then drain them one by one. Karpenter launches nodes for the pods.", g.name, what)
	if !g.managed {
		s.Commands = []string{
			fmt.Sprintf("aws autoscaling update-auto-scaling-group --auto-scaling-group-name %s --min-size 0", g.name),
			"kubectl cordon NODE...; kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
			fmt.Sprintf("aws autoscaling update-auto-scaling-group --auto-scaling-group-name %s --desired-capacity 0", g.name),
		}
		return s
	}
	scale := fmt.Sprintf("aws eks update-nodegroup-config --cluster-name %s --nodegroup-name %s --scaling-config ",
		cmp.Or(m.options.Cluster, g.cluster, "CLUSTER_NAME"), g.name)
	selector := "--selector eks.amazonaws.com/nodegroup=" + g.name
	s.Commands = []string{
		scale + "minSize=0", "kubectl cordon " + selector,
		"kubectl drain " + selector + " --ignore-daemonsets --delete-emptydir-data", scale + "minSize=0,desiredSize=0",
	}
	return s
}

// cost returns the cost of a group in dollars per hour, as if all nodes had its first instance type, and were on-demand
// unless the group has only spot instances. It returns 0 if the cost is not known.
func (m *migration) cost(g group) float64 {
	if m.options.Price == nil || len(g.types) == 0 {
		return 0
	}
	price, ok := m.options.Price(cmp.Or(m.options.Region, g.region, "us-east-1"), g.types[0], g.spot)
	if !ok {
		return 0
	}
	return price * float64(g.desired)
}
