package telemetry

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

var update = flag.Bool("update", false, "rewrite testdata/names.txt")

// The names, types and labels of metrics are an interface: a change of testdata/names.txt breaks dashboards of users.
func TestNames(t *testing.T) {
	keys := []string{
		"karpenter.sh/nodepool", "karpenter.sh/capacity-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/windows-build",
	}
	m := NewMetrics(prometheus.NewRegistry(), keys)
	got := render(m.Declared())
	if *update {
		if err := os.WriteFile("testdata/names.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func render(list []Declaration) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintln(&b, d.Name, d.Type, strings.Join(d.Labels, ","))
	}
	return b.String()
}

func TestEveryMetricIsDescribed(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg, nil)
	for _, d := range m.Declared() {
		if d.Help == "" || !strings.HasSuffix(d.Help, ".") && !strings.HasSuffix(d.Help, "\"none\".") {
			t.Errorf("%s: help %q is not a sentence", d.Name, d.Help)
		}
		if d.Type == "counter" && !strings.HasSuffix(d.Name, "_total") {
			t.Errorf("%s is a counter", d.Name)
		}
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

func TestBuckets(t *testing.T) {
	for name, buckets := range map[string][]float64{
		"duration": DurationBuckets(), "lifetime": lifetimeBuckets(), "score": scoreBuckets(), "powers": powersOfTwo(11),
	} {
		if !slices.IsSorted(buckets) || len(slices.Compact(slices.Clone(buckets))) != len(buckets) {
			t.Errorf("%s: bounds do not grow: %v", name, buckets)
		}
	}
	d := DurationBuckets()
	if len(d) != 45 || d[0] != 0.005 || d[44] != 600 {
		t.Errorf("duration: %d bounds from %v to %v, want 45 from 5 ms to 10 min", len(d), d[0], d[len(d)-1])
	}
	if p := powersOfTwo(10); len(p) != 11 || p[10] != 1024 {
		t.Errorf("powersOfTwo(10) = %v", p)
	}
}

func TestMetricLabels(t *testing.T) {
	got := MetricLabels([]string{"z.io/instance-type", "a.io/instance-type", "topology.k8s.aws/zone-id", "plain"})
	want := map[string]string{"a.io/instance-type": "instance_type", "topology.k8s.aws/zone-id": "zone_id", "plain": "plain"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSetBuildInfo(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry(), nil)
	m.SetBuildInfo("v1", "abc")
	m.SetBuildInfo("v2", "def")
	if n := testutil.CollectAndCount(m.BuildInfo); n != 1 {
		t.Errorf("%d builds are running, want 1", n)
	}
}

func TestTerminationMode(t *testing.T) {
	for want, grace := range map[string]*apiv1.Duration{
		TerminationGraceful: nil,
		TerminationEventual: {Duration: time.Second},
		TerminationForceful: {},
	} {
		if got := TerminationMode(grace); got != want {
			t.Errorf("TerminationMode(%v) = %s, want %s", grace, got, want)
		}
	}
}
