package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/amis"
	"github.com/karpenter-go/karpenter/provider/aws/batch"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/diagnose"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/interruption"
	"github.com/karpenter-go/karpenter/provider/aws/launch"
	"github.com/karpenter-go/karpenter/provider/aws/learned"
	"github.com/karpenter-go/karpenter/provider/aws/limit"
	"github.com/karpenter-go/karpenter/provider/aws/network"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
	"github.com/karpenter-go/karpenter/provider/aws/prices"
	"github.com/karpenter-go/karpenter/provider/aws/profiles"
	"github.com/karpenter-go/karpenter/provider/aws/reserve"
	"github.com/karpenter-go/karpenter/provider/aws/shift"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
	"github.com/karpenter-go/karpenter/provider/aws/upkeep"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

// Name is the provider's name in metrics.
const Name = "aws"

// RequestTimeout bounds one HTTP request to AWS. It is half of the notice that EC2 gives before it interrupts a spot instance, and three
// times the wait of a call that polls the queue. The SDK repeats a request that took longer; launches are idempotent.
const RequestTimeout = time.Minute

// Recorder publishes events. Event is for events of which each object has one, Publish for all others.
type Recorder interface {
	launch.Recorder
	telemetry.Recorder
}

// Config has the dependencies and settings of a Provider.
type Config struct {
	// AWS has the region and the credentials.
	AWS awssdk.Config
	// Client may read from a cache. Reader reads from the API server.
	Client client.Client
	Reader client.Reader
	// Writer writes claims and nodes.
	Writer Writer
	// Discovery returns the version of Kubernetes.
	Discovery Discovery
	// CAData is the CA bundle of the controller's own client of the API server, in PEM.
	CAData []byte
	// Clock is the clock that the conditions of NodeClaims are written with: their ages are compared with those of instances.
	Clock    clock.Clock
	Settings Settings
	Ledger   launch.Ledger
	Metrics  prometheus.Registerer
	Recorder Recorder
	// Overlay applies NodeOverlays to instance types; nil if the feature is off.
	Overlay cloud.Overlay
	// Namespace is the namespace of the ConfigMaps with the price book and with observed memory. If it is empty, neither is
	// used.
	Namespace string
}

// A Writer writes claims and nodes.
type Writer interface {
	upkeep.Writer
	diagnose.Claims
}

// A Provider implements cloud.Provider for AWS.
type Provider struct {
	config    Config
	cluster   *cluster
	catalog   *catalog.Catalog
	prices    *prices.Book
	shortages *catalog.Shortages
	subnets   *network.Subnets
	groups    *network.Groups
	images    *amis.Resolver
	profiles  *profiles.Profiles
	instances *instances.Store
	templates *launch.TemplateStore
	launcher  *launch.Launcher
	offers    *upkeep.Offers
	reserved  *reserve.Reservations
	placed    *placement.Groups
	shifts    *shift.Shifts // nil unless --enable-zonal-shift is set
	paid      *prices.Paid
	learned   *learned.Store
	compute   *ec2.Client
	breaker   *withhold.Breaker
	doubted   chan event.GenericEvent // node classes to reconcile again, see doubt
	repairs   []cloud.RepairPolicy
	// interrupted measures interruptions.
	interrupted *interruption.Meter
}

var (
	_ cloud.Provider = (*Provider)(nil)
	_ cloud.Notifier = (*Provider)(nil)
	_ cloud.Shifter  = (*Provider)(nil)
	_ cloud.Pricer   = (*Provider)(nil)
)

