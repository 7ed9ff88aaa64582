package offline

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/catalogue"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/kwok"
)

// DefaultRegion is the region of the shipped catalogue that is used when none is named.
const DefaultRegion = "us-east-1"

// A Catalogue knows what may be bought.
type Catalogue struct {
	// fixed are the types of a file; nil means the shipped ones of region.
	fixed  []*model.InstanceType
	region string
	// shaped are the shipped types as node classes make them, by the class's name.
	shaped map[string][]*model.InstanceType
	// paid is what is paid in place of these prices, nil for no price book.
	paid *paid
}

// Shipped returns the catalogue in the binary, for one region.
func Shipped(region string) *Catalogue {
	return &Catalogue{region: region, shaped: map[string][]*model.InstanceType{}}
}

// ReadCatalogue returns the catalogue of a file; name is for error messages. It returns all mistakes at once.
func ReadCatalogue(name string, data []byte) (*Catalogue, error) {
	types, err := catalogue.Read(name, data)
	if err != nil {
		return nil, err
	}
	return &Catalogue{fixed: types}, nil
}

// Types returns what pool may launch, in name order. class is the pool's EC2NodeClass, nil if it is not given: its kubelet
// settings, disks and zones shape the shipped types. Types of a file are taken as they are.
func (c *Catalogue) Types(pool *apiv1.NodePool, class *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	if c.fixed != nil {
		return c.priced(c.fixed), nil
	}
	name := ""
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		if ref.Group == kwokv1alpha1.Group {
			return kwok.GenericTypes(), nil
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

// Labels are the labels that nodes may be asked for before they exist: those of the core, and of the types.
func (c *Catalogue) Labels() apiv1.LabelRules {
	if c.fixed == nil {
		return apiv1.CoreLabels().With(awsv1.Labels(), kwokv1alpha1.Labels())
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

// rules are what pools are validated by: they may name any label that some provider knows, whether the types of a file
// carry it or not.
func (c *Catalogue) rules() apiv1.LabelRules {
	return c.Labels().With(awsv1.Labels(), kwokv1alpha1.Labels())
}

// TypesOf returns what the binary knows of a provider's types, as the command catalog prints it. The region is AWS's.
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
