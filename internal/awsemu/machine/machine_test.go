package machine

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	testclock "k8s.io/utils/clock/testing"

	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var cluster = Cluster{
	Name: "demo", Endpoint: "https://127.0.0.1:6443", ServiceCIDR: "10.100.0.0/16", Version: "1.36",
	CA: base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\n")),
}

// account is a Cloud in memory.
type account struct {
	machines []Machine
	console  map[string][]string
	changed  chan struct{}
}

func (a *account) Machines() []Machine      { return a.machines }
func (a *account) Changed() <-chan struct{} { return a.changed }
func (a *account) Settle() time.Time        { return time.Time{} }
func (a *account) Log(id, line string)      { a.console[id] = append(a.console[id], line) }

// A bench is a Runner with its account, cluster and clock.
type bench struct {
	*Runner
	t      *testing.T
	clock  *testclock.FakeClock
	cloud  *account
	client *fake.Clientset
}

func newBench(t *testing.T, machines ...Machine) *bench {
	t.Helper()
	b := &bench{
		t: t, clock: testclock.NewFakeClock(start), client: fake.NewClientset(),
		cloud: &account{machines: machines, console: map[string][]string{}, changed: make(chan struct{}, 1)},
	}
	b.Runner = New(Config{Clock: b.clock, Client: b.client, Cloud: b.cloud, Cluster: cluster})
	return b
}

// at sets the clock to the given time after start, calls Step, and checks the time of the next work (zero for none).
func (b *bench) at(after, wantNext time.Duration) {
	b.t.Helper()
	b.clock.SetTime(start.Add(after))
	next := b.Step(b.t.Context())
	if wantNext == 0 && !next.IsZero() || wantNext != 0 && !next.Equal(start.Add(wantNext)) {
		b.t.Errorf("at %v the next step is due at %v, want %v after start", after, next.Sub(start), wantNext)
	}
}

