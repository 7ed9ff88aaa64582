package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

func TestLoadFollowsDemand(t *testing.T) {
	w := withNodes(t, 3)
	create(w, Deployment("default", "web", 1, Template("web", "1", "1Gi")))
	curve := Curve{Base: 20, Amplitude: 0.5, Noise: 0.05, Period: time.Hour, Min: 2, Max: 28}
	w.Load.Scale("default", "web", curve)
	var seen []int32
	for range 120 {
		w.run(time.Minute)
		seen = append(seen, *find[*appsv1.Deployment](w, "default", "web").Spec.Replicas)
	}
	if lowest, highest := slices.Min(seen), slices.Max(seen); lowest > 14 || lowest < 2 || highest != 28 {
		t.Errorf("replicas range from %d to %d: %v", lowest, highest, seen)
	}
	w.Load.Stop("default", "web")
	w.run(time.Minute)
	last := *find[*appsv1.Deployment](w, "default", "web").Spec.Replicas
	w.run(time.Hour)
	if n := *find[*appsv1.Deployment](w, "default", "web").Spec.Replicas; n != last {
		t.Errorf("%d replicas after the load was stopped, want %d", n, last)
	}
}

// Replicas are removed only after demand has been lower for the stabilization time of five minutes.
func TestLoadStabilizes(t *testing.T) {
	s := &scaler{curve: Curve{Stabilize: 5 * time.Minute}.withDefaults()}
	now, current := start, int32(10)
	for i, tt := range []struct {
		demand float64
		want   int32
	}{{10, 10}, {10.5, 10}, {15, 15}, {5, 15}, {5, 15}, {5, 15}, {5, 15}, {5, 15}, {5, 5}} {
		current = s.decide(tt.demand, current, now)
		if current != tt.want {
			t.Errorf("minute %d: %d replicas, want %d", i, current, tt.want)
		}
		now = now.Add(time.Minute)
	}
}

func TestSpikes(t *testing.T) {
	c := Curve{Base: 10, SpikeChance: 0.2, SpikeFactor: 3}
	spikes := 0
	for i := range 1000 {
		switch d := c.Demand(1, "web", time.Duration(i)*5*time.Minute); d {
		case 30:
			spikes++
		case 10:
		default:
			t.Fatalf("demand is %v", d)
		}
	}
	if spikes < 150 || spikes > 250 {
		t.Errorf("%d spikes of 1000, want about 200", spikes)
	}
}

// populate creates workloads of all kinds on nodes.
func populate(w *world, nodes int, replicas int32) {
	create(w, StorageClass("gp3"))
	for i := range nodes {
		w.addNode(fmt.Sprintf("node-%02d", i), fmt.Sprintf("z%d", i%3))
	}
	for i := range 6 {
		name := fmt.Sprintf("web-%d", i)
		create(w, Deployment("default", name, replicas, Template(name, "1", "1Gi")))
		create(w, Budget("default", name, "20%"))
		w.Load.Scale("default", name, Curve{Base: float64(replicas), Amplitude: 0.3, Noise: 0.1, Period: 30 * time.Minute})
	}
	create(w, StatefulSet("default", "db", 5, Template("db", "1", "1Gi"), "gp3"))
	create(w, DaemonSet("kube-system", "agent", Template("agent", "100m", "100Mi")))
	create(w, Job("default", "batch", 30, 5, "4m", Template("batch", "1", "1Gi")))
}

// history runs a cluster with failures and returns its writes.
func history(t *testing.T, o Options) []string {
	t.Helper()
	w := newWorldWith(t, o)
	populate(w, 6, 6)
	w.run(5 * time.Minute)
	if err := w.Kubelets.Kill("node-01"); err != nil {
		t.Fatal(err)
	}
	w.run(10 * time.Minute)
	w.remove(find[*corev1.Node](w, "", "node-01"))
	w.run(10 * time.Minute)
	return w.log
}

func TestSameSeedSameWrites(t *testing.T) {
	for _, latency := range []time.Duration{0, time.Second} {
		a, b := history(t, Options{Seed: 3, Latency: latency}), history(t, Options{Seed: 3, Latency: latency})
		if !slices.Equal(a, b) {
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Fatalf("write %d differs: %q and %q", i, a[i], b[i])
				}
			}
			t.Fatalf("%d and %d writes", len(a), len(b))
		}
		if slices.Equal(a, history(t, Options{Seed: 4, Latency: latency})) {
			t.Error("another seed gives the same writes")
		}
	}
}

// Workloads reach their desired state for any order in which actors react to changes.
func TestLatencyChangesNoResult(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorldWith(t, Options{Seed: seed, Latency: 3 * time.Second})
		for i := range 4 {
			w.addNode(fmt.Sprintf("node-%d", i), fmt.Sprintf("z%d", i%2))
		}
		create(w, StorageClass("gp3"))
		create(w, Deployment("default", "web", 8, Template("web", "1", "1Gi")))
		create(w, Budget("default", "web", "2"))
		create(w, StatefulSet("default", "db", 3, Template("db", "1", "1Gi"), "gp3"))
		create(w, DaemonSet("kube-system", "agent", Template("agent", "100m", "100Mi")))
		create(w, Job("default", "batch", 4, 2, "20s", Template("batch", "1", "1Gi")))
		w.run(2 * time.Minute)
		edit(w, "default", "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" })
		w.remove(w.podsOf("db")[1])
		w.run(3 * time.Minute)
		w.wantReady("web", 8)
		w.wantReady("db", 3)
		w.wantReady("agent", 4)
		if n := len(slices.DeleteFunc(w.podsOf("web"), func(p *corev1.Pod) bool { return p.Spec.Containers[0].Image != "web:2" })); n != 8 {
			t.Errorf("seed %d: %d pods have the new template", seed, n)
		}
		if s := find[*batchv1.Job](w, "default", "batch").Status; s.Succeeded != 4 || s.Failed != 0 {
			t.Errorf("seed %d: the job has %+v", seed, s)
		}
		if s := find[*policyv1.PodDisruptionBudget](w, "default", "web").Status; s.DisruptionsAllowed != 2 {
			t.Errorf("seed %d: the budget has %+v", seed, s)
		}
	}
}

// BenchmarkTwoHours simulates two virtual hours of a cluster of 40 nodes and about 300 pods.
func BenchmarkTwoHours(b *testing.B) {
	for range b.N {
		w := newWorld(b, 1)
		populate(w, 40, 36)
		w.run(2 * time.Hour)
		b.ReportMetric(float64(len(w.log)), "writes/op")
	}
}
