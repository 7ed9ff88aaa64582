package remote_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// A scripted provider calls functions of the test for its responses. Methods without such a function launch instances and
// find none.
type scripted struct {
	cloudv1.UnimplementedProviderServiceServer

	info      *cloudv1.GetInfoResponse
	catalogue func(stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error
	create    func(ctx context.Context, r *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error)
	list      func() *cloudv1.ListInstancesResponse
	get       func(id string) *cloudv1.GetInstanceResponse
	notices   func(stream grpc.BidiStreamingServer[cloudv1.WatchNoticesRequest, cloudv1.WatchNoticesResponse]) error
}

func (s *scripted) GetInfo(context.Context, *cloudv1.GetInfoRequest) (*cloudv1.GetInfoResponse, error) {
	if s.info != nil {
		return s.info, nil
	}
	return &cloudv1.GetInfoResponse{
		Name: "script", ProviderIdPrefixes: []string{"script://"}, Capabilities: []cloudv1.Capability{cloudv1.Capability_CAPABILITY_CLUSTER_ACCESS},
		NodeClassKinds: []*cloudv1.NodeClassKind{{Group: "script.example.com", Version: "v1", Kind: "ScriptNodeClass"}},
	}, nil
}

func (s *scripted) WatchCatalogue(_ *cloudv1.WatchCatalogueRequest, stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse]) error {
	if s.catalogue != nil {
		return s.catalogue(stream)
	}
	return sendAndWait(stream, &cloudv1.WatchCatalogueResponse{Reset_: true, InstanceTypes: []*cloudv1.InstanceType{machineType("small")}, Commit: true})
}

func sendAndWait(stream grpc.ServerStreamingServer[cloudv1.WatchCatalogueResponse], messages ...*cloudv1.WatchCatalogueResponse) error {
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

func (s *scripted) CreateInstance(ctx context.Context, r *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
	if s.create != nil {
		return s.create(ctx, r)
	}
	return &cloudv1.CreateInstanceResponse{Instance: instance(r)}, nil
}

func (s *scripted) ListInstances(context.Context, *cloudv1.ListInstancesRequest) (*cloudv1.ListInstancesResponse, error) {
	return s.list(), nil
}

func (s *scripted) GetInstance(_ context.Context, r *cloudv1.GetInstanceRequest) (*cloudv1.GetInstanceResponse, error) {
	return s.get(r.GetProviderId()), nil
}

func (s *scripted) WatchNotices(stream grpc.BidiStreamingServer[cloudv1.WatchNoticesRequest, cloudv1.WatchNoticesResponse]) error {
	return s.notices(stream)
}

// machineType is a valid instance type with offerings in two zones.
func machineType(name string) *cloudv1.InstanceType {
	return &cloudv1.InstanceType{
		Name: name,
		Requirements: []*cloudv1.Requirement{
			{Key: corev1.LabelArchStable, Operator: "In", Values: []string{"amd64"}}, {Key: corev1.LabelOSStable, Operator: "In", Values: []string{"linux"}},
		},
		Capacity: map[string]string{"cpu": "4", "memory": "16Gi", "pods": "110"},
		Offerings: []*cloudv1.Offering{
			{Zone: "a", CapacityType: "on-demand", Price: 0.2, Available: true}, {Zone: "b", CapacityType: "on-demand", Price: 0.1, Available: true},
		},
	}
}

// instance is the right answer to a request.
func instance(r *cloudv1.CreateInstanceRequest) *cloudv1.Instance {
	return &cloudv1.Instance{ProviderId: "script://" + r.GetToken(), Token: r.GetToken(), Offering: r.GetCandidates()[0]}
}

// A line is a connection that a test can interrupt.
type line struct {
	mu       sync.Mutex // guards all below
	listener *bufconn.Listener
	server   *grpc.Server
	done     chan error
}

// start starts the provider. While none runs, connections are refused.
func (l *line) start(s *scripted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listener, l.server, l.done = bufconn.Listen(1<<20), grpc.NewServer(), make(chan error, 1)
	cloudv1.RegisterProviderServiceServer(l.server, s)
	listener, server, done := l.listener, l.server, l.done
	go func() { done <- server.Serve(listener) }()
}

// kill ends the provider as a crash does.
func (l *line) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		l.server.Stop()
		<-l.done
		_ = l.listener.Close()
	}
	l.server, l.listener = nil, nil
}

func (l *line) dial(ctx context.Context, _ string) (net.Conn, error) {
	l.mu.Lock()
	listener := l.listener
	l.mu.Unlock()
	if listener == nil {
		return nil, net.ErrClosed
	}
	return listener.DialContext(ctx)
}

// connect starts the provider and connects to it. The caller must end both before the bubble ends.
func connect(t *testing.T, s *scripted) (*remote.Provider, *line) {
	t.Helper()
	l := &line{}
	l.start(s)
	return dialled(t, l), l
}

func dialled(t *testing.T, l *line) *remote.Provider {
	t.Helper()
	p, err := remote.Connect(t.Context(), config(l))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func config(l *line) remote.Config {
	return remote.Config{
		Address: "script", Dial: l.dial, Clock: clock.RealClock{}, Metrics: remote.NewMetrics(nil),
		Reader: fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(),
	}
}

func pool() *apiv1.NodePool {
	p := &apiv1.NodePool{}
	p.Name = "default"
	p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "script.example.com", Kind: "ScriptNodeClass", Name: "default"}
	return p
}

func claim(name string) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{}
	c.Name, c.UID = name, types.UID("uid-"+name)
	c.Labels = map[string]string{apiv1.NodePoolLabelKey: "default"}
	c.Spec.NodeClassRef = pool().Spec.Template.Spec.NodeClassRef
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	return c
}