// node returns the Node, nil if it does not exist.
func (b *bench) node(name string) *corev1.Node {
	b.t.Helper()
	n, err := b.client.CoreV1().Nodes().Get(b.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// typ returns a type from the catalogue.
func typ(t *testing.T, name string) *catalog.Type {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	out, ok := c.Type(name)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	return out
}

// goodUserData returns user data with which a machine joins. replace has pairs of old and new text.
func goodUserData(replace ...string) string {
	text := strings.NewReplacer(replace...).Replace(`MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: text/x-shellscript; charset="us-ascii"

echo hello
--//
Content-Type: application/node.eks.aws

# made by a test
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpoint: https://127.0.0.1:6443
    certificateAuthority: ` + cluster.CA + `
    cidr: 10.100.0.0/16
  kubelet:
    config:
      maxPods: 29
      clusterDNS: [10.100.0.10]
      registerWithTaints:
      - {key: karpenter.sh/unregistered, effect: NoExecute}
    flags:
    - --node-labels="karpenter.sh/nodepool=default,karpenter.sh/capacity-type=spot"
--//--
`)
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// goodMachine returns an m5.large that is running since one second after start.
func goodMachine(t *testing.T) Machine {
	t.Helper()
	return Machine{
		ID: "i-0aaaaaaaaaaaaaaaa", Node: "ip-10-0-0-4.ec2.internal", Address: "10.0.0.4", Type: typ(t, "m5.large"),
		Zone: "us-east-1a", ZoneID: "use1-az1", Region: "us-east-1", Arch: "x86_64", Family: "AL2023", Variant: "standard",
		Kubernetes: "1.36", UserData: goodUserData(), RootGiB: 20, Power: Starting, RunningAt: start.Add(time.Second),
	}
}

func TestMachineJoins(t *testing.T) {
	m := goodMachine(t)
	b := newBench(t, m)
	b.at(0, time.Second)
	b.cloud.machines[0].Power = On
	b.at(time.Second, 4*time.Second)
	if b.node(m.Node) != nil {
		t.Fatal("the node is there before the boot delay")
	}

	b.at(4*time.Second, 5*time.Second)
	n := b.node(m.Node)
	if n == nil {
		t.Fatalf("no node after the boot delay; console: %v", b.cloud.console)
	}
	if n.Labels["karpenter.sh/nodepool"] != "default" || n.Labels["kubernetes.io/arch"] != "amd64" || n.Labels["kubernetes.io/hostname"] != m.Node {
		t.Errorf("labels are %v", n.Labels)
	}
	if n.Annotations["kwok.x-k8s.io/node"] != "fake" || n.Spec.ProviderID != "" || n.Labels["node.kubernetes.io/instance-type"] != "" {
		t.Errorf("before the cloud controller: annotations %v, provider id %q, labels %v", n.Annotations, n.Spec.ProviderID, n.Labels)
	}
	want := []corev1.Taint{
		{Key: "karpenter.sh/unregistered", Effect: "NoExecute"},
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: "NoSchedule"},
	}
	if !slices.Equal(n.Spec.Taints, want) {
		t.Errorf("taints are %v, want %v", n.Spec.Taints, want)
	}
	if n.Status.NodeInfo.KubeletVersion != "v1.36.3" || n.Status.Addresses[0].Address != "10.0.0.4" {
		t.Errorf("node info is %+v at %v", n.Status.NodeInfo, n.Status.Addresses)
	}

	b.at(5*time.Second, 6*time.Second)
	n = b.node(m.Node)
	if n.Spec.ProviderID != "aws:///us-east-1a/i-0aaaaaaaaaaaaaaaa" || len(n.Spec.Taints) != 1 {
		t.Errorf("after the cloud controller: provider id %q, taints %v", n.Spec.ProviderID, n.Spec.Taints)
	}
	for k, v := range map[string]string{
		"node.kubernetes.io/instance-type": "m5.large", "topology.kubernetes.io/zone": "us-east-1a",
		"topology.kubernetes.io/region": "us-east-1", "topology.k8s.aws/zone-id": "use1-az1",
	} {
		if n.Labels[k] != v {
			t.Errorf("label %s is %q, want %q", k, n.Labels[k], v)
		}
	}
	b.at(6*time.Second, 0)
}

func TestMachineAllocatable(t *testing.T) {
	m := goodMachine(t)
	m.Power = On
	b := newBench(t, m)
	b.at(4*time.Second, 5*time.Second)
	n := b.node(m.Node)
	for name, want := range map[corev1.ResourceName]string{
		"cpu": "2", "pods": "29", "memory": "7960985Ki", "ephemeral-storage": "20893925Ki",
	} {
		if q := n.Status.Capacity[name]; q.String() != want {
			t.Errorf("capacity of %s is %s, want %s", name, q.String(), want)
		}
	}
	// 70m of CPU, and 255+11*29 MiB and 100 MiB of memory are reserved.
	for name, want := range map[corev1.ResourceName]string{"cpu": "1930m", "pods": "29", "memory": "7270809Ki"} {
		if q := n.Status.Allocatable[name]; q.String() != want {
			t.Errorf("allocatable %s is %s, want %s", name, q.String(), want)
		}
	}
	planned := int64(6903) << 20 // the memory that a planner with an overhead of 7.5% expects
	if q := n.Status.Allocatable[corev1.ResourceMemory]; q.Value() < planned {
		t.Errorf("allocatable memory %s is less than the %d that planners expect", q.String(), planned)
	}
}

func TestMachineDoesNotJoin(t *testing.T) {
	otherCA := base64.StdEncoding.EncodeToString([]byte("another"))
	for _, tt := range []struct {
		name     string
		userData string
		want     string // console output
	}{
		{"wrong CA", goodUserData(cluster.CA, otherCA), "x509: certificate signed by unknown authority"},
		{"wrong name", goodUserData("name: demo", "name: other"), `cluster name is "other", that of the cluster is "demo"`},
		{"wrong endpoint", goodUserData("127.0.0.1:6443", "127.0.0.1:1"), "API server endpoint"},
		{"wrong CIDR", goodUserData("10.100.0.0/16", "172.20.0.0/16"), `service CIDR is "172.20.0.0/16"`},
		{"no base64", "!", "no base64"},
		{"empty", "", "user data is empty"},
		{"garbage", base64.StdEncoding.EncodeToString([]byte("\x00\x01garbage")), "nodeadm: decode NodeConfig"},
		{"unknown field", goodUserData("cidr:", "serviceCidr:"), `unknown field "serviceCidr"`},
		{"wrong version", goodUserData("v1alpha1", "v2"), "no kind"},
		{"cut off", goodUserData("--//--", ""), "read MIME part"},
		{"only a script", goodUserData("application/node.eks.aws", "text/cloud-config"), "no NodeConfig"},
		{"forbidden label", goodUserData("karpenter.sh/nodepool=", "node-role.kubernetes.io/worker="), "unknown 'kubernetes.io'"},
		{"restricted label", goodUserData("karpenter.sh/nodepool=", "node-restriction.kubernetes.io/x="), "not allowed to set label"},
		{"bad taint", goodUserData("NoExecute", "Sometimes"), `unsupported effect "Sometimes"`},
		{"bad label", goodUserData("karpenter.sh/nodepool=default", "lonely"), "no key=value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := goodMachine(t)
			m.Power, m.UserData = On, tt.userData
			b := newBench(t, m)
			b.at(4*time.Second, 0)
			if b.node(m.Node) != nil {
				t.Error("the machine joined")
			}
			if got := strings.Join(b.cloud.console[m.ID], "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("console says %q, want %q in it", got, tt.want)
			}
			b.at(time.Hour, 0) // nothing changes later
			if b.node(m.Node) != nil {
				t.Error("the machine joined later")
			}
		})
	}
}

func TestMachineOrders(t *testing.T) {
	m := goodMachine(t)
	m.Power, m.BootDelay = On, time.Minute
	b := newBench(t, m)
	b.at(4*time.Second, 61*time.Second)
	b.cloud.machines[0].NeverJoins = true
	b.at(61*time.Second, 0)
	if b.node(m.Node) != nil || len(b.cloud.console[m.ID]) != 1 {
		t.Errorf("node %v, console %v: want no node and the reason", b.node(m.Node), b.cloud.console)
	}
}

func TestMachineEnds(t *testing.T) {
	m := goodMachine(t)
	m.Power = On
	b := newBench(t, m)
	b.at(4*time.Second, 5*time.Second)
	b.at(6*time.Second, 0)
	b.cloud.machines[0].Power = Stopping
	b.at(7*time.Second, 0)
	n := b.node(m.Node)
	if _, kwok := n.Annotations["kwok.x-k8s.io/node"]; kwok {
		t.Error("kwok still has the node while the machine shuts down")
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && (c.Status != corev1.ConditionFalse || c.Message != "node is shutting down") {
			t.Errorf("ready condition is %+v", c)
		}
	}
	b.cloud.machines[0].Power = Gone
	b.at(8*time.Second, 0)
	if b.node(m.Node) != nil {
		t.Error("the node of a terminated machine is still there")
	}
}

func TestMachineTakesOverName(t *testing.T) {
	m := goodMachine(t)
	m.Power = On
	b := newBench(t, m)
	old := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Node}}
	old.Status.NodeInfo.SystemUUID = systemUUID("i-another")
	if _, err := b.client.CoreV1().Nodes().Create(t.Context(), old, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.at(4*time.Second, 4*time.Second+retryAfter)
	b.at(5*time.Second, 6*time.Second)
	if n := b.node(m.Node); n == nil || n.Status.NodeInfo.SystemUUID != systemUUID(m.ID) {
		t.Errorf("node is %+v, want the new machine's", n)
	}
}

