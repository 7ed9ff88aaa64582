package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// DefaultPoll is the interval at which the catalogue is read.
const DefaultPoll = 5 * time.Second

// Config has the dependencies and settings of a Server.
type Config struct {
	Provider cloud.Provider
	// Classes has the node classes that Karpenter sends. nil means that the provider reads and writes them in the cluster.
	Classes *Classes
	// Without are the optional capabilities that the provider does not support.
	Without []cloudv1.Capability
	// Version is the version of the provider.
	Version string
	Clock   clock.WithTicker
	Log     logr.Logger
	// Poll is the interval at which the catalogue is read; 0 means DefaultPoll.
	Poll time.Duration
}

// A Server implements cloudv1.ProviderServiceServer by calls of a cloud.Provider.
type Server struct {
	cloudv1.UnimplementedProviderServiceServer

	config Config

	mu sync.Mutex // guards all below
	// stale is closed and replaced when the catalogue may have changed.
	stale chan struct{}
	// listening ends the stream of notices that is open, and listened is closed when it has ended.
	listening context.CancelFunc
	listened  chan struct{}
}

var _ cloudv1.ProviderServiceServer = (*Server)(nil)

// New returns the service.
func New(c Config) *Server {
	if c.Poll == 0 {
		c.Poll = DefaultPoll
	}
	return &Server{config: c, stale: make(chan struct{})}
}

// maxStreams is the maximum number of open calls on one connection.
const maxStreams = 2_000

// Register returns a gRPC server with the service. creds is nil for a socket.
func (s *Server) Register(creds credentials.TransportCredentials) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage), grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(s.recovered),
		grpc.StreamInterceptor(s.recoveredStream),
	}
	if creds != nil {
		options = append(options, grpc.Creds(creds))
	}
	server := grpc.NewServer(options...)
	cloudv1.RegisterProviderServiceServer(server, s)
	return server
}

// recovered converts a panic to an error, so that one call does not end the process.
func (s *Server) recovered(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	defer s.recover(info.FullMethod, &err)
	return next(ctx, request)
}

func (s *Server) recoveredStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer s.recover(info.FullMethod, &err)
	return next(server, stream)
}

func (s *Server) recover(method string, err *error) {
	if p := recover(); p != nil {
		s.config.Log.Error(fmt.Errorf("panic: %v", p), "call failed", "method", method, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "panic: %v", p)
	}
}

// GetInfo implements cloudv1.ProviderServiceServer.
func (s *Server) GetInfo(_ context.Context, request *cloudv1.GetInfoRequest) (*cloudv1.GetInfoResponse, error) {
	if !slices.Contains(request.GetProtocolVersions(), wire.Version) {
		return nil, status.Errorf(codes.FailedPrecondition, "the provider speaks version %s of the protocol, Karpenter speaks %s",
			wire.Version, strings.Join(request.GetProtocolVersions(), ", "))
	}
	capabilities := []cloudv1.Capability{
		cloudv1.Capability_CAPABILITY_REBOOT, cloudv1.Capability_CAPABILITY_DRIFT, cloudv1.Capability_CAPABILITY_REGISTRATION,
	}
	if s.config.Classes == nil {
		capabilities = append(capabilities, cloudv1.Capability_CAPABILITY_CLUSTER_ACCESS)
	}
	if n, ok := s.config.Provider.(cloud.Notifier); ok && len(n.NoticeSources()) > 0 {
		capabilities = append(capabilities, cloudv1.Capability_CAPABILITY_NOTICES)
	}
	capabilities = slices.DeleteFunc(capabilities, func(c cloudv1.Capability) bool { return slices.Contains(s.config.Without, c) })
	info := wire.WriteInfo(s.config.Provider, s.config.Version, capabilities...)
	for _, k := range info.GetNodeClassKinds() {
		var err error
		if k.ExampleJson, err = s.config.Classes.example(schema.GroupVersionKind{Group: k.GetGroup(), Version: k.GetVersion(), Kind: k.GetKind()}); err != nil {
			return nil, err
		}
	}
	return info, nil
}

