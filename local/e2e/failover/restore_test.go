package failover

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/local/cluster"
)

// etcd is restored from a snapshot that was taken during a scale-up. Since then, nodes were added and removed. The restored state
// has NodeClaims of terminated instances, and does not have those of new instances. Both replicas have caches that are newer than
// the restored state.
//
// With a later revision, other components list again. With the revision of the snapshot they do not notice the restore, so they
// are restarted.
func TestStateRestored(t *testing.T) {
	long(t)
	for _, tt := range []struct {
		name string
		bump uint64
	}{{"with a later revision", cluster.RevisionBump}, {"with the revision of the snapshot", 0}} {
		t.Run(tt.name, func(t *testing.T) {
			replicas := [2]*replica{}
			replicas[0], replicas[1] = pair(t)
			offer(t)
			load(t, 12)
			awaitServed(t, 1)
			file := snapshot(t)
			taken := time.Now()
			awaitWorld(t, 12)
			for first := true; first || time.Since(taken) < *age; first = false {
				scale(t, 14)
				awaitWorld(t, 14)
				scale(t, 8)
				awaitWorld(t, 8)
			}
			made := madeSoFar(t.Context(), t)
			scale(t, 10)
			awaitLaunched(t, made, 2)
			since(t, "the state is restored", taken)
			restore(t, file, tt.bump, 12, replicas[:])
		})
	}
}

// awaitServed waits until at least n pods run.
func awaitServed(t *testing.T, n int) {
	t.Helper()
	here.Poll(t, func(ctx context.Context) string {
		w, err := look(ctx)
		if err != nil {
			return err.Error()
		}
		if now := w.served(); now < n {
			return fmt.Sprintf("%d pods run, want %d", now, n)
		}
		return ""
	})
}

// snapshot writes a snapshot of etcd and returns the file.
func snapshot(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "etcd.db")
	if err := here.Cluster.Snapshot(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	return file
}

// restore restores etcd, and waits until the restored number of pods runs. It checks that no NodeClaim gets a second instance,
// and that instances are launched only for NodeClaims whose instances were terminated or not recorded.
func restore(t *testing.T, file string, bump uint64, pods int, replicas []*replica) {
	t.Helper()
	begun := time.Now()
	if err := here.Cluster.Restore(t.Context(), file, bump); err != nil {
		t.Fatal(err)
	}
	since(t, "the API server answers", begun)
	if bump == 0 {
		for _, part := range []string{"kube-scheduler", "kube-controller-manager", "kwok"} {
			if err := here.Cluster.Kill(t.Context(), part); err != nil {
				t.Fatal(err)
			}
		}
		up(t)
	}
	first, err := look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, made := len(first.launched()), len(first.instances)
	t.Logf("restored: %d claims, %d of them with a running instance; %d nodes, %d pods; %d instances run", len(first.claims), kept,
		len(first.nodes), len(first.pods), len(first.running()))
	restartKubelets(t, first)
	launched := map[types.UID]string{}
	ran, last := false, "nothing was seen"
	here.Poll(t, func(ctx context.Context) string {
		for _, r := range replicas {
			if !r.running() {
				since(t, "a replica is restarted", begun)
				r.run(t)
			}
		}
		w, err := look(ctx)
		if err != nil {
			return fmt.Sprintf("%s; then %v", last, err)
		}
		for i := range w.claims {
			c := &w.claims[i]
			if id := c.Status.ProviderID; id != "" && launched[c.UID] != "" && launched[c.UID] != id {
				t.Errorf("claim %s has instance %s, and had %s", c.Name, id, launched[c.UID])
			} else if id != "" {
				launched[c.UID] = id
			}
		}
		if n := w.served(); n == pods && !ran {
			since(t, "all pods run", begun)
			ran = true
		}
		last = w.lacks(pods)
		return last
	})
	since(t, "no other instance, claim or node is left", begun)
	if n := madeSoFar(t.Context(), t) - made; n > pods-kept {
		t.Errorf("%d instances were launched after the restore, want at most %d", n, pods-kept)
	} else {
		t.Logf("%d instances were launched after the restore", n)
	}
}

// restartKubelets reboots the running instances that have no Node, because a kubelet registers its Node only when it starts.
func restartKubelets(t *testing.T, w world) {
	t.Helper()
	missing := w.running()
	for i := range w.nodes {
		delete(missing, w.nodes[i].Spec.ProviderID)
	}
	if len(missing) == 0 {
		return
	}
	in := &ec2.RebootInstancesInput{}
	for id := range missing {
		in.InstanceIds = append(in.InstanceIds, path.Base(id))
	}
	if _, err := ec2.NewFromConfig(here.AWS()).RebootInstances(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kubelets are restarted", len(missing))
}

// running returns the provider IDs of the instances that run.
func (w world) running() map[string]bool {
	out := map[string]bool{}
	for _, i := range w.instances {
		if alive(i) {
			out["aws:///"+i.Zone+"/"+i.ID] = true
		}
	}
	return out
}

// launched returns the provider IDs of those instances that run and have a claim.
func (w world) launched() map[string]bool {
	running, out := w.running(), map[string]bool{}
	for i := range w.claims {
		if id := w.claims[i].Status.ProviderID; running[id] {
			out[id] = true
		}
	}
	return out
}

// served returns how many pods run on a node whose instance runs.
func (w world) served() (n int) {
	running, nodes := w.running(), map[string]bool{}
	for i := range w.nodes {
		nodes[w.nodes[i].Name] = running[w.nodes[i].Spec.ProviderID]
	}
	for i := range w.pods {
		if p := &w.pods[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() && nodes[p.Spec.NodeName] {
			n++
		}
	}
	return n
}
