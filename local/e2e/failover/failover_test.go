package failover

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// since logs a recovery time. Times are not checked.
func since(t *testing.T, what string, start time.Time) {
	t.Helper()
	t.Logf("%s after %.1f s", what, time.Since(start).Seconds())
}

// awaitLeader waits until the replica is the leader.
func awaitLeader(t *testing.T, r *replica) {
	t.Helper()
	here.Poll(t, func(ctx context.Context) string {
		if !r.leads(ctx) {
			return fmt.Sprintf("the standby does not lead (it runs: %v)", r.running())
		}
		return ""
	})
}

// launchedOnce checks that as many instances as pods were launched, one for each pod. made is the number of instances before.
func launchedOnce(t *testing.T, made, pods int) {
	t.Helper()
	if n := madeSoFar(t.Context(), t) - made; n != pods {
		t.Errorf("%d instances were launched for %d pods", n, pods)
	}
}

// The leader is killed while it launches nodes. The standby continues, and each pod gets one node.
//
// The replicas serve metrics by TLS, and only to users with the permission.
func TestLeaderKilled(t *testing.T) {
	leader, standby := pair(t)
	metricsAreProtected(t, leader)
	offer(t)
	made := madeSoFar(t.Context(), t)
	load(t, 12)
	awaitLaunched(t, made, 1)
	killed := time.Now()
	leader.kill(t)
	awaitLeader(t, standby)
	since(t, "the standby leads", killed)
	awaitWorld(t, 12)
	since(t, "all pods run", killed)
	launchedOnce(t, made, 12)
}

// metricsAreProtected checks which users can get the metrics of a replica.
func metricsAreProtected(t *testing.T, r *replica) {
	t.Helper()
	tenant := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "tenant"}}
	if err := client.IgnoreAlreadyExists(here.Create(t.Context(), tenant)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, token string
		want        int
	}{
		{"no token", "", http.StatusUnauthorized},
		{"a forged token", "forged", http.StatusUnauthorized},
		{"a tenant", tokenOf(t, tenant), http.StatusForbidden},
		{"Prometheus", r.token, http.StatusOK},
	} {
		if status, _, err := r.scrape(t.Context(), tt.token); status != tt.want || err != nil {
			t.Errorf("%s: status %d (%v), want %d", tt.name, status, err, tt.want)
		}
	}
}

// The leader is stopped for a minute during a scale-up, and continued when the other replica leads. It then ends itself without
// effective writes: nothing is launched twice, and no node is removed.
func TestLeaderPaused(t *testing.T) {
	long(t)
	leader, standby := pair(t)
	offer(t)
	made := madeSoFar(t.Context(), t)
	load(t, 20)
	awaitLaunched(t, made, 1)
	paused := time.Now()
	leader.signal(t, syscall.SIGSTOP)
	awaitLeader(t, standby)
	since(t, "the standby leads", paused)
	awaitWorld(t, 20)
	since(t, "all pods run", paused)
	scale(t, 24)
	here.Poll(t, func(ctx context.Context) string {
		l, err := lease(ctx)
		switch {
		case err != nil:
			return err.Error()
		case l.Spec.RenewTime.Time.Before(paused.Add(time.Minute)):
			return "a minute has not passed"
		}
		return ""
	})
	resumed := time.Now()
	leader.signal(t, syscall.SIGCONT)
	here.Poll(t, func(context.Context) string {
		if leader.running() {
			return "the former leader still runs"
		}
		return ""
	})
	since(t, "the former leader ended", resumed)
	awaitWorld(t, 24)
	launchedOnce(t, made, 24)
}

// The lease is taken from the leader during a scale-up. The leader ends itself. When the lease is not renewed any more, a
// replica becomes the leader and finishes the scale-up.
func TestLeaseLost(t *testing.T) {
	long(t)
	leader, standby := pair(t)
	offer(t)
	made := madeSoFar(t.Context(), t)
	load(t, 16)
	awaitLaunched(t, made, 1)
	l, err := lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := l.DeepCopy()
	l.Spec.HolderIdentity = ptr.To("thief")
	l.Spec.RenewTime = ptr.To(metav1.NowMicro())
	if err := here.Patch(t.Context(), l, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	lost := time.Now()
	here.Poll(t, func(context.Context) string {
		if leader.running() {
			return "the leader runs without its lease"
		}
		return ""
	})
	since(t, "the leader ended", lost)
	awaitLeader(t, standby)
	since(t, "the standby leads", lost)
	awaitWorld(t, 16)
	since(t, "all pods run", lost)
	launchedOnce(t, made, 16)
}

// The API server and etcd are killed during a scale-up and restarted. Replicas that have ended meanwhile are restarted, as by a
// kubelet.
func TestControlPlaneKilled(t *testing.T) {
	long(t)
	leader, standby := pair(t)
	offer(t)
	made := madeSoFar(t.Context(), t)
	load(t, 16)
	awaitLaunched(t, made, 1)
	killed := time.Now()
	for _, part := range []string{"kube-apiserver", "etcd"} {
		if err := here.Cluster.Kill(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	up(t)
	since(t, "the API server answers", killed)
	revive(t, leader, standby)
	awaitWorld(t, 16)
	since(t, "all pods run", killed)
	launchedOnce(t, made, 16)
}

// revive restarts replicas that have ended, and waits until one of them leads.
func revive(t *testing.T, replicas ...*replica) {
	t.Helper()
	here.Poll(t, func(ctx context.Context) string {
		for _, r := range replicas {
			if r.leads(ctx) {
				return ""
			}
			if !r.running() {
				r.run(t)
			}
		}
		return "no replica leads"
	})
}

// up restarts the parts that were killed.
func up(t *testing.T) {
	t.Helper()
	if err := here.Cluster.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The leader is kept busy with pods that are created and deleted. Its numbers of goroutines and files, and its memory, do not
// grow after the first rounds.
func TestChurn(t *testing.T) {
	long(t)
	leader, _ := pair(t)
	offer(t)
	load(t, 2)
	awaitWorld(t, 2)
	const warm = 3
	var first, last map[string]float64
	start := time.Now()
	round := 0
	for ; round < warm+1 || time.Since(start) < *churn; round++ {
		scale(t, 10)
		awaitWorld(t, 10)
		scale(t, 2)
		awaitWorld(t, 2)
		_, m, err := leader.scrape(t.Context(), leader.token)
		if err != nil {
			t.Fatal(err)
		}
		if last = m; round == warm-1 {
			first = m
		}
	}
	for _, tt := range []struct {
		name string
		room float64 // allowed growth over the first value
	}{{"go_goroutines", 30}, {"process_open_fds", 20}, {"go_memstats_heap_inuse_bytes", 48 << 20}, {"process_resident_memory_bytes", 96 << 20}} {
		t.Logf("%s: %.0f after %d rounds, %.0f after %d", tt.name, first[tt.name], warm, last[tt.name], round)
		if first[tt.name] == 0 || last[tt.name] > first[tt.name]+tt.room {
			t.Errorf("%s grew from %.0f to %.0f in %d rounds", tt.name, first[tt.name], last[tt.name], round-warm)
		}
	}
}
