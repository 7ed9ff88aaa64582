package aws

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func parse(t *testing.T, args ...string) (*Settings, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s := AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return s, s.Validate()
}

func TestSettings(t *testing.T) {
	s, err := parse(t, "--cluster-name=c")
	if err != nil {
		t.Fatal(err)
	}
	if s.VMMemoryOverheadPercent != 0.075 || s.AMIRefreshInterval != time.Minute || s.IsolatedVPC || s.ReservedENIs != 0 {
		t.Errorf("defaults are %+v", s)
	}
	t.Setenv("CLUSTER_NAME", "from-env")
	t.Setenv("VM_MEMORY_OVERHEAD_PERCENT", "0.1")
	t.Setenv("RESERVED_ENIS", "")
	if s, err = parse(t, "--vm-memory-overhead-percent=0.2"); err != nil || s.ClusterName != "from-env" || s.VMMemoryOverheadPercent != 0.2 {
		t.Errorf("a flag wins over the environment: %+v, %v", s, err)
	}
}

func TestSettingsErrors(t *testing.T) {
	_, err := parse(t, "--cluster-endpoint=api.example", "--vm-memory-overhead-percent=-1", "--reserved-enis=-1",
		"--interruption-queue=https://sqs/queue", "--ami-refresh-interval=1s", "--subnet-refresh-interval=1s",
		"--security-group-refresh-interval=59s", "--aws-feature-gates=X")
	for _, want := range []string{
		"--cluster-name (CLUSTER_NAME)", "--cluster-endpoint", "--vm-memory-overhead-percent", "--reserved-enis",
		"--interruption-queue", "--ami-refresh-interval", "--subnet-refresh-interval", "--security-group-refresh-interval", "--aws-feature-gates",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	if _, err := parse(t, "--cluster-name=c", "--vm-memory-overhead-percent=NaN"); err == nil || !strings.Contains(err.Error(), "NaN is out of range 0 to less than 1") {
		t.Errorf("a memory overhead that is not a number: %v", err)
	}
	t.Setenv("RESERVED_ENIS", "many")
	if _, err := parse(t, "--cluster-name=c"); err == nil || !strings.Contains(err.Error(), "RESERVED_ENIS") {
		t.Errorf("a variable of the wrong type: %v", err)
	}
	if _, err := parse(t, "--cluster-name=c", "--reserved-enis=1", "--aws-feature-gates=NodeClassCEL=false,Unknown=false"); err != nil {
		t.Errorf("an unknown gate that is switched off: %v", err)
	}
	_, err = parse(t, "--cluster-name=c", "--reserved-enis=1", "--aws-feature-gates=NodeClassCell=true")
	if err == nil || !strings.Contains(err.Error(), `unknown feature gate "NodeClassCell": use DRAEFA, DRANVIDIAGPU, NodeClassCEL, RebootForRepair`) {
		t.Errorf("an unknown gate that is switched on: %v", err)
	}
	s, err := parse(t, "--cluster-name=c", "--reserved-enis=1", "--aws-feature-gates=NodeClassCEL=false,DRANVIDIAGPU=true,DRAEFA=false,RebootForRepair=true")
	if want := (FeatureGates{DRANVIDIAGPU: true, RebootForRepair: true}); err != nil || s.Gates != want || len(s.Warnings()) != 1 {
		t.Errorf("gates %+v, warnings %q, %v; want %+v and one warning", s.Gates, s.Warnings(), err, want)
	}
	for queue, want := range map[string]string{
		"": "--replace-on-rebalance-recommendation has no effect: --interruption-queue is not set", "queue": "",
	} {
		s, err := parse(t, "--cluster-name=c", "--reserved-enis=1", "--replace-on-rebalance-recommendation=true", "--interruption-queue="+queue)
		if got := strings.Join(s.Warnings(), "\n"); err != nil || got != want {
			t.Errorf("with queue %q: warnings %q, %v; want %q", queue, got, err, want)
		}
	}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(fs)
	if err := fs.Parse([]string{"--isolated-vpc"}); err == nil {
		t.Error("a boolean without a value is accepted")
	}
}

// controlPlane is a fake of EKS with one cluster.
type controlPlane struct {
	cluster *ekstypes.Cluster
	asked   int
	err     error
}

func (c *controlPlane) DescribeCluster(
	context.Context, *eks.DescribeClusterInput, ...func(*eks.Options),
) (*eks.DescribeClusterOutput, error) {
	c.asked++
	return &eks.DescribeClusterOutput{Cluster: c.cluster}, c.err
}

type server struct{ major, minor string }

func (s server) ServerVersion() (*version.Info, error) {
	return &version.Info{Major: s.major, Minor: s.minor}, nil
}

func TestCluster(t *testing.T) {
	plane := &controlPlane{err: errors.New("denied"), cluster: &ekstypes.Cluster{
		Endpoint: awssdk.String("https://eks"), Version: awssdk.String("1.35"),
		KubernetesNetworkConfig: &ekstypes.KubernetesNetworkConfigResponse{ServiceIpv6Cidr: awssdk.String("fd00::/108")},
	}}
	kube := fake.NewClientBuilder().WithObjects(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}, Spec: corev1.ServiceSpec{ClusterIP: "fd00::a"},
	}).Build()
	c := &cluster{settings: Settings{ClusterName: "c"}, eks: plane, discovery: server{"1", "36+"}, reader: kube, caData: []byte("CA"), clock: clock.RealClock{}}
	if _, err := c.Cluster(t.Context()); err == nil {
		t.Error("without endpoint: no error")
	}
	plane.err = nil
	got, err := c.Cluster(t.Context())
	if err != nil || got.Endpoint != "https://eks" || got.CABundle != "Q0E=" || got.CIDR != "fd00::/108" || !got.IPv6() {
		t.Errorf("cluster is %+v, %v", got, err)
	}
	asked := plane.asked
	if _, err := c.Cluster(t.Context()); err != nil || plane.asked != asked {
		t.Errorf("asked again: %v", err)
	}
	if v, err := c.Kubernetes(t.Context()); v != "1.36" || err != nil {
		t.Errorf("version is %s, %v", v, err)
	}
	c.settings.EKSControlPlane = true
	if next, err := c.task().Run(t.Context()); next != versionEvery || err != nil {
		t.Errorf("task: next in %v, %v", next, err)
	}
	if v, _ := c.Kubernetes(t.Context()); v != "1.35" {
		t.Errorf("EKS says 1.35, not %s", v)
	}
	for minor, accepted := range map[string]bool{"25": false, "26": true, "37": true, "38": false} {
		c := &cluster{discovery: server{"1", minor}}
		if _, err := c.Kubernetes(t.Context()); err != nil || (c.warned == "") != accepted {
			t.Errorf("Kubernetes 1.%s: warned about %q, %v", minor, c.warned, err)
		}
	}
	c.settings.ClusterEndpoint, c.settings.ClusterCABundle = "https://given", "Z2l2ZW4="
	if got, _ := c.Cluster(t.Context()); got.Endpoint != "https://given" || got.CABundle != "Z2l2ZW4=" {
		t.Errorf("settings do not win: %+v", got)
	}
}

// The DNS service may be created or replaced while the controller runs.
func TestDNSAddressIsReadAgain(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}, Spec: corev1.ServiceSpec{ClusterIP: "10.100.0.10"},
	}
	kube, now := fake.NewClientBuilder().Build(), clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	c := &cluster{reader: kube, clock: now}
	if got := c.kubeDNS(t.Context()); got != "" {
		t.Errorf("without the service the address is %s", got)
	}
	if err := kube.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if got := c.kubeDNS(t.Context()); got != "" {
		t.Errorf("the service was read again at once: %s", got)
	}
	now.SetTime(now.Now().Add(dnsLife))
	if got := c.kubeDNS(t.Context()); got != "10.100.0.10" {
		t.Errorf("later the address is %q", got)
	}
	now.SetTime(now.Now().Add(dnsLife))
	c.reader = unreadable{}
	if got := c.kubeDNS(t.Context()); got != "10.100.0.10" {
		t.Errorf("while the service cannot be read the address is %q", got)
	}
}

// unreadable is an API server that does not answer.
type unreadable struct{ client.Reader }

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no answer")
}
