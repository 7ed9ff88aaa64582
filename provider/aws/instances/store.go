package instances

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/batch"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// API is the part of EC2 that reads and changes instances.
type API interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
	RebootInstances(context.Context, *ec2.RebootInstancesInput, ...func(*ec2.Options)) (*ec2.RebootInstancesOutput, error)
	CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
}

var _ API = (*ec2.Client)(nil)

// window is the batch window for reads and terminations.
var window = batch.Window{Idle: 100 * time.Millisecond, Longest: time.Second, Items: 500}

// A Store reads, terminates, reboots and tags instances of one cluster. It is safe for concurrent use.
type Store struct {
	api      API
	cluster  string
	reserved bool // Config.Reserved
	describe *batch.Batcher[string, Instance]
	end      *batch.Batcher[string, struct{}]
	failures *prometheus.CounterVec
	shifted  *shifted                 // nil unless --enable-zonal-shift is set
	refused  *ttl.Cache[string, bool] // IDs of instances that EC2 refused, see bucket
}

// Config has the dependencies and settings of a Store.
type Config struct {
	API     API
	Cluster string
	Clock   clock.Clock
	Meter   *batch.Meter
	Metrics prometheus.Registerer
	// Reserved is true if the feature gate ReservedCapacity is on. Otherwise instances in capacity reservations count as
	// on-demand.
	Reserved bool
	// Away reports whether traffic is shifted away from the zone of an instance. It is nil unless --enable-zonal-shift
	// is set.
	Away func(ctx context.Context, i Instance) bool
	// Known reports whether Away knows the zonal shifts. It is called only if Away is not nil.
	Known func() bool
}

// New returns a Store. Its batches end when ctx is done.
func New(ctx context.Context, c Config) *Store {
	s := &Store{api: c.API, cluster: c.Cluster, reserved: c.Reserved, refused: ttl.New[string, bool](c.Clock, apart), failures: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "karpenter_cloudprovider_instance_termination_failures_total",
		Help: "Terminations that EC2 refused, by zone.",
	}, []string{"zone", "zone_id"})}
	c.Metrics.MustRegister(s.failures)
	if c.Away != nil {
		s.shifted = &shifted{away: c.Away, known: c.Known, seen: map[string]Instance{}}
	}
	s.describe = batch.New(ctx, batch.Config[string, Instance]{
		Name: "describe_instances", Clock: c.Clock, Window: window, Meter: c.Meter, Call: s.describeAll,
	})
	s.end = batch.New(ctx, batch.Config[string, struct{}]{
		Name: "terminate_instances", Clock: c.Clock, Window: window, Meter: c.Meter, Call: s.endAll,
	})
	return s
}

// alive returns a filter for instances that are not terminated.
func alive() ec2types.Filter {
	return filter("instance-state-name", "pending", "running", "stopping", "stopped", "shutting-down")
}

func filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: aws.String(name), Values: values}
}

// Get returns the instance as EC2 describes it now, or cloud.ErrNotFound. If traffic is shifted away from the zone of
// the instance, the instance is returned as it was last described.
func (s *Store) Get(ctx context.Context, id string) (Instance, error) {
	if i, ok := s.shifted.get(ctx, id); ok {
		return i, nil
	}
	i, err := s.describe.Do(ctx, s.bucket(id), id)
	s.shifted.note(id, i, err)
	return i, err
}

// GetIn is Get for an instance of a known zone. If EC2 does not find the instance and traffic is, or may be, shifted away from that
// zone, it returns a ShiftedError instead of cloud.ErrNotFound.
func (s *Store) GetIn(ctx context.Context, zone, id string) (Instance, error) {
	i, err := s.Get(ctx, id)
	if errors.Is(err, cloud.ErrNotFound) {
		if away := s.shifted.refuseUnknown(ctx, id, zone); away != nil {
			return Instance{}, away
		}
	}
	return i, err
}

// List returns the instances of the cluster that are not terminated, in order of ID. If traffic is shifted away from
// a zone, its instances stay in the list even if EC2 does not return them.
func (s *Store) List(ctx context.Context) ([]Instance, error) {
	list, err := s.find(ctx, s.owned(alive()))
	if err != nil {
		return nil, err
	}
	return s.shifted.complete(ctx, list), nil
}

// Launched returns the instances of one fleet call that are neither being terminated nor terminated, in order of ID. A stopped one
// is still that of its claim.
func (s *Store) Launched(ctx context.Context, token string) ([]Instance, error) {
	return s.find(ctx, s.owned(filter("tag:"+TagLaunch, token), filter("instance-state-name", "pending", "running", "stopping", "stopped")))
}

func (s *Store) owned(more ...ec2types.Filter) []ec2types.Filter {
	return append(more, filter("tag-key", awsv1.TagNodePool), filter("tag-key", awsv1.TagNodeClass),
		filter("tag:"+awsv1.TagEKSClusterName, s.cluster))
}

