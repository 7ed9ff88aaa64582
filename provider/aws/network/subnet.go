package network

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// SubnetAPI is the part of EC2 that finds subnets.
type SubnetAPI interface {
	DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
}

var _ SubnetAPI = (*ec2.Client)(nil)

// A Subnet is a subnet with the number of free addresses that EC2 returned.
type Subnet struct {
	ID, Zone, ZoneID string
	Free             int64
}

// Subnets finds subnets and counts their free addresses. It is safe for concurrent use. No lock is held during calls of
// EC2.
type Subnets struct {
	api   SubnetAPI
	found *ttl.Cache[string, []Subnet]

	mu     sync.Mutex // guards counts
	counts map[string]*count
}

// count has the number of free addresses of one subnet.
type count struct {
	free     int64
	launched int64  // addresses reserved for launches since free was read
	reading  uint64 // number of times that free was replaced by a value from EC2
}

// NewSubnets returns a Subnets that caches each result for the duration refresh.
func NewSubnets(api SubnetAPI, c clock.PassiveClock, refresh time.Duration) *Subnets {
	return &Subnets{api: api, found: ttl.New[string, []Subnet](c, refresh), counts: map[string]*count{}}
}

// Resolve returns the subnets that the class selects: first those with the most free addresses, and equal ones in
// order of ID.
func (s *Subnets) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) ([]Subnet, error) {
	key := string(class.UID) + "/" + strconv.FormatInt(class.Generation, 10)
	if known, ok := s.found.Get(key); ok {
		return known, nil
	}
	byID := map[string]Subnet{}
	for _, filters := range subnetFilters(class.Spec.SubnetSelectorTerms) {
		if err := s.describe(ctx, filters, byID); err != nil {
			return nil, err
		}
	}
	out := slices.SortedFunc(maps.Values(byID), func(a, b Subnet) int {
		return cmp.Or(cmp.Compare(b.Free, a.Free), cmp.Compare(a.ID, b.ID))
	})
	s.read(out)
	s.found.Set(key, out)
	return out, nil
}

func (s *Subnets) describe(ctx context.Context, filters []ec2types.Filter, into map[string]Subnet) error {
	pages := ec2.NewDescribeSubnetsPaginator(s.api, &ec2.DescribeSubnetsInput{Filters: filters, MaxResults: aws.Int32(500)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("describe subnets: %w", err)
		}
		for _, n := range page.Subnets {
			id := aws.ToString(n.SubnetId)
			into[id] = Subnet{
				ID: id, Zone: aws.ToString(n.AvailabilityZone), ZoneID: aws.ToString(n.AvailabilityZoneId),
				Free: int64(aws.ToInt32(n.AvailableIpAddressCount)),
			}
		}
	}
	return nil
}

// subnetFilters returns a list of filters for each call: one call per term with tags, and one for all IDs.
func subnetFilters(terms []awsv1.SubnetSelectorTerm) [][]ec2types.Filter {
	var calls [][]ec2types.Filter
	var ids []string
	for _, t := range terms {
		if t.ID != "" {
			ids = append(ids, t.ID)
			continue
		}
		calls = append(calls, TagFilters(t.Tags))
	}
	if len(ids) > 0 {
		calls = append(calls, []ec2types.Filter{{Name: aws.String("subnet-id"), Values: ids}})
	}
	return calls
}

// TagFilters returns EC2 filters by tags. The value * matches any value of the tag.
func TagFilters(tags map[string]string) []ec2types.Filter {
	var filters []ec2types.Filter
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if tags[k] == "*" {
			filters = append(filters, ec2types.Filter{Name: aws.String("tag-key"), Values: []string{k}})
			continue
		}
		filters = append(filters, ec2types.Filter{Name: aws.String("tag:" + k), Values: []string{tags[k]}})
	}
	return filters
}

// read sets the counts to those of EC2. These include earlier launches, so the reserved addresses are reset.
func (s *Subnets) read(fresh []Subnet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range fresh {
		old := s.counts[n.ID]
		next := &count{free: n.Free}
		if old != nil {
			next.reading = old.reading + 1
		}
		s.counts[n.ID] = next
	}
}

// Exhausted records that EC2 refused a launch because the subnet has no free addresses.
func (s *Subnets) Exhausted(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.counts[id]; c != nil {
		c.free, c.launched = 0, 0
	}
}
