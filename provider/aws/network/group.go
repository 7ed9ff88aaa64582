package network

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// GroupAPI is the part of EC2 that finds security groups.
type GroupAPI interface {
	DescribeSecurityGroups(context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error)
}

var _ GroupAPI = (*ec2.Client)(nil)

// Groups finds security groups. It is safe for concurrent use.
type Groups struct {
	api   GroupAPI
	found *ttl.Cache[string, []awsv1.SecurityGroup]
}

// NewGroups returns a Groups that caches each result for the duration refresh.
func NewGroups(api GroupAPI, c clock.PassiveClock, refresh time.Duration) *Groups {
	return &Groups{api: api, found: ttl.New[string, []awsv1.SecurityGroup](c, refresh)}
}

// Resolve returns the security groups that the class selects, in order of ID.
func (g *Groups) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.SecurityGroup, error) {
	key := string(class.UID) + "/" + strconv.FormatInt(class.Generation, 10)
	if known, ok := g.found.Get(key); ok {
		return known, nil
	}
	byID := map[string]awsv1.SecurityGroup{}
	for _, filters := range groupFilters(class.Spec.SecurityGroupSelectorTerms) {
		pages := ec2.NewDescribeSecurityGroupsPaginator(g.api, &ec2.DescribeSecurityGroupsInput{
			Filters: filters, MaxResults: aws.Int32(500),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describe security groups: %w", err)
			}
			for _, s := range page.SecurityGroups {
				byID[aws.ToString(s.GroupId)] = awsv1.SecurityGroup{
					ID: aws.ToString(s.GroupId), Name: aws.ToString(s.GroupName),
				}
			}
		}
	}
	out := slices.SortedFunc(maps.Values(byID), func(a, b awsv1.SecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	g.found.Set(key, out)
	return out, nil
}

// groupFilters returns a list of filters for each call: one call per term with tags, one for all IDs, and one for all
// names.
func groupFilters(terms []awsv1.SecurityGroupSelectorTerm) [][]ec2types.Filter {
	var calls [][]ec2types.Filter
	var ids, names []string
	for _, t := range terms {
		switch {
		case t.ID != "":
			ids = append(ids, t.ID)
		case t.Name != "":
			names = append(names, t.Name)
		default:
			calls = append(calls, TagFilters(t.Tags))
		}
	}
	if len(ids) > 0 {
		calls = append(calls, []ec2types.Filter{{Name: aws.String("group-id"), Values: ids}})
	}
	if len(names) > 0 {
		calls = append(calls, []ec2types.Filter{{Name: aws.String("group-name"), Values: names}})
	}
	return calls
}
