package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/prometheus"
)

// A prometheusServer is a Prometheus that scrapes the controller.
type prometheusServer struct{ address string }

// startPrometheus starts a real Prometheus. The series get the labels that a ServiceMonitor gives them. It skips the test if the program is not found.
func (s *scene) startPrometheus() prometheusServer {
	s.t.Helper()
	program, err := prometheus.Find("prometheus")
	if err != nil {
		s.t.Skip("queries were not evaluated:", err)
	}
	recorded, err := s.Cluster.Dir().Load()
	if err != nil {
		s.t.Fatal(err)
	}
	rules, err := os.ReadFile("../../charts/karpenter/alerts/rules.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	dir := s.t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 5s}\nrule_files: [rules.yaml]\n"+
		"scrape_configs: [{job_name: karpenter, static_configs: [{targets: [%q], labels: {namespace: karpenter, service: karpenter, pod: karpenter-0}}]}]\n",
		recorded.Address("karpenter-metrics"))
	for name, text := range map[string]string{"prometheus.yml": config, "rules.yaml": string(rules)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=error")
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // its end is not checked
		_ = cmd.Wait()
	})
	p := prometheusServer{address}
	s.poll(func() string {
		if got, err := p.query("up == 1"); err != nil || len(got) == 0 {
			return fmt.Sprintf("Prometheus does not scrape: %v", err)
		}
		return ""
	})
	return p
}

// query returns the current values of the series of an instant query.
func (p prometheusServer) query(expr string) ([]float64, error) {
	response, err := http.Get("http://" + p.address + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("query %s: %s", expr, answer.Error)
	}
	var out []float64
	for _, r := range answer.Data.Result {
		v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// dashboardQueries returns the queries of this project's dashboards, with values for their variables as Grafana sets them.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../charts/karpenter/dashboards/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	out := map[string]string{}
	fill := strings.NewReplacer("$nodepool", ".*", "$__rate_interval", "10m", "$__range", "10m") // the whole test
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Panels {
			for i, target := range p.Targets {
				out[fmt.Sprintf("%s, %s, %d", filepath.Base(file), p.Title, i)] = fill.Replace(target.Expr)
			}
		}
	}
	return out
}

// publicQueries returns the queries of public dashboards.
func publicQueries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/public_queries.promql")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			out["public: "+line] = line
		}
	}
	return out
}

