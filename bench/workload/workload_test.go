package workload

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// The same seed gives the same pods, and another seed gives others. The number of pods is the requested one.
func TestPods(t *testing.T) {
	for _, p := range Profiles {
		t.Run(string(p), func(t *testing.T) {
			for _, n := range []int{1, 7, 200} {
				if got := len(Pods(p, n, 1)); got != n {
					t.Errorf("%d pods, want %d", got, n)
				}
			}
			first := Pods(p, 200, 1)
			if diff := cmp.Diff(first, Pods(p, 200, 1)); diff != "" {
				t.Errorf("another run made other pods:\n%s", diff)
			}
			if p != Prefs && cmp.Equal(first, Pods(p, 200, 2)) {
				t.Error("another seed made the same pods")
			}
			names := map[string]bool{}
			for _, pod := range first {
				names[Key(pod)] = true
				if !model.NewPod(pod).Provisionable() {
					t.Fatalf("pod %s does not wait for a node", Key(pod))
				}
			}
			if len(names) != 200 {
				t.Errorf("%d names for 200 pods", len(names))
			}
		})
	}
}

// The means of 20,000 pods differ from those of the distributions by a few percent at most.
func TestPodSizes(t *testing.T) {
	for _, tt := range []struct {
		profile       Profile
		cores, memory float64 // means of a pod, memory in GiB
	}{
		// Computed from the lists of choices.
		{Micro, 0.495, 2.135},
		{Skewed, 1.392, 4.292},
		{Large, 22.25, 103.5},
		{Diverse, 0.67, 1.309},
	} {
		var cores, memory float64
		const n, seeds = 1000, 25
		for seed := range uint64(seeds) {
			for _, p := range Pods(tt.profile, n, seed) {
				r := model.NewPod(p).Requests
				cores += float64(r[corev1.ResourceCPU]) / 1000
				memory += float64(r[corev1.ResourceMemory]) / (1 << 30)
			}
		}
		cores, memory = cores/(n*seeds), memory/(n*seeds)
		if !near(cores, tt.cores) || !near(memory, tt.memory) {
			t.Errorf("%s: a pod has %.3f cores and %.3f GiB on average, want %.3f and %.3f", tt.profile, cores, memory, tt.cores, tt.memory)
		}
	}
}

func near(got, want float64) bool { return got > 0.95*want && got < 1.05*want }

func TestCatalogues(t *testing.T) {
	for name, want := range map[string]int{"cmr6": 383, "noburst": 717, "synthetic400": 400} {
		types, err := Catalogue(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(types) != want {
			t.Errorf("%s: %d types, want %d", name, len(types), want)
		}
		if _, err := catalogue.InstanceTypes(types); err != nil {
			t.Error(err)
		}
	}
	if _, err := Catalogue("none"); err == nil {
		t.Error("a catalogue that does not exist was made")
	}
}

// The catalogue has the right figures for one type. They are computed by hand from the tables of EC2 and EKS: for example, 3
// interfaces with 10 addresses each, and 0.1 dollars per hour.
func TestOneType(t *testing.T) {
	types, err := Catalogue("all")
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range types {
		if got.Name != "m7i.large" {
			continue
		}
		want := map[string]string{"cpu": "1930m", "memory": "6903Mi", "pods": "29", "ephemeral-storage": "17Gi"}
		if diff := cmp.Diff(want, got.Allocatable); diff != "" {
			t.Error(diff)
		}
		if o := got.Offerings[0]; o.Price != 0.1008 || o.CapacityType != "on-demand" {
			t.Errorf("first offering %+v", o)
		}
		return
	}
	t.Error("no m7i.large")
}

// No node of a fleet has more pods than fit, the given share of pods remains, and every pod has a node.
func TestFleet(t *testing.T) {
	types, err := Catalogue("noburst")
	if err != nil {
		t.Fatal(err)
	}
	full, err := Fleet{Nodes: 200, Pools: 3, Keep: 1, Seed: 1, Budgets: true}.Cluster(types)
	if err != nil {
		t.Fatal(err)
	}
	quarter, err := Fleet{Nodes: 200, Keep: 0.25, Seed: 1}.Cluster(types)
	if err != nil {
		t.Fatal(err)
	}
	if share := float64(len(quarter.Pods)) / float64(len(full.Pods)); share < 0.2 || share > 0.3 {
		t.Errorf("%d of %d pods were kept, want a quarter", len(quarter.Pods), len(full.Pods))
	}
	if len(full.Pools) != 3 || len(full.Budgets) != apps {
		t.Errorf("%d pools and %d budgets", len(full.Pools), len(full.Budgets))
	}
	d, err := full.Delta()
	if err != nil {
		t.Fatal(err)
	}
	pods := 0
	for _, n := range model.Compile(d).Nodes() {
		pods += len(n.Pods)
		if name, by, short := n.Used.Short(n.Allocatable); short {
			t.Errorf("node %s holds %d too much of %s", n.Name, by, name)
		}
	}
	if pods != len(full.Pods) {
		t.Errorf("%d of %d pods are on a node", pods, len(full.Pods))
	}
}

// A cluster that is written to files and read again is the same.
func TestFiles(t *testing.T) {
	c, err := New(Services, 100, 1, "cmr6")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Read(FilesIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	if want, have := text(t, c), text(t, got); want != have {
		t.Error("the files hold another cluster")
	}
}

func text(t *testing.T, c *Cluster) string {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
