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

// Instances reads and terminates instances.
type Instances interface {
	// Launched returns the instances of one fleet call that are neither being terminated nor terminated, in order of ID.
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
	Instances Instances
	Templates *TemplateStore
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
	cache    *launchCache
	orders   *batch.Batcher[*order, instances.Instance] // calls launchOrders
	outcomes *batch.Batcher[types.UID, callOutcome]     // calls findOutcomes
	failures *prometheus.CounterVec
	userData *prometheus.GaugeVec
	passed   *ttl.Cache[string, bool] // hashes of node classes that passed Check
	// dryRunsIgnored is true after a dry run launched an instance. No more dry runs are made then.
	dryRunsIgnored atomic.Bool
	// loggedUserData has the names of node classes whose large user data were logged.
	loggedUserData *ttl.Cache[string, bool]
}

// New returns a Launcher. Its fleet calls are cancelled when ctx is done.
func New(ctx context.Context, c Config) *Launcher {
	l := &Launcher{
		Config: c, cache: newLaunchCache(c.Clock),
		passed:         ttl.New[string, bool](c.Clock, passedLife(c.Clock.Now())),
		loggedUserData: ttl.New[string, bool](c.Clock, userDataLogPause),
	}
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
		Name: "create_fleet", Clock: c.Clock, Window: window, Meter: c.Meter, Call: l.launchOrders,
	})
	l.outcomes = batch.New(ctx, batch.Config[types.UID, callOutcome]{
		Name: "adopt_instances", Clock: c.Clock, Window: window, Meter: c.Meter, Call: l.findOutcomes,
	})
	return l
}

// ForgetClass deletes the metrics of an EC2NodeClass that was deleted.
func (l *Launcher) ForgetClass(class string) { l.userData.DeleteLabelValues(class) }

// A Request is the launch of an instance for one claim.
type Request struct {
	Claim *apiv1.NodeClaim
	Class *awsv1.EC2NodeClass
	// Types are the instance types of the class.
	Types []*model.InstanceType
	Tags  map[string]string
	// Source is stored in the record of the call.
	Source Source
	// PlacementGroup is that of the class, nil for none.
	PlacementGroup *placement.Group
}

// Launch returns the claim's instance, and launches it if there is none. See the package comment for launches that were
// interrupted. Errors are those of cloud.Provider.Create. The Source is that of the call that launched the instance. After an
// interrupted launch, it may differ from that of the request.
func (l *Launcher) Launch(ctx context.Context, r Request) (instances.Instance, Source, error) {
	i, err := l.launch(ctx, r)
	i.Partitioned = r.PlacementGroup != nil && r.PlacementGroup.ID == i.Group && r.PlacementGroup.Partitions > 0 // EC2 does not describe it
	if record, ok := l.cache.record(r.Claim); ok && record.Source != (Source{}) {
		return i, record.Source, err
	}
	return i, r.Source, err
}

// launch looks for the claim's instance in the cache, waits for a pending launch, looks for an earlier fleet call, and makes a new
// one, in this order. If launch templates were deleted since they were checked, it tries again once.
func (l *Launcher) launch(ctx context.Context, r Request) (instances.Instance, error) {
	if i, ok := l.cache.instanceOf(r.Claim.UID); ok {
		return i, nil
	}
	if t, ok := l.cache.ticketOf(r.Claim.UID); ok {
		return t.Wait(ctx)
	}
	earlier, err := l.findEarlier(ctx, r.Claim)
	switch {
	case err != nil:
		return instances.Instance{}, err
	case earlier.instance != nil:
		return *earlier.instance, nil
	}
	got, err := l.send(ctx, r, earlier.repeat)
	var gone *templatesGoneError
	if errors.As(err, &gone) {
		l.Templates.Invalidate(gone.names...)
		return l.send(ctx, r, nil)
	}
	return got, err
}

// send prepares an order, submits it, and waits for the result of its fleet call. repeat is the record of a call to repeat
// unchanged, or nil. If the call can no longer be repeated because its parameters have changed, send makes a new one.
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
	case l.mayBeUnlisted(*repeat):
		o.subnets.Settle()
		return instances.Instance{}, outcomeUnknown()
	}
	submitted := false
	i, ticket := l.cache.start(r.Claim.UID, func() *batch.Ticket[instances.Instance] {
		submitted = true
		return l.orders.Submit(key, o)
	})
	if !submitted {
		o.subnets.Settle()
	}
	if ticket == nil {
		return i, nil
	}
	return ticket.Wait(ctx)
}

// Forget removes the cached launch of a claim whose instance was terminated.
func (l *Launcher) Forget(claim types.UID) { l.cache.remove(claim) }

// Keep removes the cached launches of all claims that are not in the map and have no pending
// launch. Garbage collection calls it with the existing claims.
func (l *Launcher) Keep(claims map[types.UID]bool) { l.cache.keep(claims) }

// warn publishes a warning event about a claim.
func (l *Launcher) warn(claim *apiv1.NodeClaim, reason, message string) {
	l.Recorder.Event(claim, corev1.EventTypeWarning, reason, message)
}
