package story

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/units"
)

// row is one node of the summary.
type row struct {
	node, instanceType, zone, capacity string
	pods                               int
	price                              float64 // USD per hour; negative if unknown
}

// summarize prints the nodes of the workload's pods, their price and its lower bound.
func (s *Story) summarize(ctx context.Context, plans []Plan, d *appsv1.Deployment) error {
	rows, err := s.rows(ctx, d)
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		// If there were no new decisions, the earlier ones in the log are used.
		if plans, err = loggedPlans(s.Log); err != nil {
			return err
		}
	}
	fmt.Fprintln(s.Out)
	return printSummary(s.Out, rows, plans)
}

func loggedPlans(path string) ([]Plan, error) {
	log, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	plans, _, err := readPlans(log)
	return plans, err
}

// rows returns the nodes of the workload's pods, sorted by name.
func (s *Story) rows(ctx context.Context, d *appsv1.Deployment) ([]row, error) {
	var pods corev1.PodList
	err := s.Client.List(ctx, &pods, client.InNamespace(d.Namespace),
		client.MatchingLabels(d.Spec.Selector.MatchLabels))
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	prices, err := s.prices(ctx)
	if err != nil {
		return nil, err
	}
	on := map[string]int{}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning {
			on[pods.Items[i].Spec.NodeName]++
		}
	}
	var rows []row
	for name, n := range on {
		var node corev1.Node
		if err := s.Client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return nil, fmt.Errorf("read node: %w", err)
		}
		rows = append(rows, row{
			node: name, pods: n, price: price(&node, prices),
			instanceType: node.Labels[corev1.LabelInstanceTypeStable],
			zone:         node.Labels[corev1.LabelTopologyZone],
			capacity:     node.Labels[apiv1.CapacityTypeLabelKey],
		})
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.node, b.node) })
	return rows, nil
}

// prices returns the prices of instances in the emulated cloud, by instance ID.
func (s *Story) prices(ctx context.Context) (map[string]float64, error) {
	instances, err := s.Cloud.Instances(ctx)
	if err != nil {
		return nil, err
	}
	prices := map[string]float64{}
	for _, i := range instances {
		prices[i.ID] = i.PricePerHour
	}
	return prices, nil
}

// price returns the price of the node's instance in USD per hour, -1 if it is not known. Nodes without a cloud (kwok) have
// it in a label.
func price(node *corev1.Node, prices map[string]float64) float64 {
	id := node.Spec.ProviderID[strings.LastIndex(node.Spec.ProviderID, "/")+1:]
	if usd, ok := prices[id]; ok {
		return usd
	}
	usd, err := strconv.ParseFloat(node.Labels["eks-node-viewer/instance-price"], 64)
	if err != nil {
		return -1
	}
	return usd
}

// printSummary prints the table. The printed lower bound is the sum of the bounds of the plans. It is printed only if the
// plans launched as many nodes as the table has, because other nodes are in no plan.
func printSummary(w io.Writer, rows []row, plans []Plan) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tTYPE\tZONE\tCAPACITY\tPODS\t$/H")
	pods, total := 0, 0.0
	for _, r := range rows {
		usd := "?"
		if r.price >= 0 {
			usd = fmt.Sprintf("%.4f", r.price)
			total += r.price
		}
		pods += r.pods
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", r.node, r.instanceType, r.zone, r.capacity, r.pods, usd)
	}
	fmt.Fprintf(table, "%s\t\t\t\t%d\t%.4f\n", units.Counted(len(rows), "node"), pods, total)
	if nodes, floor := planned(plans); nodes == len(rows) {
		fmt.Fprintf(table, "lower bound\t\t\t\t\t%.4f\n", floor)
	}
	return table.Flush()
}

// planned returns the sums of nodes and lower bounds over the plans.
func planned(plans []Plan) (nodes int, floor float64) {
	for _, p := range plans {
		nodes += p.Nodes
		floor += p.FloorPerHour
	}
	return nodes, floor
}