// New connects to AWS and reads the instance types. It returns an error if the permissions are missing, if AWS rejects the
// credentials, or if the version of Kubernetes cannot be read. If EC2 fails, throttles the call or does not answer it, or if
// the source of credentials does not answer, New returns a Provider without instance types. It can drain nodes, and the
// task providers.instancetype reads the types later. Batched calls go on after their callers have returned, and end with ctx.
func New(ctx context.Context, c Config) (*Provider, error) {
	if c.AWS.Region == "" {
		return nil, errors.New("connect to AWS: no region; set AWS_REGION")
	}
	if c.AWS.HTTPClient == nil {
		c.AWS.HTTPClient = awshttp.NewBuildableClient().WithTimeout(RequestTimeout)
	}
	table, err := shipped.Load()
	if err != nil {
		return nil, err
	}
	measured := limit.NewMetrics(c.Metrics, c.Clock)
	c.AWS.APIOptions = append(slices.Clone(c.AWS.APIOptions), measured.Install)
	if c.AWS.Retryer == nil {
		limiter := limit.New(measured, c.Clock)
		c.AWS.Retryer = func() awssdk.Retryer { return limiter } // all clients share one limiter
	}
	p := build(ctx, c, table)
	if _, err := p.cluster.Kubernetes(ctx); err != nil {
		return nil, err
	}
	if err := p.refreshTypes(ctx); err != nil {
		err = fmt.Errorf("connect to EC2 in %s: %w", c.AWS.Region, err)
		if ctx.Err() != nil || !fault.Transient(err) {
			return nil, err
		}
		log.FromContext(ctx).Error(err, "instance types are not known yet, nodes are drained but none are launched")
	}
	return p, nil
}

func build(ctx context.Context, c Config, table *shipped.Catalog) *Provider {
	compute, identity := ec2.NewFromConfig(c.AWS), iam.NewFromConfig(c.AWS)
	region, name := c.AWS.Region, c.Settings.ClusterName
	p := &Provider{
		config: c, compute: compute, doubted: make(chan event.GenericEvent, 64), repairs: repairPolicies(c.Settings.Gates.RebootForRepair),
	}
	p.cluster = &cluster{
		settings: c.Settings, eks: eks.NewFromConfig(c.AWS), discovery: c.Discovery, reader: c.Reader, caData: c.CAData, clock: c.Clock,
	}
	p.prices = prices.New(prices.Config{
		Products: pricing.NewFromConfig(c.AWS, func(o *pricing.Options) { o.Region = prices.Endpoint(region) }),
		History:  compute, Region: region, Isolated: c.Settings.IsolatedVPC, Shipped: table, Metrics: c.Metrics,
	})
	p.shortages = catalog.NewShortages(c.Clock)
	if c.Settings.EnableZonalShift {
		p.shifts = shift.New(shift.Config{
			API: arczonalshift.NewFromConfig(c.AWS), Clock: c.Clock, Cluster: p.cluster.ARN, Reader: c.Client, Recorder: c.Recorder,
		})
	}
	p.reserved, p.placed = reserve.New(compute, c.Clock), placement.New(compute, c.Clock)
	p.paid = prices.NewPaid(prices.PaidConfig{List: p.prices, Client: c.Client, Reader: c.Reader, Namespace: c.Namespace})
	p.learned = learned.New(learned.Config{
		Client: c.Client, Reader: c.Reader, Clock: c.Clock, Namespace: c.Namespace, Metrics: c.Metrics,
		Expected: func(instanceType string) (int64, bool) { return p.catalog.Memory(instanceType) },
	})
	p.catalog = catalog.New(catalog.Config{
		API: compute, Region: region, Prices: p.paid, Shortages: p.shortages, Shipped: table,
		Reserved: p.reserved, Placed: p.placed, Shifted: p.shifted(), Learned: p.learned,
		Options: catalog.Options{
			Expressions:    c.Settings.Gates.NodeClassCEL,
			MemoryOverhead: c.Settings.VMMemoryOverheadPercent, ReservedENIs: int64(c.Settings.ReservedENIs),
		},
	})
	p.subnets = network.NewSubnets(compute, c.Clock, c.Settings.SubnetRefreshInterval)
	p.groups = network.NewGroups(compute, c.Clock, c.Settings.SecurityGroupRefreshInterval)
	p.images = amis.New(amis.Config{
		Images: compute, Parameters: ssm.NewFromConfig(c.AWS), Clock: c.Clock, Refresh: c.Settings.AMIRefreshInterval,
	})
	p.profiles = profiles.New(profiles.Config{
		API: identity, Removal: identity, Cluster: name, Region: region, Clock: c.Clock,
	})
	meter := batch.NewMeter(c.Metrics)
	p.instances = instances.New(ctx, instances.Config{
		API: compute, Cluster: name, Clock: c.Clock, Meter: meter, Metrics: c.Metrics, Away: p.away(), Known: p.shifts.Known,
		Reserved: c.Settings.ReservedCapacity,
	})
	p.templates = launch.NewTemplateStore(compute, name, c.Clock)
	p.launcher = launch.New(ctx, launch.Config{
		Fleet: compute, Run: compute, Instances: p.instances, Templates: p.templates, Subnets: p.subnets, Shortages: p.shortages,
		Paid: p.paid, Listed: p.prices,
		Reserved: p.reserved, Kubelets: p.catalog, Clusters: p.cluster, Ledger: c.Ledger, Claims: c.Reader, Recorder: c.Recorder, Clock: c.Clock, Region: region,
		Aliases: apiv1.CoreLabels().With(awsv1.Labels()).Aliases, Reservations: c.Settings.ReservedCapacity, RelaxMinValues: c.Settings.RelaxMinValues,
		Meter: meter, Metrics: c.Metrics,
	})
	p.interrupted = interruption.NewMeter(c.Metrics)
	p.breaker = withhold.New(withhold.Config{
		Provider: Name, Kind: "EC2NodeClass", Classes: p.nodeClasses, Warn: p.warnWithheld, Metrics: c.Metrics,
	})
	p.offers = upkeep.NewOffers(c.Client, p.catalog, c.Settings.ReservedCapacity, c.Metrics)
	return p
}

