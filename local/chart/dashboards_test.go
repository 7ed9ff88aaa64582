package chart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/local/prometheus"
)

// queryOf returns the first query of a panel, with values for its variables.
func queryOf(t *testing.T, dashboard, panel string) string {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, charts+"karpenter/dashboards/"+dashboard+".json"), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		if p.Title == panel {
			return strings.NewReplacer("$nodepool", ".*", "$__range", "10m").Replace(p.Targets[0].Expr)
		}
	}
	t.Fatalf("%s has no panel %s", dashboard, panel)
	return ""
}

// Panels show the right values if the operator of Prometheus renames the label namespace, and if series of nodes are sums. promtool
// evaluates their queries as Prometheus does.
func TestPanels(t *testing.T) {
	promtool, err := prometheus.Find("promtool")
	if err != nil {
		t.Skip("queries were not evaluated:", err)
	}
	const target = `namespace="kube-system",pod="karpenter-0",service="karpenter"`
	type series struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	type sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	type query struct {
		Expr    string   `json:"expr"`
		Time    string   `json:"eval_time"`
		Samples []sample `json:"exp_samples"`
	}
	type test struct {
		Name    string   `json:"name"`
		Every   string   `json:"interval"`
		Input   []series `json:"input_series"`
		Queries []query  `json:"promql_expr_test"`
	}
	cpu := `resource_type="cpu",nodepool="default"`
	types := []sample{{`{instance_type="m7a.large"}`, 3}, {`{instance_type="m7a.xlarge"}`, 1}}
	cores := []series{
		{`karpenter_cloudprovider_instance_type_cpu_cores{instance_type="m7a.large",` + target + `}`, "2x20"},
		{`karpenter_cloudprovider_instance_type_cpu_cores{instance_type="m7a.xlarge",` + target + `}`, "4x20"},
	}
	count := []query{{queryOf(t, "karpenter-capacity", "Nodes by instance type"), "10m", types}}
	namespaces := func(panel string, values ...float64) []query {
		return []query{{queryOf(t, "karpenter-cost", panel), "10m", []sample{{`{namespace="shop"}`, values[0]}, {`{namespace="web"}`, values[1]}}}}
	}
	tests := []test{
		{"cost by namespace", "1m", []series{
			{`karpenter_cost_namespace_dollars_per_hour{exported_namespace="web",` + target + `}`, "1x20"},
			{`karpenter_cost_namespace_dollars_per_hour{exported_namespace="shop",` + target + `}`, "2x20"},
		}, namespaces("By namespace", 2, 1)},
		{"cost by namespace with honorLabels", "1m", []series{
			{`karpenter_cost_namespace_dollars_per_hour{namespace="web",pod="karpenter-0"}`, "1x20"},
			{`karpenter_cost_namespace_dollars_per_hour{namespace="shop",pod="karpenter-0"}`, "2x20"},
		}, namespaces("By namespace", 2, 1)},
		{"dollars by namespace", "1m", []series{
			{`karpenter_cost_namespace_dollars_total{exported_namespace="web",` + target + `}`, "100+1x20"},
			{`karpenter_cost_namespace_dollars_total{exported_namespace="shop",` + target + `}`, "100+2x20"},
		}, namespaces("Dollars by namespace", 20, 10)},
		{"distance to the lower bound", "1m", []series{
			{`karpenter_cost_dollars_per_hour{kind="workload",` + target + `}`, "3x20"},
			{`karpenter_cost_dollars_per_hour{kind="idle",` + target + `}`, "3x20"},
			{`karpenter_cost_floor_dollars_per_hour{` + target + `}`, "4x20"},
		}, []query{{queryOf(t, "karpenter-cost", "Above the lower bound"), "10m", []sample{{`{}`, 0.5}}}}},
		{"evictions of consolidation only", "1m", []series{
			{`karpenter_savings_evictions_total{reason="underutilized",decision="delete",` + target + `}`, "6x20"},
			{`karpenter_savings_evictions_total{reason="drifted",decision="replace",` + target + `}`, "100x20"},
			{`karpenter_savings_realized_dollars_per_hour{reason="underutilized",decision="delete",` + target + `}`, "2x20"},
			{`karpenter_savings_realized_dollars_per_hour{reason="empty",decision="delete",` + target + `}`, "1x20"},
			{`karpenter_savings_realized_dollars_per_hour{reason="drifted",decision="replace",` + target + `}`, "-2x20"},
		}, []query{{queryOf(t, "karpenter-cost", "Evictions for a dollar per hour"), "10m", []sample{{`{}`, 2}}}}},
		{"nodes with their own series", "1m", append([]series{
			{`karpenter_nodes_allocatable{node_name="a",instance_type="m7a.large",` + cpu + `}`, "1.9x20"},
			{`karpenter_nodes_allocatable{node_name="b",instance_type="m7a.large",` + cpu + `}`, "1.9x20"},
			{`karpenter_nodes_allocatable{node_name="c",instance_type="m7a.large",` + cpu + `}`, "1.9x20"},
			{`karpenter_nodes_allocatable{node_name="d",instance_type="m7a.xlarge",` + cpu + `}`, "3.9x20"},
		}, cores...), count},
		{"sums of nodes", "1m", append([]series{
			{`karpenter_nodes_allocatable{node_name="",zone="a",instance_type="m7a.large",` + cpu + `}`, "3.8x20"},
			{`karpenter_nodes_allocatable{node_name="",zone="b",instance_type="m7a.large",` + cpu + `}`, "1.9x20"},
			{`karpenter_nodes_system_overhead{node_name="",zone="a",instance_type="m7a.large",` + cpu + `}`, "0.2x20"},
			{`karpenter_nodes_system_overhead{node_name="",zone="b",instance_type="m7a.large",` + cpu + `}`, "0.1x20"},
			{`karpenter_nodes_allocatable{node_name="",zone="a",instance_type="m7a.xlarge",` + cpu + `}`, "4x20"}, // nothing is reserved
		}, cores...), count},
	}
	text, err := yaml.Marshal(map[string]any{"evaluation_interval": "1m", "tests": tests})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
