package sim

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A replica whose watch of pods has ended may plan for pods that it knew when the watch ended. A replica that watches may not.
func TestDemandOfOldWatch(t *testing.T) {
	for _, closed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := worldWithReplica(t)
			pods := w.platform.server.Serve(&kubeapi.Request{Method: "GET", Path: "/api/v1/pods", Query: url.Values{"watch": {"1"}}}).Watch
			defer pods.Close()
			l := w.processes.replicas["karpenter-0"].link
			l.open = []*stream{{link: l, watch: pods, due: time.Now(), closed: closed}}
			if err := w.platform.client.Create(t.Context(), podFor("1")); err != nil {
				t.Fatal(err)
			}
			if err := w.platform.client.Delete(t.Context(), podFor("1")); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute) // virtual time
			w.processes.writer = "karpenter-0"
			if err := w.platform.client.Create(t.Context(), claimFor(cpuRequests("1"))); err != nil {
				t.Fatal(err)
			}
			if got := len(w.judge.violations) > 0; got == closed {
				t.Errorf("watch closed %t: violations %v", closed, w.judge.violations)
			}
		})
	}
}

// A settled world may change again for as long after the repair of a node as after the last event, and no longer.
func TestQuietAfterRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldWithReplica(t)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
		if err := w.platform.client.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		writes := func(when string, allowed bool) {
			t.Helper()
			w.processes.writer, w.judge.violations = "karpenter-0", nil
			claim := claimFor(cpuRequests("1"))
			claim.Annotations = map[string]string{apiv1.ReplacesAnnotationKey: "other"} // the rule about demand leaves it out
			if err := w.platform.client.Create(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			if got := len(w.judge.violations) == 0; got != allowed {
				t.Errorf("%s: violations %v", when, w.judge.violations)
			}
			w.processes.writer = ""
		}
		<-time.After(2 * settled) // virtual time
		writes("while a node is not ready", true)
		if err := w.platform.client.Delete(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		<-time.After(settled) // virtual time
		writes("soon after the node was removed", true)
		<-time.After(time.Second) // virtual time
		writes("long after the node was removed", false)
	})
}

// worldWithReplica returns a world with the replica karpenter-0, which is not played, and no events.
func worldWithReplica(t *testing.T) *World {
	t.Helper()
	w, err := newWorld(&Scenario{Seed: 1, Files: []File{{"cluster.yaml", class + "---\n" + poolOfTest}}}, Options{
		Scheduler: func(*kubeapi.Server, uint64) (Actor, error) { return idler{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.processes.replicas["karpenter-0"] = &replica{link: &link{world: w, name: "karpenter-0", dead: make(chan struct{})}}
	return w
}
