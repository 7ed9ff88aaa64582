package offline

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/catalogue"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/kwok"
)

// DefaultRegion is the region of the shipped catalogue that is used if no region is given.
const DefaultRegion = "us-east-1"

// A Catalogue returns the instance types that pools may launch.
type Catalogue struct {
	// fixed are the types of a file. If it is nil, the shipped types of region are used.
	fixed  []*model.InstanceType
	region string
	// shaped are the shipped types for each node class, by class name.
	shaped map[string][]*model.InstanceType
	// paid has the rules of the price book, nil if there is none.
	paid *paid
}

// Shipped returns the catalogue of the binary for one region.
func Shipped(region string) *Catalogue {
	return &Catalogue{region: region, shaped: map[string][]*model.InstanceType{}}
}

// ReadCatalogue returns the catalogue of a file. name is its name in error messages. The error joins all mistakes.
func ReadCatalogue(name string, data []byte) (*Catalogue, error) {
	types, err := catalogue.Read(name, data)
	if err != nil {
		return nil, err
	}
	return &Catalogue{fixed: types}, nil
}

// Anew returns the catalogue without the cached types of node classes. It is used after node classes have changed.
func (c *Catalogue) Anew() *Catalogue {
	anew := *c
	anew.shaped = map[string][]*model.InstanceType{}
	return &anew
}

// Types returns the instance types that the pool may launch, in name order. class is the pool's EC2NodeClass, nil if it is
// not in the input. The shipped types depend on the class, such as on its kubelet settings, disks and zones. Types of a
// file do not. For a NodePool of Cluster API without a file, Types returns none.
func (c *Catalogue) Types(pool *apiv1.NodePool, class *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	if c.fixed != nil {
		return c.priced(c.fixed), nil
	}
	name := ""
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		switch ref.Group {
		case kwokv1alpha1.Group:
			return kwok.GenericTypes(), nil
		case clusterapiv1alpha1.Group:
			return nil, nil // the method lacks reports it
		}
		name = ref.Name
	}
	if types, ok := c.shaped[name]; ok {
		return types, nil
	}
	if class == nil {
		class = &awsv1.EC2NodeClass{}
		class.Name = name
	}
	types, err := catalog.ShippedFor(c.region, class)
	if err != nil {
		return nil, err
	}
	types = c.priced(types)
	c.shaped[name] = types
	return types, nil
}

// lacks reports whether neither the binary nor a file has the types of the pool. It is true for NodePools of Cluster API if
// no file is given.
func (c *Catalogue) lacks(pool *apiv1.NodePool) bool {
	ref := pool.Spec.Template.Spec.NodeClassRef
	return c.fixed == nil && ref != nil && ref.Group == clusterapiv1alpha1.Group
}

// Labels returns the rules of the labels that pods may select before a node exists: those of Kubernetes and of the
// types.
func (c *Catalogue) Labels() apiv1.LabelRules {
	if c.fixed == nil {
		return apiv1.CoreLabels().With(awsv1.Labels(), kwokv1alpha1.Labels(), clusterapiv1alpha1.Labels())
	}
	known := sets.New[string]()
	for _, t := range c.fixed {
		known.Insert(t.Requirements.Keys()...)
		for _, o := range t.Offerings {
			known.Insert(o.Requirements.Keys()...)
		}
	}
	return apiv1.CoreLabels().With(apiv1.LabelRules{
		WellKnown: known, Aliases: awsv1.Labels().Aliases, KnownValues: awsv1.Labels().KnownValues,
	})
}

// rules returns the label rules for the validation of pools. Pools may use the labels of all providers, even if the
// types of a file do not have them.
func (c *Catalogue) rules() apiv1.LabelRules {
	return c.Labels().With(awsv1.Labels(), kwokv1alpha1.Labels(), clusterapiv1alpha1.Labels())
}

// TypesOf returns the types of a provider (aws or kwok) in the binary, for the command catalog. Types without
// offerings are left out. region is a region of AWS, unused for kwok.
func TypesOf(provider, region string) ([]catalogue.Type, error) {
	var types []*model.InstanceType
	var err error
	switch provider {
	case "aws":
		if err := CheckRegion(region); err != nil {
			return nil, fmt.Errorf("--region: %w", err)
		}
		types, err = catalog.Shipped(region)
	case "kwok":
		types = kwok.GenericTypes()
	default:
		return nil, fmt.Errorf("--provider is %q, want aws or kwok", provider)
	}
	if err != nil {
		return nil, err
	}
	out := make([]catalogue.Type, 0, len(types))
	for _, t := range types {
		if d := catalogue.Describe(t); len(d.Offerings) > 0 {
			out = append(out, d)
		}
	}
	return out, nil
}

// CheckRegion returns an error if the shipped catalogue does not have the region.
func CheckRegion(region string) error {
	if regions := catalog.Regions(); !slices.Contains(regions, region) {
		return fmt.Errorf("%q is not in the table, which has %s", region, strings.Join(regions, ", "))
	}
	return nil
}
