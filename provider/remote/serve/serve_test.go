package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/remote"
	"github.com/karpenter-go/karpenter/provider/remote/remotetest"
	"github.com/karpenter-go/karpenter/provider/remote/serve"
)

// A noticing provider has one source of notices, and instance types that a test can change.
type noticing struct {
	cloud.Provider
	batches      chan cloud.NoticeBatch
	acknowledged chan []cloud.Notice

	mu      sync.Mutex // guards all below
	types   []*cloud.InstanceType
	err     error
	current bool
	zones   []string
	marked  chan string
}

func (*noticing) Name() string { return "noticing" }

func (*noticing) Facts() cloud.Facts {
	return cloud.Facts{
		Labels: apiv1.CoreLabels(), NodeClasses: []schema.GroupVersionKind{{Group: "notice.example.com", Version: "v1", Kind: "NoticeNodeClass"}},
	}
}

func (n *noticing) NoticeSources() []cloud.NoticeSource { return []cloud.NoticeSource{source{n}} }

func (n *noticing) MarkUnavailable(_ *apiv1.NodeClaim, capacityType string) { n.marked <- capacityType }

func (n *noticing) InstanceTypes(context.Context, *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.types, n.err
}

func (n *noticing) PricesCurrent() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.current
}

func (n *noticing) ShiftedZones(context.Context) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.zones
}

// A source returns the batches that a test has prepared.
type source struct{ of *noticing }

func (source) Name() string { return "test" }

func (s source) Receive(ctx context.Context) (cloud.NoticeBatch, error) {
	select {
	case b := <-s.of.batches:
		return b, nil
	case <-ctx.Done():
		return cloud.NoticeBatch{}, ctx.Err()
	}
}

func newNoticing() *noticing {
	return &noticing{batches: make(chan cloud.NoticeBatch, 4), acknowledged: make(chan []cloud.Notice, 4), marked: make(chan string, 1)}
}

// The client receives the notices of the provider. The provider receives the acknowledgements with the failed notices.
func TestNotices(t *testing.T) {
	n := newNoticing()
	sent := []cloud.Notice{
		{Kind: model.NoticeSpotInterrupted, Instance: "i-1", Time: time.Unix(1_700_000_000, 0).UTC(), Message: "reclaimed"},
		{Kind: model.NoticeHostFailed, Node: "node-2", Act: true},
	}
	n.batches <- cloud.NoticeBatch{Notices: sent, Next: time.Millisecond, Acknowledge: func(_ context.Context, failed []cloud.Notice) error {
		n.acknowledged <- failed
		return nil
	}}
	p := remotetest.Over(t, n, nil)
	from := p.NoticeSources()
	if len(from) != 1 {
		t.Fatalf("%d sources", len(from))
	}
	got, err := from[0].Receive(t.Context())
	if err != nil || len(got.Notices) != 2 || got.Notices[0] != sent[0] || got.Notices[1] != sent[1] {
		t.Fatalf("received %+v, %v, want %+v", got.Notices, err, sent)
	}
	if err := got.Acknowledge(t.Context(), got.Notices[1:]); err != nil {
		t.Fatal(err)
	}
	if failed := <-n.acknowledged; len(failed) != 1 || failed[0] != sent[1] {
		t.Errorf("failed are %+v, want the second notice", failed)
	}
	c := &apiv1.NodeClaim{}
	c.UID = "uid"
	p.MarkUnavailable(c, apiv1.CapacityTypeSpot)
	if got := <-n.marked; got != apiv1.CapacityTypeSpot {
		t.Errorf("marked unavailable is %s", got)
	}
}

