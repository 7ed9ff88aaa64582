package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

// Config has the dependencies and settings of a Provider.
type Config struct {
	// Address is unix:///path for a socket, or host:port.
	Address string
	// TLS authenticates a provider at host:port. It is not used for a socket.
	TLS *tls.Config
	// Client reads NodePools from a cache, and writes the ConfigMap and the status of node classes. Reader reads from the API
	// server.
	Client client.Client
	Reader client.Reader
	Clock  clock.Clock
	Events telemetry.Recorder
	// Metrics is shared by all providers in other processes.
	Metrics *Metrics
	// Overlay applies NodeOverlays to instance types before candidates are chosen. It may be nil.
	Overlay cloud.Overlay
	// Namespace is the namespace in which the facts about the provider are stored. If it is empty, they are not stored.
	Namespace string
	// Dial connects to the address; nil means the network of the machine.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Times of the protocol.
const (
	// StartPatience is the maximum time for which Connect waits for the first answer of a provider. After that, it uses the
	// facts stored at an earlier start, or fails if there are none.
	StartPatience = 30 * time.Second
	// firstTypes is the maximum time for which InstanceTypes waits for the first catalogue of a node class.
	firstTypes = 5 * time.Second
	// grace is the time for which the last catalogue is used while the provider does not answer.
	grace = time.Minute
	// pulse is the interval of checks that the provider answers.
	pulse = 15 * time.Second
	// shortCall bounds calls about one object, longCall those about many. createCall bounds launches, which have an
	// earlier deadline of their callers: the launch timeout.
	shortCall  = 30 * time.Second
	longCall   = 2 * time.Minute
	createCall = cloud.MaxLaunchTimeout
	// pings is how long a connection may be silent before a ping is sent. Servers of gRPC end connections with pings more
	// often than every five minutes, unless they are set up otherwise. Calls of GetInfo find a provider that hangs earlier.
	pings = 6 * time.Minute
)

// A Provider implements cloud.Provider by calls to another process.
type Provider struct {
	config Config
	info   *wire.Info
	first  *cloudv1.GetInfoResponse // from which info was read
	conn   *grpc.ClientConn
	api    cloudv1.ProviderServiceClient
	slots  chan struct{} // bounds the calls at the same time
	starts chan struct{} // bounds the launches among them

	// running is the context of the goroutines that read streams. wait counts these goroutines.
	running context.Context //nolint:containedctx // streams outlive the calls that open them
	stop    context.CancelFunc
	wait    sync.WaitGroup

	health    health
	shelf     shelf
	shortages shortages
	owners    owners
	classes   classes
	notices   *notices
	breaker   *withhold.Breaker
}

var (
	_ cloud.Provider = (*Provider)(nil)
	_ cloud.Notifier = (*Provider)(nil)
	_ cloud.Shifter  = (*Provider)(nil)
	_ cloud.Pricer   = (*Provider)(nil)
)

// Connect connects to a provider and reads the facts about it. If the provider cannot be reached,
// the facts that were stored at its last connection are used. If there are none, Connect returns an
// error. It also returns an error if the facts are rejected, or if the API server does not serve a
// kind of node class. The provider ends with ctx.
func Connect(ctx context.Context, c Config) (*Provider, error) {
	conn, err := dial(c)
	if err != nil {
		return nil, err
	}
	p := &Provider{config: c, conn: conn, api: cloudv1.NewProviderServiceClient(conn)}
	p.running, p.stop = context.WithCancel(ctx)
	p.shelf.open, p.classes.known = map[shelfKey]*catalogue{}, map[classKey]string{}
	p.shortages.until, p.owners.of = map[offeringKey]time.Time{}, map[string]owner{}
	p.health.since = c.Clock.Now()
	p.notices = &notices{provider: p}
	if p.info, err = p.learn(ctx); err != nil {
		p.Close()
		return nil, err
	}
	p.breaker = withhold.New(withhold.Config{
		Provider: p.Name(), Kind: "node class", Classes: p.nodeClasses, Warn: p.warnWithheld, Metrics: c.Metrics.registry,
	})
	p.slots = make(chan struct{}, p.info.Calls)
	p.starts = make(chan struct{}, max(1, p.info.Calls*3/4)) // a launch may take long, and other calls must not wait for it
	if err := p.served(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// dial creates the connection. gRPC connects at the first call. After a failure it connects again, with increasing waits.
func dial(c Config) (*grpc.ClientConn, error) {
	trust := insecure.NewCredentials()
	if !strings.HasPrefix(c.Address, "unix:") && c.Dial == nil {
		if c.TLS == nil {
			return nil, fmt.Errorf("connect to provider at %s: an address other than unix:///path needs TLS", c.Address)
		}
		trust = credentials.NewTLS(c.TLS)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(trust),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 30 * time.Second},
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pings, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		grpc.WithDisableServiceConfig(),
	}
	target := c.Address
	if c.Dial != nil {
		options, target = append(options, grpc.WithContextDialer(c.Dial)), "passthrough:///"+c.Address
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to provider at %s: %w", c.Address, err)
	}
	return conn, nil
}

// Close ends all streams and the connection, and returns when they have ended.
func (p *Provider) Close() {
	p.stop()
	p.wait.Wait()
	_ = p.conn.Close()
}

// Name implements cloud.Provider.
func (p *Provider) Name() string { return p.info.Name }

// Facts implements cloud.Provider.
func (p *Provider) Facts() cloud.Facts { return p.info.Facts }

// Info returns the facts about the provider.
func (p *Provider) Info() *wire.Info { return p.info }

// Get implements cloud.Provider.
func (p *Provider) Get(ctx context.Context, providerID string) (*cloud.Instance, error) {
	if len(p.info.Prefixes) > 0 && !slices.ContainsFunc(p.info.Prefixes, func(s string) bool { return strings.HasPrefix(providerID, s) }) {
		return nil, fmt.Errorf("get instance %q, which is no provider ID of %s: %w", providerID, p.Name(), cloud.ErrNotFound)
	}
	answer, err := call(ctx, p, "GetInstance", shortCall, p.api.GetInstance, &cloudv1.GetInstanceRequest{ProviderId: providerID})
	if err == nil {
		err = wire.ReadFailure(answer.GetFailure())
	}
	if err != nil {
		return nil, fmt.Errorf("get instance %s: %w", providerID, err)
	}
	i, err := p.info.ReadInstance(answer.GetInstance())
	if err == nil && i.ProviderID != providerID {
		err = wire.Reject(wire.WrongInstance, "requested instance %s, the response is about %s", providerID, i.ProviderID)
	}
	return i, p.checked(err)
}

// listPage is the number of instances in one page of a list. maxPages is the maximum number of pages of a list.
const (
	listPage = 1_000
	maxPages = 10_000
)

// List implements cloud.Provider.
func (p *Provider) List(ctx context.Context) ([]*cloud.Instance, error) {
	var out []*cloud.Instance
	token := ""
	for page := 0; ; page++ {
		request := &cloudv1.ListInstancesRequest{PageSize: listPage, PageToken: token}
		answer, err := call(ctx, p, "ListInstances", longCall, p.api.ListInstances, request)
		if err != nil {
			return nil, fmt.Errorf("list instances: %w", err)
		}
		if len(out)+len(answer.GetInstances()) > wire.MaxInstances || page >= maxPages {
			return nil, p.checked(wire.Reject(wire.TooMany, "the list has more than %d instances or %d pages", wire.MaxInstances, maxPages))
		}
		for _, m := range answer.GetInstances() {
			i, err := p.info.ReadInstance(m)
			if err != nil {
				return nil, p.checked(err)
			}
			out = append(out, i)
		}
		if token = answer.GetNextPageToken(); token == "" {
			break
		}
	}
	slices.SortFunc(out, func(a, b *cloud.Instance) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	for n := 1; n < len(out); n++ {
		if out[n].ProviderID == out[n-1].ProviderID {
			return nil, p.checked(wire.Reject(wire.Contradiction, "the list has instance %s twice", out[n].ProviderID))
		}
	}
	return out, nil
}

// Delete implements cloud.Provider.
func (p *Provider) Delete(ctx context.Context, claim *apiv1.NodeClaim) error {
	text, err := manifest(claim)
	if err != nil {
		return err
	}
	answer, err := call(ctx, p, "DeleteInstance", shortCall, p.api.DeleteInstance, &cloudv1.DeleteInstanceRequest{
		ProviderId: claim.Status.ProviderID, Token: tokenOf(claim), NodeClaimJson: text,
	})
	if err == nil {
		err = wire.ReadFailure(answer.GetFailure())
	}
	if errors.Is(err, cloud.ErrNotFound) {
		p.owners.forget(claim)
	}
	if err != nil {
		return fmt.Errorf("delete instance of claim %s: %w", claim.Name, err)
	}
	return nil
}

// Reboot implements cloud.Provider.
func (p *Provider) Reboot(ctx context.Context, claim *apiv1.NodeClaim, operationID string) error {
	if !p.info.Has(cloudv1.Capability_CAPABILITY_REBOOT) {
		return cloud.ErrRebootNotSupported
	}
	text, err := manifest(claim)
	if err != nil {
		return err
	}
	answer, err := call(ctx, p, "RebootInstance", shortCall, p.api.RebootInstance, &cloudv1.RebootInstanceRequest{
		ProviderId: claim.Status.ProviderID, OperationId: operationID, Token: tokenOf(claim), NodeClaimJson: text,
	})
	if err == nil {
		err = wire.ReadFailure(answer.GetFailure())
	}
	if err != nil {
		return fmt.Errorf("reboot instance of claim %s: %w", claim.Name, err)
	}
	return nil
}

// Drift implements cloud.Provider.
func (p *Provider) Drift(ctx context.Context, claim *apiv1.NodeClaim) (cloud.DriftReason, error) {
	if !p.info.Has(cloudv1.Capability_CAPABILITY_DRIFT) {
		return "", nil
	}
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	var missing *cloud.NodeClassNotReadyError
	if errors.As(err, &missing) {
		return "", nil // without a node class there is nothing to compare
	}
	if err != nil {
		return "", err
	}
	text, err := manifest(claim)
	if err != nil {
		return "", err
	}
	answer, err := call(ctx, p, "CheckDrift", shortCall, p.api.CheckDrift, &cloudv1.CheckDriftRequest{
		ProviderId: claim.Status.ProviderID, Token: tokenOf(claim), NodeClaimJson: text, NodeClassJson: class,
	})
	if err == nil {
		err = wire.ReadFailure(answer.GetFailure())
	}
	if err != nil {
		return "", fmt.Errorf("check drift of claim %s: %w", claim.Name, err)
	}
	why, err := wire.ReadReason(answer.GetReason())
	return cloud.DriftReason(why), p.checked(err)
}

// Registered implements cloud.Provider.
func (p *Provider) Registered(ctx context.Context, claim *apiv1.NodeClaim) (time.Duration, map[string]string, error) {
	if !p.info.Has(cloudv1.Capability_CAPABILITY_REGISTRATION) {
		return 0, nil, nil
	}
	text, err := manifest(claim)
	if err != nil {
		return 0, nil, err
	}
	answer, err := call(ctx, p, "CheckRegistration", shortCall, p.api.CheckRegistration, &cloudv1.CheckRegistrationRequest{
		ProviderId: claim.Status.ProviderID, Token: tokenOf(claim), NodeClaimJson: text,
	})
	if err == nil {
		err = wire.ReadFailure(answer.GetFailure())
	}
	if err != nil {
		return 0, nil, fmt.Errorf("check registration of claim %s: %w", claim.Name, err)
	}
	wait, err := wire.ReadWait(answer.GetWait())
	if err != nil {
		return 0, nil, p.checked(err)
	}
	labels, err := wire.ReadLabels(answer.GetLabels())
	return wait, labels, p.checked(err)
}

// PricesCurrent implements cloud.Pricer.
func (p *Provider) PricesCurrent() bool { return p.shelf.pricesCurrent(p.config.Clock.Now()) }

// ShiftedZones implements cloud.Shifter.
func (p *Provider) ShiftedZones(context.Context) []string { return p.shelf.shiftedZones() }