// Every query of this project's dashboards and of public ones has a result on a busy cluster. Their amounts of money equal
// those of the ledger.
//
// The test does not run in parallel with others, because it counts all nodes of the cluster.
func TestDashboards(t *testing.T) {
	s := newScene(t, "dash")
	p := s.startPrometheus()
	s.class()
	limited := func(pool *apiv1.NodePool) {
		pool.Spec.Limits = apiv1.Limits{corev1.ResourceCPU: resource.MustParse("100")}
		pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("1s")
		pool.Spec.Disruption.ConsolidationPolicy = apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized
		pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
	}
	s.pool("dash", needs{typesOf("m7a.large", "m7a.xlarge", "m7a.2xlarge"), part("steady")}, limited)
	s.pool("dash-spot", nil, limited, func(pool *apiv1.NodePool) {
		pool.Spec.Template.Spec.Requirements = needs{typesOf("c7a.large", "c6a.large"), in(apiv1.CapacityTypeLabelKey, "spot"), part("spot")}
	})
	s.deploy("web", 6, "1500m", toPart("steady"))
	s.deploy("guarded", 1, "200m", toPart("steady"))
	s.guard("guarded", 1)
	s.deploy("cheap", 2, "1200m", toPart("spot"))
	s.awaitRunning("web", 6)
	s.awaitRunning("guarded", 1)
	s.awaitRunning("cheap", 2)
	s.deploy("huge", 1, "4000")
	if _, err := s.Steer().Interrupt(t.Context(), control.Interrupt{Random: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Steer().Fail(t.Context(), control.Fail{Op: "CreateFleet", Code: "InternalError", Times: 2}); err != nil {
		t.Fatal(err)
	}
	s.deploy("more", 2, "1500m", toPart("steady"))
	s.awaitRunning("more", 2)
	s.resize("web", 1)
	s.awaitRunning("web", 1)
	all := dashboardQueries(t)
	for name, expr := range publicQueries(t) {
		all[name] = expr
	}
	for name, expr := range all {
		if strings.Contains(expr, "karpenter_cost_commitment_") { // the cluster has no price book with commitments
			delete(all, name)
		}
	}
	left := len(all)
	ask := func(most int) func() string {
		return func() string {
			var empty []string
			for name, expr := range all {
				if got, err := p.query(expr); err != nil {
					t.Fatalf("%s: %v", name, err)
				} else if len(got) == 0 {
					empty = append(empty, name+": "+expr)
				} else {
					delete(all, name)
				}
			}
			if len(empty) <= most {
				return ""
			}
			return strings.Join(empty, "\n")
		}
	}
	s.poll(ask(1)) // no metrics of consolidation yet, because only empty nodes were removed
	s.resize("more", 1)
	s.poll(ask(0))
	t.Logf("%d queries have an answer", left)
	for name, expr := range dashboardQueries(t) {
		if !strings.Contains(strings.ToLower(name), "by namespace") {
			continue
		}
		expr = fmt.Sprintf(`(%s) and on (namespace) label_replace(vector(1), "namespace", %q, "", "")`, expr, s.name)
		if got, err := p.query(expr); err != nil || len(got) != 1 {
			t.Errorf("%s has no series of namespace %s: %v, %v", name, s.name, got, err)
		}
	}
	s.wantMoney(p)
}

// wantMoney compares metrics of money with the prices of the instances in the account, and with KARPENTER_LONG also with the stored
// ledger and the bill.
func (s *scene) wantMoney(p prometheusServer) {
	s.t.Helper()
	sum := func(expr string) float64 {
		got, err := p.query(expr)
		if err != nil || len(got) != 1 {
			s.t.Fatalf("%s: %v, %v", expr, got, err)
		}
		return got[0]
	}
	s.poll(func() string {
		price := 0.0
		list, err := s.Steer().Instances(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, i := range list {
			if i.State == "running" || i.State == "pending" {
				price += i.PricePerHour
			}
		}
		for _, expr := range []string{
			"sum(karpenter_cost_dollars_per_hour)", "sum(karpenter_nodepools_cost_total)",
			`sum(karpenter_cost_dollars_per_hour{kind!="workload"}) + sum(karpenter_cost_namespace_dollars_per_hour)`,
			`sum(count by (instance_type, capacity_type, zone) (karpenter_nodes_allocatable{resource_type="cpu"}) * on (instance_type, capacity_type, zone) group_left () max by (instance_type, capacity_type, zone) (karpenter_cloudprovider_instance_type_offering_price_estimate))`,
		} {
			if got := sum(expr); math.Abs(got-price) > 0.001*price {
				return fmt.Sprintf("%s is %v, the instances cost %v", expr, got, price)
			}
		}
		return ""
	})
	if os.Getenv("KARPENTER_LONG") == "" {
		return // the ledger is stored once a minute
	}
	var report struct{ Dollars, DollarsPerHour float64 }
	s.poll(func() string {
		out := s.karpenter(s.t, nil, "cost", "-o", "json")
		if err := json.Unmarshal(out, &report); err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
		got := sum("sum(karpenter_cost_dollars_total)")
		bill, err := s.Steer().Bill(s.t.Context(), time.Time{})
		if err != nil {
			s.t.Fatal(err)
		}
		// Billing begins before this controller first sees a node, and both the bill and the ledger are a few seconds late.
		if report.Dollars <= 0 || math.Abs(got/report.Dollars-1) > 0.05 || math.Abs(bill.Dollars/report.Dollars-1) > 0.05 {
			return fmt.Sprintf("the counter says $%v, the stored ledger $%v, the bill $%v", got, report.Dollars, bill.Dollars)
		}
		return ""
	})
}