// claimOf decodes the NodeClaim of a request.
func claimOf(text string) (*apiv1.NodeClaim, error) {
	claim := &apiv1.NodeClaim{}
	if err := json.Unmarshal([]byte(text), claim); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "decode node_claim_json: %v", err)
	}
	return claim, nil
}

// answered returns the failure for an error that the contract defines. For any other error it returns the status of the
// call.
func answered(ctx context.Context, err error) (*cloudv1.Failure, error) {
	switch {
	case err == nil:
		return nil, nil
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if f := wire.WriteFailure(err); f != nil {
		return f, nil
	}
	return nil, status.Error(codes.Unknown, err.Error()) // also a deadline of the provider itself, which is not that of the call
}

// CreateInstance implements cloudv1.ProviderServiceServer.
func (s *Server) CreateInstance(ctx context.Context, request *cloudv1.CreateInstanceRequest) (*cloudv1.CreateInstanceResponse, error) {
	claim, err := claimOf(request.GetNodeClaimJson())
	if err != nil {
		return nil, err
	}
	if string(claim.UID) != request.GetToken() {
		return nil, status.Error(codes.InvalidArgument, "the token is not the UID of the NodeClaim")
	}
	if _, err := s.config.Classes.learn(request.GetNodeClassJson()); err != nil {
		return nil, err
	}
	i, err := s.config.Provider.Create(ctx, claim)
	failure, err := answered(ctx, err)
	if err != nil {
		return nil, err
	}
	s.refresh()
	if failure != nil {
		if failure.GetKind() == cloudv1.FailureKind_FAILURE_KIND_INSUFFICIENT_CAPACITY {
			s.exhausted(ctx, claim, failure)
		}
		return &cloudv1.CreateInstanceResponse{Failure: failure}, nil
	}
	return &cloudv1.CreateInstanceResponse{Instance: wire.WriteInstance(i, request.GetToken())}, nil
}

// retryAfter is the time for which the client does not use the offerings that a failure names. After that time, the
// catalogue shows that they are exhausted.
const retryAfter = 30 * time.Second

// exhausted adds offerings to the failure: those that the claim allows and that the catalogue shows as not available.
func (s *Server) exhausted(ctx context.Context, claim *apiv1.NodeClaim, failure *cloudv1.Failure) {
	pool := &apiv1.NodePool{}
	pool.Spec.Template.Spec = apiv1.NodeClaimTemplateSpec{
		NodeClassRef: claim.Spec.NodeClassRef, Taints: claim.Spec.Taints, StartupTaints: claim.Spec.StartupTaints,
	}
	types, err := s.config.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		return
	}
	const most = 1_000
	asked := require.FromSpec(claim.Spec.Requirements).Normalize(s.config.Provider.Facts().Labels.Aliases)
	for _, t := range types {
		if _, ok := asked.Intersects(t.Requirements); !ok {
			continue
		}
		for _, o := range t.Offerings {
			if _, ok := asked.Intersects(o.Requirements); ok && !o.Launchable() && len(failure.Exhausted) < most {
				failure.Exhausted = append(failure.Exhausted, wire.KeyOf(t.Name, o))
			}
		}
	}
	failure.RetryAfter = durationpb.New(retryAfter)
}

// DeleteInstance implements cloudv1.ProviderServiceServer.
func (s *Server) DeleteInstance(ctx context.Context, request *cloudv1.DeleteInstanceRequest) (*cloudv1.DeleteInstanceResponse, error) {
	claim, err := claimOf(request.GetNodeClaimJson())
	if err != nil {
		return nil, err
	}
	failure, err := answered(ctx, s.config.Provider.Delete(ctx, claim))
	if err != nil {
		return nil, err
	}
	return &cloudv1.DeleteInstanceResponse{Failure: failure}, nil
}

// GetInstance implements cloudv1.ProviderServiceServer.
func (s *Server) GetInstance(ctx context.Context, request *cloudv1.GetInstanceRequest) (*cloudv1.GetInstanceResponse, error) {
	i, err := s.config.Provider.Get(ctx, request.GetProviderId())
	failure, err := answered(ctx, err)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		return &cloudv1.GetInstanceResponse{Failure: failure}, nil
	}
	return &cloudv1.GetInstanceResponse{Instance: wire.WriteInstance(i, "")}, nil
}

