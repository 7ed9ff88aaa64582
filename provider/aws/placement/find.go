package placement

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// API is the part of EC2 that lists placement groups.
type API interface {
	DescribePlacementGroups(context.Context, *ec2.DescribePlacementGroupsInput, ...func(*ec2.Options)) (*ec2.DescribePlacementGroupsOutput, error)
}

var _ API = (*ec2.Client)(nil)

// life is the time for which a result is cached.
const life = time.Minute

// A Group is a placement group.
type Group struct {
	ID, Name string
	// Strategy is cluster, spread or partition.
	Strategy string
	// Partitions is the number of partitions, 0 unless the strategy is partition.
	Partitions int
}

// PartitionValues returns the values of the partition label: 1 to Partitions.
func (g Group) PartitionValues() []string {
	out := make([]string, g.Partitions)
	for n := range out {
		out[n] = strconv.Itoa(n + 1)
	}
	return out
}

// Groups finds placement groups. It is safe for concurrent use. No lock is held during calls of EC2.
type Groups struct {
	api   API
	fresh *ttl.Cache[awsv1.PlacementGroupSelector, *Group]

	mu   sync.Mutex // guards last
	last map[awsv1.PlacementGroupSelector]*Group
}

// New returns a Groups with an empty cache.
func New(api API, c clock.PassiveClock) *Groups {
	return &Groups{
		api: api, fresh: ttl.New[awsv1.PlacementGroupSelector, *Group](c, life),
		last: map[awsv1.PlacementGroupSelector]*Group{},
	}
}

// Resolve returns the group that the class selects. It returns nil if the class selects none, or if the group does
// not exist or is not available.
func (g *Groups) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (*Group, error) {
	if class.Spec.PlacementGroupSelector == nil {
		return nil, nil
	}
	selector := *class.Spec.PlacementGroupSelector
	if known, ok := g.fresh.Get(selector); ok {
		return known, nil
	}
	found, err := g.ask(ctx, selector)
	if err != nil {
		return nil, err
	}
	g.fresh.Set(selector, found)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last[selector] = found
	return found, nil
}

// Last returns the cached group of the class, nil if there is none. It does not call EC2.
func (g *Groups) Last(class *awsv1.EC2NodeClass) *Group {
	if class.Spec.PlacementGroupSelector == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last[*class.Spec.PlacementGroupSelector]
}

func (g *Groups) ask(ctx context.Context, s awsv1.PlacementGroupSelector) (*Group, error) {
	in := &ec2.DescribePlacementGroupsInput{
		Filters: []ec2types.Filter{{Name: aws.String("state"), Values: []string{"available"}}},
	}
	if s.ID != "" {
		in.GroupIds = []string{s.ID}
	} else {
		in.GroupNames = []string{s.Name}
	}
	out, err := g.api.DescribePlacementGroups(ctx, in)
	switch {
	case fault.NotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("describe placement groups: %w", err)
	case len(out.PlacementGroups) == 0:
		return nil, nil
	}
	p := out.PlacementGroups[0]
	found := &Group{ID: aws.ToString(p.GroupId), Name: aws.ToString(p.GroupName), Strategy: string(p.Strategy)}
	if p.Strategy == ec2types.PlacementStrategyPartition {
		found.Partitions = int(aws.ToInt32(p.PartitionCount))
	}
	return found, nil
}
