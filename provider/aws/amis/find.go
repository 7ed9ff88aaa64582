package amis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/network"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

func (r *Resolver) byAlias(ctx context.Context, family, version, k string) ([]image, error) {
	variants := map[string][]variant{} // by image id
	paths := map[string][]string{}     // parameters by image id
	known := r.public
	if version == awsv1.AliasVersionLatest {
		known = r.latest
	}
	for _, p := range parameters(family, version, k) {
		id, ok, err := r.lookUp(ctx, p.path, known)
		if err != nil {
			return nil, err
		}
		if ok {
			variants[id] = append(variants[id], p.variants...)
			paths[id] = append(paths[id], p.path)
		}
	}
	if len(variants) == 0 {
		return nil, nil
	}
	ids := make([]string, 0, len(variants))
	for id := range variants {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	found, err := r.describe(ctx, nil, ec2types.Filter{Name: aws.String("image-id"), Values: ids})
	if err != nil {
		return nil, err
	}
	r.forgetStale(found, paths)
	var out []image
	for _, i := range found {
		if len(variants[i.id]) == 0 {
			i.reqs = windows(family)
			out = append(out, i)
		}
		for _, v := range variants[i.id] {
			i.reqs = v.requirements()
			out = append(out, i)
		}
	}
	return out, nil
}

// forgetStale removes cached SSM parameters whose image is deprecated or no longer exists. The next lookup reads them
// again, because AWS replaces such an image. paths maps each image to its parameters; forgetStale changes it.
func (r *Resolver) forgetStale(found []image, paths map[string][]string) {
	for _, i := range found {
		if !i.deprecated {
			delete(paths, i.id)
		}
	}
	for _, stale := range paths {
		for _, path := range stale {
			r.public.Delete(path)
			r.latest.Delete(path)
		}
	}
}

// windows returns requirements that match the nodes for which an image of a Windows family is made.
func windows(family string) []corev1.NodeSelectorRequirement {
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	return []corev1.NodeSelectorRequirement{
		in(corev1.LabelOSStable, string(corev1.Windows)),
		in(corev1.LabelWindowsBuild, catalog.FamilyByName(family).WindowsBuild),
	}
}

// lookUp returns the value of an SSM parameter, from the cache or from AWS. It returns false if the parameter does not exist
// or is empty. That a parameter does not exist is cached, too.
func (r *Resolver) lookUp(ctx context.Context, name string, cache *ttl.Cache[string, string]) (string, bool, error) {
	if id, ok := cache.Get(name); ok {
		return id, true, nil
	}
	if _, known := r.missing.Get(name); known {
		return "", false, nil
	}
	out, err := r.parameters.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(name)})
	switch {
	case fault.NotFound(err):
		r.missing.Set(name, true)
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("get parameter %s: %w", name, err)
	case out.Parameter == nil || aws.ToString(out.Parameter.Value) == "":
		return "", false, nil
	}
	id := aws.ToString(out.Parameter.Value)
	cache.Set(name, id)
	return id, true, nil
}

func (r *Resolver) byTerms(ctx context.Context, class *awsv1.EC2NodeClass) ([]image, error) {
	var out []image
	var ids []string
	for _, t := range class.Spec.AMISelectorTerms {
		switch {
		case t.ID != "":
			ids = append(ids, t.ID)
		case t.SSMParameter != "":
			id, ok, err := r.lookUp(ctx, t.SSMParameter, r.custom)
			if err != nil {
				return nil, err
			}
			if !ok || !strings.HasPrefix(id, "ami-") {
				log.FromContext(ctx).Info("skipping SSM parameter without AMI ID", "parameter", t.SSMParameter)
				continue
			}
			ids = append(ids, id)
		default:
			found, err := r.describe(ctx, owners(t), termFilters(t)...)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	if len(ids) > 0 {
		found, err := r.describe(ctx, nil, ec2types.Filter{Name: aws.String("image-id"), Values: ids})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// owners returns the owners of the images that a term selects. If the term has a name and no owner, the owners are this
// account and Amazon. nil means any owner.
func owners(t awsv1.AMISelectorTerm) []string {
	switch {
	case t.Owner != "":
		return []string{t.Owner}
	case t.Name != "":
		return []string{"self", "amazon"}
	}
	return nil
}

func termFilters(t awsv1.AMISelectorTerm) []ec2types.Filter {
	filters := network.TagFilters(t.Tags)
	if t.Name != "" {
		filters = append(filters, ec2types.Filter{Name: aws.String("name"), Values: []string{t.Name}})
	}
	return filters
}

func (r *Resolver) describe(ctx context.Context, owners []string, filters ...ec2types.Filter) ([]image, error) {
	pages := ec2.NewDescribeImagesPaginator(r.images, &ec2.DescribeImagesInput{
		Owners:            owners,
		Filters:           append(filters, ec2types.Filter{Name: aws.String("state"), Values: []string{"available"}}),
		IncludeDeprecated: aws.Bool(true),
		MaxResults:        aws.Int32(1000),
	})
	var out []image
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe images: %w", err)
		}
		for _, i := range page.Images {
			arch := nodeArch(string(i.Architecture))
			if arch == "" {
				continue
			}
			deprecated := false
			if at, err := time.Parse(time.RFC3339, aws.ToString(i.DeprecationTime)); err == nil {
				deprecated = !at.After(r.clock.Now())
			}
			out = append(out, image{
				id: aws.ToString(i.ImageId), name: aws.ToString(i.Name), arch: arch,
				created: aws.ToString(i.CreationDate), deprecated: deprecated,
			})
		}
	}
	return out, nil
}

// For returns the image for a node with these labels: the first in the class's status whose
// requirements match. It returns false if there is none.
func For(class *awsv1.EC2NodeClass, labels Labels) (awsv1.AMI, bool) {
	for _, a := range class.Status.AMIs {
		if labels.Suit(a.Requirements) {
			return a, true
		}
	}
	return awsv1.AMI{}, false
}
