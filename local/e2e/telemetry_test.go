package e2e

import (
	"bufio"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/hack/upstream"
)

// The controller reports its actions by events on pods and claims, which kubectl describe shows, and by metrics with the names
// that dashboards use.
//
// The test does not run in parallel with others, because the rate of events about pods is limited.
func TestControllerTells(t *testing.T) {
	s := newScene(t, "tell")
	s.class()
	rounds := "karpenter_scheduler_scheduling_duration_seconds_count"
	before := s.metrics()
	s.pool("tell", needs{typesOf("m7a.large")})
	s.deploy("web", 2, "1500m")
	pods := s.awaitRunning("web", 2)
	claims := s.settled(2) // one for each pod
	for _, p := range pods {
		s.awaitEvent(about{kind: "Pod", prefix: p.Name, reason: "Nominated"}, "tell-", "m7a.large")
	}
	for _, c := range claims {
		for _, reason := range []string{"Launched", "Registered", "Initialized", "Ready"} {
			s.awaitEvent(about{kind: "NodeClaim", prefix: c.Name, reason: reason})
		}
		out := shared.Kubectl(t, "describe", "nodeclaim", c.Name)
		for _, want := range []string{"Normal  Launched", "Normal  Initialized", "m7a.large", c.Status.ProviderID} {
			if !strings.Contains(strings.Join(strings.Fields(out), "  "), want) {
				t.Errorf("describe nodeclaim does not show %q:\n%s", want, out)
			}
		}
	}

	const mine = `nodepool="tell"`
	s.poll(func() string {
		now := s.metrics()
		for _, want := range []struct {
			name, labels string
			more         float64
		}{
			{"karpenter_nodeclaims_created_total", mine, 2},
			{"karpenter_nodes_created_total", mine, 2},
			{"karpenter_pods_startup_duration_seconds_count", "", 2},
		} {
			if more := now.sum(want.name, want.labels) - before.sum(want.name, want.labels); more != want.more {
				return want.name + " grew by " + strconv.FormatFloat(more, 'g', -1, 64) + ", want 2"
			}
		}
		return ""
	})
	now := s.metrics()
	if now.sum(rounds, "") <= before.sum(rounds, "") {
		t.Error("no scheduling round was counted")
	}
	for _, name := range []string{
		"karpenter_scheduler_scheduling_duration_seconds_sum", "karpenter_pods_startup_duration_seconds_sum",
	} {
		if took := now.sum(name, "") - before.sum(name, ""); took <= 0 {
			t.Errorf("%s grew by %g, want more than nothing", name, took)
		}
	}
	usage := 0.0
	for _, n := range s.nodes() {
		usage += float64(n.Status.Capacity.Cpu().Value())
	}
	s.poll(func() string {
		if got := s.metrics().sum("karpenter_nodepools_usage", mine+`,resource_type="cpu"`); got != usage {
			return "the pool uses " + strconv.FormatFloat(got, 'g', -1, 64) + " CPUs by its metric"
		}
		return ""
	})
	s.wantUpstreamLabels()
}

// wantUpstreamLabels checks the labels of all metrics that upstream also has, and the label values for which upstream has a
// fixed list.
func (s *scene) wantUpstreamLabels() {
	s.t.Helper()
	breaches, seen, err := upstream.Breaches(slices.Collect(maps.Keys(s.metrics())))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, b := range breaches {
		s.t.Errorf("metrics differ from upstream's: %s", b)
	}
	if seen < 50 {
		s.t.Errorf("the controller exposes %d metrics of upstream, want at least 50", seen)
	}
}

// samples are values of metrics, by name and labels in the text format.
type samples map[string]float64

// metrics returns the metrics of the controller.
func (s *scene) metrics() samples {
	s.t.Helper()
	recorded, err := s.Cluster.Dir().Load()
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := s.context()
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+recorded.Address("karpenter-metrics")+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	found := samples{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || space < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			s.t.Fatalf("read metric %q: %v", line, err)
		}
		found[line[:space]] = value
	}
	if err := lines.Err(); err != nil || len(found) == 0 {
		s.t.Fatalf("read metrics: %v; %d found", err, len(found))
	}
	return found
}

// sum returns the sum over the series of a metric that contain labels. If labels is empty, all series count.
func (m samples) sum(name, labels string) (total float64) {
	for series, value := range m {
		if (series == name || strings.HasPrefix(series, name+"{")) && strings.Contains(series, labels) {
			total += value
		}
	}
	return total
}
