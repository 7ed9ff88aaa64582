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

// FleetAPI is the part of EC2 that launches instances.
type FleetAPI interface {
	CreateFleet(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error)
}

var _ FleetAPI = (*ec2.Client)(nil)

// A Ledger writes annotations to claims. Record returns once the annotations are stored on all claims, except for
// claims that are deleted or being deleted. It returns these. The error has a method RecordedElsewhere if another
// process has recorded a launch of a claim since the claim was read.
type Ledger interface {
	Record(ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string) (gone []*apiv1.NodeClaim, err error)
}

// Finder finds and terminates instances.
type Finder interface {
	// Launched returns the instances of one fleet call that are pending or running, in order of ID.
	Launched(ctx context.Context, token string) ([]instances.Instance, error)
	Get(ctx context.Context, id string) (instances.Instance, error)
	Terminate(ctx context.Context, i instances.Instance) error
}

// Clusters returns the facts about the cluster that nodes need to join.
type Clusters interface {
	Cluster(ctx context.Context) (bootstrap.Cluster, error)
}

// Recorder publishes events.
type Recorder interface {
	Event(object client.Object, eventType, reason, message string)
}

// Kubelets returns the kubelet settings for an instance type, with expressions evaluated.
type Kubelets interface {
	Kubelet(class *awsv1.EC2NodeClass, instanceType string) (kubelet.Config, error)
}

// Reserved counts how many instances are left in capacity reservations.
type Reserved interface {
	// Launched records that one instance was launched in the reservation. Full records that the reservation has no
	// capacity left.
	Launched(id string)
	Full(id string)
}

// window is the batch window of fleet calls. It is long enough for all claims of one plan.
var window = batch.Window{Idle: 35 * time.Millisecond, Longest: time.Second, Items: 1000}

// Config has the dependencies and settings of a Launcher.
type Config struct {
	Fleet     FleetAPI
	Run       RunAPI
	Finder    Finder
	Shelf     *Shelf
	Subnets   *network.Subnets
	Shortages *catalog.Shortages
	// Paid has the prices that the account pays, and Listed those of AWS.
	Paid, Listed Prices
	Reserved     Reserved
	Kubelets     Kubelets
	Clusters     Clusters
	Ledger       Ledger
	// Claims reads claims from the API server, without a cache.
	Claims   client.Reader
	Recorder Recorder
	Clock    clock.Clock
	Region   string
	Aliases  map[string]string
	// Reservations is true if the controller handles capacity reservations. Then launches use only the reservations
	// that they target, and no other open ones.
	Reservations bool
	// RelaxMinValues is true if claims are launched although their minValues are not met.
	RelaxMinValues bool
	Meter          *batch.Meter
	Metrics        prometheus.Registerer
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
	deaf     atomic.Bool              // a dry run launched an instance, so no more dry runs are made
	// toldUserData has the names of node classes whose large user data were logged.
	toldUserData *ttl.Cache[string, bool]
}

// spread returns a duration from zero to less than most. It differs between processes, because it depends on the time at
// which they started.
func spread(started time.Time, most time.Duration) time.Duration {
	return time.Duration(uint64(started.UnixNano()) % uint64(most))
}

// ForgetClass deletes the metrics of an EC2NodeClass that was deleted.
func (l *Launcher) ForgetClass(class string) { l.userData.DeleteLabelValues(class) }

// New returns a Launcher. Its fleet calls are cancelled when ctx is done.
func New(ctx context.Context, c Config) *Launcher {
	l := &Launcher{Config: c, memory: newMemory(c.Clock), approved: ttl.New[string, bool](c.Clock, approvedLife-approvedSpread+spread(c.Clock.Now(), 2*approvedSpread))}
	l.toldUserData = ttl.New[string, bool](c.Clock, userDataAgain)
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

// A Request is the launch of an instance for one claim.
type Request struct {
	Claim *apiv1.NodeClaim
	Class *awsv1.EC2NodeClass
	// Types are the instance types of the class.
	Types []*model.InstanceType
	Tags  map[string]string
	// Group is the class's placement group, nil for none.
	Group *placement.Group
}

// Launch returns the claim's instance, and launches it if there is none. See the package comment for launches that were
// interrupted. Errors are those of cloud.Provider.Create.
func (l *Launcher) Launch(ctx context.Context, r Request) (instances.Instance, error) {
	i, err := l.launch(ctx, r)
	i.Partitioned = r.Group != nil && r.Group.ID == i.Group && r.Group.Partitions > 0 // EC2 does not describe it
	return i, err
}

func (l *Launcher) launch(ctx context.Context, r Request) (instances.Instance, error) {
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

// send prepares the order and waits for the result of its fleet call. repeat is the record of a call to repeat
// unchanged, or nil.
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
	i, ticket := l.memory.depart(r.Claim.UID, func() *batch.Ticket[instances.Instance] {
		started = true
		return l.orders.Submit(key, o)
	})
	if !started {
		o.pick.Settle()
	}
	if ticket == nil {
		return i, nil
	}
	return ticket.Wait(ctx)
}

// Forget removes the cached launch of a claim whose instance was terminated.
func (l *Launcher) Forget(claim types.UID) { l.memory.forget(claim) }

// Keep removes the cached launches of all claims that are not in the map and have no pending
// launch. Garbage collection calls it with the existing claims.
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