func instanceType(name string, price float64) *cloud.InstanceType {
	t := &cloud.InstanceType{Name: name, Capacity: model.Resources{"cpu": 4000, "memory": 16 << 30, "pods": 110}}
	t.Allocatable = t.Capacity
	t.Requirements = require.FromLabels(map[string]string{
		"node.kubernetes.io/instance-type": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
	})
	t.Offerings = []cloud.Offering{{
		Zone: "a", CapacityType: "spot", Price: price, Available: true,
		Requirements: require.FromLabels(map[string]string{"topology.kubernetes.io/zone": "a", apiv1.CapacityTypeLabelKey: "spot", "x.example.com/rack": "7"}),
	}}
	return t
}

// The client receives a change of the catalogue after a call that may have caused it, such as MarkUnavailable.
func TestCatalogue(t *testing.T) {
	n := newNoticing()
	n.types = []*cloud.InstanceType{instanceType("a", 0.1), instanceType("b", 0.2)}
	n.zones = []string{"z"}
	p := remotetest.Over(t, n, nil)
	pool := &apiv1.NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "notice.example.com", Kind: "NoticeNodeClass", Name: "default"}
	types, err := p.InstanceTypes(t.Context(), pool)
	if err != nil || len(types) != 2 || types[1].Offerings[0].Requirements.Labels()["x.example.com/rack"] != "7" {
		t.Fatalf("types are %+v, %v", types, err)
	}
	if p.PricesCurrent() || len(p.ShiftedZones(t.Context())) != 1 {
		t.Error("prices count as current, or the shifted zone is not known")
	}
	n.mu.Lock()
	n.types, n.current = []*cloud.InstanceType{types0(n.types[0], 0.3), instanceType("c", 0.4)}, true
	n.mu.Unlock()
	p.MarkUnavailable(&apiv1.NodeClaim{}, apiv1.CapacityTypeSpot)
	<-n.marked
	for deadline, cancel := context.WithTimeout(t.Context(), time.Minute); ; {
		types, err = p.InstanceTypes(t.Context(), pool)
		if err == nil && len(types) == 2 && types[0].Offerings[0].Price == 0.3 && types[1].Name == "c" && p.PricesCurrent() {
			cancel()
			break
		}
		if deadline.Err() != nil {
			t.Fatalf("types stay %+v, %v", types, err)
		}
	}
}

// types0 returns the type with another price.
func types0(t *cloud.InstanceType, price float64) *cloud.InstanceType {
	changed := *t
	changed.Offerings = []cloud.Offering{t.Offerings[0]}
	changed.Offerings[0].Price = price
	return &changed
}

// Over TCP, server and client authenticate by certificates. A client without a certificate is rejected.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	pair := certificate(t, dir)
	l := serve.Listener{Address: "127.0.0.1:0", CertFile: dir + "/tls.crt", KeyFile: dir + "/tls.key", ClientCAFile: dir + "/tls.crt"}
	trust, err := l.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := l.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := serve.New(serve.Config{Provider: newNoticing(), Clock: clock.RealClock{}, Log: logr.Discard()}).Register(trust)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		<-done
	}()
	ca := x509.NewCertPool()
	data, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if err != nil || !ca.AppendCertsFromPEM(data) {
		t.Fatal(err)
	}
	connect := func(ctx context.Context, certificates ...tls.Certificate) error {
		p, err := remote.Connect(ctx, remote.Config{
			Address: listener.Addr().String(), TLS: &tls.Config{RootCAs: ca, Certificates: certificates, MinVersion: tls.VersionTLS12},
			Clock: clock.RealClock{}, Metrics: remote.NewMetrics(nil),
		})
		if err == nil {
			p.Close()
		}
		return err
	}
	if err := connect(t.Context(), pair); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := connect(ctx); err == nil {
		t.Error("a client without a certificate is served")
	}
	if _, err := (serve.Listener{Address: "127.0.0.1:0"}).Credentials(); err == nil {
		t.Error("TCP without certificates is served")
	}
}

// certificate writes a certificate that signs itself to dir.
func certificate(t *testing.T, dir string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.LoadX509KeyPair(dir+"/tls.crt", dir+"/tls.key")
	if err != nil {
		t.Fatal(err)
	}
	return pair
}