func TestSweep(t *testing.T) {
	m := goodMachine(t)
	m.Power = On
	b := newBench(t, m)
	for name, uuid := range map[string]string{"alive": systemUUID(m.ID), "orphan": systemUUID("i-gone"), "foreign": "abc"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.NodeInfo.SystemUUID = uuid
		if _, err := b.client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.node("alive") == nil || b.node("foreign") == nil || b.node("orphan") != nil {
		t.Error("sweep must delete the orphan only")
	}
}

func TestDevicesComeLate(t *testing.T) {
	m := goodMachine(t)
	m.Type, m.Power, m.Variant = typ(t, "g5.12xlarge"), On, "nvidia"
	b := newBench(t, m)
	b.at(4*time.Second, 5*time.Second)
	gpus := func() int64 {
		q := b.node(m.Node).Status.Allocatable["nvidia.com/gpu"]
		return q.Value()
	}
	if n := gpus(); n != 0 {
		t.Errorf("%d GPUs at once, want none before the device plugin", n)
	}
	b.at(6*time.Second, 0)
	if n := gpus(); n != 4 {
		t.Errorf("%d GPUs, want 4", n)
	}
}

// A Node has an EFA only if the launch requested one, not if the type merely supports it.
func TestFabricAdapters(t *testing.T) {
	for asked := range 3 {
		m := Machine{Type: typ(t, "p5.48xlarge"), EFAs: asked}
		if got := devices(m)["vpc.amazonaws.com/efa"]; got != asked {
			t.Errorf("with %d adapters asked for, the node has %d", asked, got)
		}
	}
}

func TestSystemUUID(t *testing.T) {
	a, again, other := systemUUID("i-1"), systemUUID("i-1"), systemUUID("i-2")
	if a != again || a == other || len(a) != 36 || !bytes.HasPrefix([]byte(a), []byte("ec2")) {
		t.Errorf("UUIDs are %s, %s, %s", a, again, other)
	}
}
