package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Any part may crash at any time. up restarts it with its data, and the other parts connect to it again.
func TestCrashedPartsComeBack(t *testing.T) {
	before, err := shared.Cluster.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"kwok", "kube-scheduler", "etcd", "kube-apiserver"} {
		if err := shared.Cluster.Kill(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	if status, err := shared.Cluster.Status(t.Context()); err != nil || status.Ready {
		t.Fatalf("ready is %v (%v) without half of the parts", status.Ready, err)
	}
	if err := shared.Cluster.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := shared.Cluster.Status(t.Context())
	if err != nil || !after.Ready {
		t.Fatalf("status %+v (%v), want ready", after, err)
	}
	for i := range after.Parts {
		if before.Parts[i].Address != after.Parts[i].Address {
			t.Errorf("%s moved from %s to %s", after.Parts[i].Name, before.Parts[i].Address, after.Parts[i].Address)
		}
	}
	const name = "hollow-after-crash"
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	shared.Make(t, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Status:     corev1.NodeStatus{Capacity: size, Allocatable: size},
	})
	awaitReadyNode(t, name)
}

// A part of the cluster that crashes is restarted, and its log is kept. Otherwise all later tests would fail, and the log with
// the cause would be lost.
func TestPartsThatEndAreRevived(t *testing.T) {
	const part = "kwok"
	id := func() int {
		status, err := shared.Cluster.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range status.Parts {
			if p.Name == part && p.Running {
				return p.PID
			}
		}
		return 0
	}
	before := id()
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	shared.Poll(t, func(context.Context) string {
		if now := id(); now == 0 || now == before {
			return part + " was not started again"
		}
		return ""
	})
	logs, err := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("karpenter-e2e-%s-%d.log", part, os.Getpid())))
	if err != nil || len(logs) != 1 {
		t.Fatalf("its log was not kept: %v (%v)", logs, err)
	}
	if err := os.Remove(logs[0]); err != nil {
		t.Error(err)
	}
}