// Owns reports whether the instance has the tags of this cluster's nodes. The provider changes only such instances.
// The policies of the controller's role have the same condition, but a role may have other policies.
func (s *Store) Owns(i Instance) bool {
	_, pooled := i.Tags[awsv1.TagNodePool]
	return pooled && (i.Tags[awsv1.TagEKSClusterName] == s.cluster || i.Tags[awsv1.TagClusterPrefix+s.cluster] == "owned")
}

// find returns all instances that match the filters, in order of ID and without duplicates. EC2 may list an instance
// on two pages.
func (s *Store) find(ctx context.Context, filters []ec2types.Filter) ([]Instance, error) {
	out, err := s.pages(ctx, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(1000)})
	if err != nil {
		return nil, fmt.Errorf("describe instances: %w", err)
	}
	return out, nil
}

func (s *Store) pages(ctx context.Context, in *ec2.DescribeInstancesInput) ([]Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(s.api, in)
	var out []Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				one := fromEC2(i)
				if s.reserved {
					one.readReservation(i)
				}
				out = append(out, one)
			}
		}
	}
	slices.SortFunc(out, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b Instance) bool { return a.ID == b.ID }), nil
}

// describeAll is the batched call of Get.
func (s *Store) describeAll(ctx context.Context, ids []string) []batch.Result[Instance] {
	found := map[string]Instance{}
	errs := s.each(unique(ids), func(ids []string) error {
		got, err := s.pages(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids, Filters: []ec2types.Filter{alive()}})
		for _, i := range got {
			found[i.ID] = i
		}
		return err
	})
	out := make([]batch.Result[Instance], len(ids))
	for n, id := range ids {
		i, ok := found[id]
		switch {
		case ok:
			out[n].Value = i
		case errs[id] != nil:
			out[n].Err = fmt.Errorf("describe instance %s: %w", id, errs[id])
		default:
			out[n].Err = fmt.Errorf("describe instance %s: %w", id, cloud.ErrNotFound)
		}
	}
	return out
}

// Terminate starts the termination of an instance. It returns cloud.ErrNotFound if the instance does not exist, and a
// ShiftedError if traffic is, or may be, shifted away from its zone.
func (s *Store) Terminate(ctx context.Context, i Instance) error {
	if err := s.shifted.refuse(ctx, "terminate", i.ID); err != nil {
		return err
	}
	_, err := s.end.Do(ctx, s.bucket(i.ID), i.ID)
	if err != nil && ctx.Err() == nil {
		s.failures.WithLabelValues(i.Zone, i.ZoneID).Inc()
	}
	return err
}

func (s *Store) endAll(ctx context.Context, ids []string) []batch.Result[struct{}] {
	errs := s.each(unique(ids), func(ids []string) error {
		_, err := s.api.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
		return err
	})
	out := make([]batch.Result[struct{}], len(ids))
	for n, id := range ids {
		if errs[id] != nil {
			out[n].Err = fmt.Errorf("terminate instance %s: %w", id, errs[id])
		}
	}
	return out
}

// Reboot requests the reboot of an instance. EC2 accepts the request before the instance shuts down. Reboot returns
// cloud.ErrNotFound if the instance does not exist, and a ShiftedError if traffic is, or may be, shifted away from its zone.
func (s *Store) Reboot(ctx context.Context, id string) error {
	if err := s.shifted.refuse(ctx, "reboot", id); err != nil {
		return err
	}
	_, err := s.api.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{id}})
	switch {
	case fault.NotFound(err):
		return fmt.Errorf("reboot instance %s: %w", id, cloud.ErrNotFound)
	case err != nil:
		return fmt.Errorf("reboot instance %s: %w", id, err)
	}
	return nil
}

// Tag adds tags to an instance. It returns cloud.ErrNotFound if the instance does not exist, and a ShiftedError if
// traffic is, or may be, shifted away from the zone of the instance.
func (s *Store) Tag(ctx context.Context, id string, tags map[string]string) error {
	if err := s.shifted.refuse(ctx, "tag", id); err != nil {
		return err
	}
	in := &ec2.CreateTagsInput{Resources: []string{id}, Tags: Tags(tags)}
	if _, err := s.api.CreateTags(ctx, in); err != nil {
		if fault.NotFound(err) {
			return fmt.Errorf("tag instance %s: %w", id, cloud.ErrNotFound)
		}
		return fmt.Errorf("tag instance %s: %w", id, err)
	}
	return nil
}

// Tags converts tags to the type of the SDK, in key order.
func Tags(m map[string]string) []ec2types.Tag {
	out := make([]ec2types.Tag, 0, len(m))
	for k, v := range m {
		out = append(out, ec2types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	slices.SortFunc(out, func(a, b ec2types.Tag) int { return cmp.Compare(*a.Key, *b.Key) })
	return out
}

func unique(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.Compact(out)
}