// refreshTypes reads the instance types of the region, and estimates list prices that are not known.
func (p *Provider) refreshTypes(ctx context.Context) error {
	if err := p.catalog.Refresh(ctx); err != nil {
		return err
	}
	vcpus := map[string]int64{}
	for _, m := range p.catalog.Machines() {
		vcpus[m.Name] = m.VCPU
	}
	p.prices.Estimate(ctx, vcpus)
	return nil
}

// Name implements cloud.Provider.
func (p *Provider) Name() string { return Name }

// Facts implements cloud.Provider.
func (p *Provider) Facts() cloud.Facts {
	facts := fixedFacts()
	facts.RepairPolicies = p.repairs
	return facts
}

// fixedFacts returns the result of Facts, which is computed once. It may not be changed.
var fixedFacts = sync.OnceValue(Facts)

// Facts returns the facts about AWS that do not depend on the account, with all feature gates off.
func Facts() cloud.Facts {
	return cloud.Facts{
		Labels: apiv1.CoreLabels().With(awsv1.Labels()),
		NodeClasses: []schema.GroupVersionKind{
			{Group: awsv1.Group, Version: awsv1.GroupVersion.Version, Kind: "EC2NodeClass"},
		},
		RepairPolicies: repairPolicies(false), LegacyRepairPolicies: legacyRepairPolicies(),
		ProviderIDPrefixes: []string{"aws://"},
	}
}

// partitionAgain is the interval at which the partition of a new instance is read until EC2 returns it.
const partitionAgain = 5 * time.Second

// Registered implements cloud.Provider. It returns the label of the partition that EC2 has chosen in a placement group,
// which is not known earlier.
func (p *Provider) Registered(ctx context.Context, claim *apiv1.NodeClaim) (time.Duration, map[string]string, error) {
	if value, asked := claim.Labels[awsv1.LabelPlacementGroupPartition]; !asked || value != "" {
		return 0, nil, nil
	}
	i, err := p.of(ctx, claim)
	if err != nil {
		return 0, nil, err
	}
	if i.Partition == 0 {
		return partitionAgain, nil, nil
	}
	return 0, map[string]string{awsv1.LabelPlacementGroupPartition: strconv.Itoa(i.Partition)}, nil
}
