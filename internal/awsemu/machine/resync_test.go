package machine

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// replace stores the Node in place of the existing one of this name, as a restore does.
func (b *bench) replace(node *corev1.Node) {
	b.t.Helper()
	nodes := b.client.CoreV1().Nodes()
	if err := ignoreGone(nodes.Delete(b.t.Context(), node.Name, metav1.DeleteOptions{})); err != nil {
		b.t.Fatal(err)
	}
	if _, err := nodes.Create(b.t.Context(), node, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) resync() {
	b.t.Helper()
	if err := b.Resync(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// The Node is restored to the state in which it registered. The cloud controller and the device plugins repeat their work.
func TestResyncRepeatsWork(t *testing.T) {
	m := goodMachine(t)
	m.Type, m.Power, m.Variant = typ(t, "g5.12xlarge"), On, "nvidia"
	b := newBench(t, m)
	b.at(4*time.Second, 5*time.Second)
	registered := b.node(m.Node)
	b.at(6*time.Second, 0)
	b.resync()
	b.at(7*time.Second, 0)
	b.replace(registered)
	b.resync()
	b.at(8*time.Second, 0)
	node := b.node(m.Node)
	gpus := node.Status.Capacity["nvidia.com/gpu"]
	if node.Spec.ProviderID == "" || gpus.Value() != 4 {
		t.Errorf("node has the provider ID %q and %d GPUs, want one and 4", node.Spec.ProviderID, gpus.Value())
	}
}

// The Node of a terminated machine is restored. It has no kubelet any more, and is deleted after a while.
func TestResyncEndsNodesWithoutMachine(t *testing.T) {
	m := goodMachine(t)
	m.Power = On
	b := newBench(t, m)
	b.at(4*time.Second, 5*time.Second)
	b.at(6*time.Second, 0)
	node := b.node(m.Node)
	b.cloud.machines = nil
	b.at(7*time.Second, 0)
	if b.node(m.Node) != nil {
		t.Fatal("the node of a terminated machine is there")
	}
	b.replace(node)
	for _, tt := range []struct {
		after time.Duration
		want  bool
	}{{10 * time.Second, true}, {30 * time.Second, true}, {59 * time.Second, true}, {60 * time.Second, false}} {
		b.clock.SetTime(start.Add(tt.after))
		b.resync()
		if there := b.node(m.Node) != nil; there != tt.want {
			t.Errorf("after %v the node is there: %t, want %t", tt.after, there, tt.want)
		}
	}
}

// The Node of a running machine is missing. It comes back only with a reboot, because a kubelet registers only when it starts.
func TestMissingNodeComesBackWithAReboot(t *testing.T) {
	m := goodMachine(t)
	m.Power = On
	b := newBench(t, m)
	b.at(4*time.Second, 5*time.Second)
	b.at(6*time.Second, 0)
	if err := b.client.CoreV1().Nodes().Delete(t.Context(), m.Node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.resync()
	b.at(7*time.Second, 0)
	if n := b.node(m.Node); n != nil {
		t.Errorf("node is %+v, want none", n)
	}
	b.cloud.machines[0].Reboots++
	b.at(8*time.Second, 9*time.Second)
	b.at(9*time.Second, 10*time.Second)
	if n := b.node(m.Node); n == nil || n.Spec.ProviderID == "" {
		t.Errorf("after a reboot the node is %+v, want one with a provider ID", n)
	}
}

// A reboot gives the Node another boot ID, by which it can be told that the machine has started again.
func TestRebootHasABootID(t *testing.T) {
	m := goodMachine(t)
	m.Power = On
	b := newBench(t, m)
	b.at(4*time.Second, 5*time.Second)
	b.at(6*time.Second, 0)
	first := b.node(m.Node).Status.NodeInfo
	b.cloud.machines[0].Reboots++
	b.at(8*time.Second, 9*time.Second)
	if now := b.node(m.Node).Status.NodeInfo; now.BootID == first.BootID || now.SystemUUID != first.SystemUUID {
		t.Errorf("after a reboot the node has %+v, before %+v", now, first)
	}
}
