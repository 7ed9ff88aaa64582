package amis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// ImageAPI is the part of EC2 that finds images.
type ImageAPI interface {
	DescribeImages(context.Context, *ec2.DescribeImagesInput, ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
}

// ParameterAPI is the part of SSM that reads parameters.
type ParameterAPI interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

var (
	_ ImageAPI     = (*ec2.Client)(nil)
	_ ParameterAPI = (*ssm.Client)(nil)
)

const (
	// publicLife is the cache time of a parameter of an alias with a fixed version.
	publicLife = 24 * time.Hour
	// latestLife is the cache time of a parameter whose image changes with each release.
	latestLife = time.Hour
	// customLife is the cache time of a parameter that a term of the class names.
	customLife = 5 * time.Minute
	// missingLife is the cache time of the fact that a parameter does not exist, as for some variants in some regions.
	missingLife = 5 * time.Minute
)

// A Resolver finds images. It is safe for concurrent use, and holds no lock during calls of AWS.
type Resolver struct {
	images     ImageAPI
	parameters ParameterAPI
	clock      clock.PassiveClock

	resolved *ttl.Cache[string, []awsv1.AMI]
	public   *ttl.Cache[string, string]
	latest   *ttl.Cache[string, string]
	custom   *ttl.Cache[string, string]
	missing  *ttl.Cache[string, bool]
}

// Config has the dependencies and settings of a Resolver.
type Config struct {
	Images     ImageAPI
	Parameters ParameterAPI
	Clock      clock.PassiveClock
	// Refresh is how long the images of a class are cached.
	Refresh time.Duration
}

// New returns a Resolver.
func New(c Config) *Resolver {
	return &Resolver{
		images: c.Images, parameters: c.Parameters, clock: c.Clock,
		resolved: ttl.New[string, []awsv1.AMI](c.Clock, c.Refresh),
		public:   ttl.New[string, string](c.Clock, publicLife),
		latest:   ttl.New[string, string](c.Clock, latestLife),
		custom:   ttl.New[string, string](c.Clock, customLife),
		missing:  ttl.New[string, bool](c.Clock, missingLife),
	}
}

// Resolve returns the images of the class for a cluster of that Kubernetes version ("1.36"), newest
// first, then by id. If no image matches, it returns an empty list and no error. A result is cached
// for Config.Refresh, until the generation of the class or the version changes.
func (r *Resolver) Resolve(ctx context.Context, class *awsv1.EC2NodeClass, version string) ([]awsv1.AMI, error) {
	key := string(class.UID) + "/" + strconv.FormatInt(class.Generation, 10) + "/" + version
	if known, ok := r.resolved.Get(key); ok {
		return known, nil
	}
	var found []image
	var err error
	if family, v, ok := catalog.Alias(class); ok {
		found, err = r.byAlias(ctx, family, v, version)
	} else {
		found, err = r.byTerms(ctx, class)
	}
	if err != nil {
		return nil, err
	}
	out := choose(found)
	r.resolved.Set(key, out)
	return out, nil
}

// An image is an image that the class selects. reqs are the labels of the nodes for which it is made, apart from the
// architecture.
type image struct {
	id, name, arch string
	created        string // RFC 3339, so it sorts as text
	deprecated     bool
	reqs           []corev1.NodeSelectorRequirement
}

// requirements returns the labels of the nodes for which the image is made, ordered by length of the key, then by key.
func (i image) requirements() []corev1.NodeSelectorRequirement {
	reqs := append(slices.Clone(i.reqs), corev1.NodeSelectorRequirement{
		Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{i.arch},
	})
	slices.SortFunc(reqs, func(a, b corev1.NodeSelectorRequirement) int {
		return cmp.Or(cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	return reqs
}

// better reports whether i is preferred to o if both are for the same nodes.
func (i image) better(o image) bool {
	if i.deprecated != o.deprecated {
		return o.deprecated
	}
	return cmp.Or(cmp.Compare(i.created, o.created), cmp.Compare(i.name, o.name)) > 0
}

// choose keeps the best of the images with equal requirements. The result is ordered newest first, then by id.
func choose(found []image) []awsv1.AMI {
	best := map[string]image{}
	for _, i := range found {
		key := fmt.Sprint(i.requirements())
		if o, ok := best[key]; !ok || i.better(o) {
			best[key] = i
		}
	}
	var kept []image
	for _, i := range best {
		kept = append(kept, i)
	}
	slices.SortFunc(kept, func(a, b image) int {
		return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.id, b.id),
			cmp.Compare(fmt.Sprint(a.requirements()), fmt.Sprint(b.requirements())))
	})
	out := make([]awsv1.AMI, len(kept))
	for n, i := range kept {
		out[n] = awsv1.AMI{ID: i.id, Name: i.name, Deprecated: i.deprecated, Requirements: i.requirements()}
	}
	return out
}

// nodeArch returns the Kubernetes name of an architecture of EC2, empty for one that nodes cannot have.
func nodeArch(ec2 string) string {
	switch ec2 {
	case "x86_64":
		return apiv1.ArchitectureAmd64
	case "arm64":
		return apiv1.ArchitectureArm64
	}
	return ""
}

// Minor returns the minor number of a Kubernetes version such as 1.36 or v1.36.3.
func Minor(version string) (int, error) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return 0, fmt.Errorf("read Kubernetes version %q: want major.minor", version)
	}
	minor, err := strconv.Atoi(strings.TrimRight(parts[1], "+"))
	if err != nil {
		return 0, fmt.Errorf("read Kubernetes version %q: %w", version, err)
	}
	return minor, nil
}