// ListInstances implements cloudv1.ProviderServiceServer. The pages follow the order of IDs. So if an instance ends between two
// pages, no other instance is skipped.
func (s *Server) ListInstances(ctx context.Context, request *cloudv1.ListInstancesRequest) (*cloudv1.ListInstancesResponse, error) {
	list, err := s.config.Provider.List(ctx)
	if failure, err := answered(ctx, err); err != nil || failure != nil {
		return nil, cmpErr(err, failure)
	}
	answer := &cloudv1.ListInstancesResponse{}
	for _, i := range list {
		if i.ProviderID <= request.GetPageToken() {
			continue
		}
		if n := len(answer.Instances); n > 0 && n == int(request.GetPageSize()) {
			answer.NextPageToken = answer.Instances[n-1].ProviderId
			break
		}
		answer.Instances = append(answer.Instances, wire.WriteInstance(i, ""))
	}
	return answer, nil
}

// cmpErr returns err, or else an error with the message of the failure. It is used for calls whose response has no field
// for a failure.
func cmpErr(err error, failure *cloudv1.Failure) error {
	if err != nil {
		return err
	}
	return status.Error(codes.Unknown, failure.GetMessage())
}

// RebootInstance implements cloudv1.ProviderServiceServer.
func (s *Server) RebootInstance(ctx context.Context, request *cloudv1.RebootInstanceRequest) (*cloudv1.RebootInstanceResponse, error) {
	claim, err := claimOf(request.GetNodeClaimJson())
	if err != nil {
		return nil, err
	}
	failure, err := answered(ctx, s.config.Provider.Reboot(ctx, claim, request.GetOperationId()))
	if err != nil {
		return nil, err
	}
	return &cloudv1.RebootInstanceResponse{Failure: failure}, nil
}

// CheckDrift implements cloudv1.ProviderServiceServer. It returns why the claim's instance no longer matches its node class, or an
// empty reason if it does.
func (s *Server) CheckDrift(ctx context.Context, request *cloudv1.CheckDriftRequest) (*cloudv1.CheckDriftResponse, error) {
	claim, err := claimOf(request.GetNodeClaimJson())
	if err != nil {
		return nil, err
	}
	if _, err := s.config.Classes.learn(request.GetNodeClassJson()); err != nil {
		return nil, err
	}
	why, err := s.config.Provider.Drift(ctx, claim)
	failure, err := answered(ctx, err)
	if err != nil {
		return nil, err
	}
	return &cloudv1.CheckDriftResponse{Failure: failure, Reason: string(why)}, nil
}

// CheckRegistration implements cloudv1.ProviderServiceServer.
func (s *Server) CheckRegistration(ctx context.Context, request *cloudv1.CheckRegistrationRequest) (*cloudv1.CheckRegistrationResponse, error) {
	claim, err := claimOf(request.GetNodeClaimJson())
	if err != nil {
		return nil, err
	}
	wait, labels, err := s.config.Provider.Registered(ctx, claim)
	failure, err := answered(ctx, err)
	if err != nil {
		return nil, err
	}
	return &cloudv1.CheckRegistrationResponse{Failure: failure, Wait: durationpb.New(wait), Labels: labels}, nil
}

// MarkUnavailable implements cloudv1.ProviderServiceServer.
func (s *Server) MarkUnavailable(_ context.Context, request *cloudv1.MarkUnavailableRequest) (*cloudv1.MarkUnavailableResponse, error) {
	claim, err := claimOf(request.GetNodeClaimJson())
	if err != nil {
		return nil, err
	}
	if n, ok := s.config.Provider.(cloud.Notifier); ok {
		n.MarkUnavailable(claim, request.GetCapacityType())
		s.refresh()
	}
	return &cloudv1.MarkUnavailableResponse{}, nil
}

// refresh wakes all streams of catalogues.
func (s *Server) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.stale)
	s.stale = make(chan struct{})
}

func (s *Server) staleness() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stale
}
