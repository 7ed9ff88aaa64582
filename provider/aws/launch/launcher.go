package launch

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/batch"
	"github.com/karpenter-go/karpenter/provider/aws/bootstrap"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
	"github.com/karpenter-go/karpenter/provider/aws/network"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// FleetAPI is the part of EC2 that launches.
type FleetAPI interface {
	CreateFleet(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error)
}

var _ FleetAPI = (*ec2.Client)(nil)

// A Ledger notes annotations on claims. Record returns once they are stored on all of them, apart from claims that are gone or
// being deleted. It returns those.
type Ledger interface {
	Record(ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string) (gone []*apiv1.NodeClaim, err error)
}

// Finder finds what was launched, and ends it.
type Finder interface {
	// Launched returns the instances of one fleet call that have not begun to end, by id.
	Launched(ctx context.Context, token string) ([]instances.Instance, error)
	Get(ctx context.Context, id string) (instances.Instance, error)
	Terminate(ctx context.Context, i instances.Instance) error
}

// Clusters returns what nodes need to join.
type Clusters interface {
	Cluster(ctx context.Context) (bootstrap.Cluster, error)
}

// Recorder publishes events.
type Recorder interface {
	Event(object client.Object, eventType, reason, message string)
}

// Kubelets returns the configuration of kubelet on a type, with expressions evaluated.
type Kubelets interface {
	Kubelet(class *awsv1.EC2NodeClass, instanceType string) (kubelet.Config, error)
}

// Reserved keeps count of what capacity reservations hold.
type Reserved interface {
	// Launched notes that one instance was launched into the reservation, Full that it has no capacity left.
	Launched(id string)
	Full(id string)
}

// window joins the claims of one plan.
var window = batch.Window{Idle: 35 * time.Millisecond, Longest: time.Second, Items: 1000}

// Config names what a Launcher needs.
type Config struct {
	Fleet     FleetAPI
	Run       RunAPI
	Finder    Finder
	Shelf     *Shelf
	Subnets   *network.Subnets
	Shortages *catalog.Shortages
	Reserved  Reserved
	Kubelets  Kubelets
	Clusters  Clusters
	Ledger    Ledger
	// Claims reads claims as they are stored now, not from a cache.
	Claims   client.Reader
	Recorder Recorder
	Clock    clock.WithTicker
	Region   string
	Aliases  map[string]string
	// Reservations means that capacity reservations are known, so that launches keep off those they do not target.
	Reservations bool
	Meter        *batch.Meter
	Metrics      prometheus.Registerer
}

// A Launcher launches instances. It is safe for concurrent use.
type Launcher struct {
	Config
	memory   *memory
	orders   *batch.Batcher[*order, instances.Instance]
	adopts   *batch.Batcher[types.UID, adoption]
	failures *prometheus.CounterVec
	userData *prometheus.GaugeVec
	approved *ttl.Cache[string, bool] // node classes that passed Check
	deaf     atomic.Bool              // EC2 launched in a dry run
}

// spread returns a duration below most that differs between processes: it depends on when they started.
func spread(started time.Time, most time.Duration) time.Duration {
	return time.Duration(uint64(started.UnixNano()) % uint64(most))
}

// New returns a Launcher whose fleet calls end with ctx.
func New(ctx context.Context, c Config) *Launcher {
	l := &Launcher{Config: c, memory: newMemory(c.Clock), approved: ttl.New[string, bool](c.Clock, approvedLife-approvedSpread+spread(c.Clock.Now(), 2*approvedSpread))}
	l.failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "karpenter_cloudprovider_instance_launch_failures_total",
		Help: "Offerings that EC2 refused to launch, by reason.",
	}, []string{"zone", "zone_id", "capacity_type", "reason"})
	l.userData = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "karpenter_ec2nodeclasses_userdata_bytes",
		Help: "Size of the user data of the last launch of an EC2NodeClass in bytes. The EC2 limit is 16384.",
	}, []string{"nodeclass"})
	c.Metrics.MustRegister(l.failures, l.userData)
	l.orders = batch.New(ctx, batch.Config[*order, instances.Instance]{
		Name: "create_fleet", Clock: c.Clock, Window: window, Meter: c.Meter, Call: l.fulfil,
	})
	l.adopts = batch.New(ctx, batch.Config[types.UID, adoption]{
		Name: "adopt_instances", Clock: c.Clock, Window: window, Meter: c.Meter, Call: l.adoptAll,
	})
	return l
}

// A Request is one claim to launch an instance for.
type Request struct {
	Claim *apiv1.NodeClaim
	Class *awsv1.EC2NodeClass
	// Types are the class's.
	Types []*model.InstanceType
	Tags  map[string]string
	// Group is the class's placement group, nil for none.
	Group *placement.Group
}

// Launch returns the claim's instance, and launches it if there is none. See the package comment for what happens in
// between. Errors are those of cloud.Provider.Create.
func (l *Launcher) Launch(ctx context.Context, r Request) (instances.Instance, error) {
	if i, ok := l.memory.of(r.Claim.UID); ok {
		return i, nil
	}
	if t, ok := l.memory.flight(r.Claim.UID); ok {
		return t.Wait(ctx)
	}
	i, repeat, err := l.adopt(ctx, r.Claim)
	if err != nil || i != nil {
		return value(i), err
	}
	got, err := l.send(ctx, r, repeat)
	var gone *templatesGoneError
	if errors.As(err, &gone) {
		l.Shelf.Doubt(gone.names)
		return l.send(ctx, r, nil)
	}
	return got, err
}

// send prepares the order and waits for its fleet. repeat is the record of a call to be made again as it was.
func (l *Launcher) send(ctx context.Context, r Request, repeat *Record) (instances.Instance, error) {
	o, err := l.prepare(ctx, r)
	if err != nil {
		return instances.Instance{}, err
	}
	key := o.params
	switch {
	case repeat == nil:
	case repeat.Params == o.params:
		o.repeat = repeat
		key += " " + repeat.Token
	case l.unsettled(*repeat):
		o.pick.Settle()
		return instances.Instance{}, outcomeUnknown()
	}
	started := false
	ticket := l.memory.depart(r.Claim.UID, func() *batch.Ticket[instances.Instance] {
		started = true
		return l.orders.Submit(key, o)
	})
	if !started {
		o.pick.Settle()
	}
	return ticket.Wait(ctx)
}

// Forget drops what is remembered of a claim whose instance was ended.
func (l *Launcher) Forget(claim types.UID) { l.memory.forget(claim) }

// Keep forgets all claims but those given. The garbage collection calls it with the claims there are.
func (l *Launcher) Keep(claims map[types.UID]bool) { l.memory.keep(claims) }

// event publishes a warning about a claim.
func (l *Launcher) event(claim *apiv1.NodeClaim, reason, message string) {
	l.Recorder.Event(claim, corev1.EventTypeWarning, reason, message)
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
