package instances

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// OwnTags returns the tags of all EC2 resources that are created for a pool of the class: the tags of the class, and
// tags with the cluster, the pool and the class.
func OwnTags(cluster, pool string, class *awsv1.EC2NodeClass) map[string]string {
	tags := maps.Clone(class.Spec.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[awsv1.TagClusterPrefix+cluster] = "owned"
	tags[awsv1.TagNodePool] = pool
	tags[awsv1.TagEKSClusterName] = cluster
	tags[awsv1.TagNodeClass] = class.Name
	return tags
}

// CheckTags returns an error that names every tag of the class that only Karpenter may set.
func CheckTags(class *awsv1.EC2NodeClass) error {
	own := []string{awsv1.TagEKSClusterName, awsv1.TagNodePool, awsv1.TagNodeClaim, awsv1.TagNodeClass, TagLaunch}
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(class.Spec.Tags)) {
		if slices.Contains(own, k) || strings.HasPrefix(k, strings.TrimSuffix(awsv1.TagClusterPrefix, "/")) {
			errs = append(errs, fmt.Errorf("spec.tags: %q is set by Karpenter", k))
		}
	}
	return errors.Join(errs...)
}
