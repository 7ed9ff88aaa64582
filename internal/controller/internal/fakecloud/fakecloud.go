package fakecloud

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// NodeClass is the one node class kind of the cloud.
var NodeClass = schema.GroupVersionKind{Group: "fake.example.com", Version: "v1", Kind: "FakeNodeClass"}

// Ref returns a reference to a node class of the cloud.
func Ref(name string) *apiv1.NodeClassReference {
	return &apiv1.NodeClassReference{Group: NodeClass.Group, Kind: NodeClass.Kind, Name: name}
}

// A Cloud is a cloud.Provider. The zero value is an empty cloud; its fields may be set before it is used.
type Cloud struct {
	// OnCreate, if set, is called before an instance is created. Create returns its error.
	OnCreate func(ctx context.Context, claim *apiv1.NodeClaim) error
	// OnRegistered, OnDrift and OnDelete, if set, replace the methods Registered, Drift and Delete.
	OnRegistered func(claim *apiv1.NodeClaim) (time.Duration, map[string]string, error)
	OnDrift      func(claim *apiv1.NodeClaim) (cloud.DriftReason, error)
	OnDelete     func(claim *apiv1.NodeClaim) error
	// InstanceTypes returns Types and TypesErr for every NodePool.
	Types    []*cloud.InstanceType
	TypesErr error
	// NodeName is the node name of the instances that Create returns.
	NodeName string
	// OnReboot, if set, is called by Reboot. Otherwise every reboot is accepted.
	OnReboot func(ctx context.Context, claim *apiv1.NodeClaim, operationID string) error
	// Repairs are the repair policies.
	Repairs []cloud.RepairPolicy

	mu        sync.Mutex // guards the fields below
	instances map[types.UID]*cloud.Instance
	launches  int
}

var _ cloud.Provider = (*Cloud)(nil)

// Name implements cloud.Provider.
func (c *Cloud) Name() string { return "fake" }

// Facts implements cloud.Provider.
func (c *Cloud) Facts() cloud.Facts {
	return cloud.Facts{
		Labels: apiv1.CoreLabels(), NodeClasses: []schema.GroupVersionKind{NodeClass}, RepairPolicies: c.Repairs,
	}
}

// InstanceTypes implements cloud.Provider.
func (c *Cloud) InstanceTypes(context.Context, *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	return c.Types, c.TypesErr
}

// Create implements cloud.Provider.
func (c *Cloud) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	if c.OnCreate != nil {
		if err := c.OnCreate(ctx, claim); err != nil {
			return nil, err
		}
	}
	return c.Launch(claim), nil
}

// Launch creates the NodeClaim's instance like Create, without calling OnCreate.
func (c *Cloud) Launch(claim *apiv1.NodeClaim) *cloud.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.instances[claim.UID]; i != nil {
		return i
	}
	c.launches++
	if c.instances == nil {
		c.instances = map[types.UID]*cloud.Instance{}
	}
	i := &cloud.Instance{
		ProviderID: fmt.Sprintf("fake://zone-a/i-%d", c.launches),
		NodeName:   c.NodeName,
		ImageID:    "image-1",
		Labels: map[string]string{
			corev1.LabelInstanceTypeStable: "small",
			corev1.LabelTopologyZone:       "zone-a",
			apiv1.CapacityTypeLabelKey:     apiv1.CapacityTypeSpot,
		},
		Annotations: map[string]string{"fake.example.com/hash": "1"},
		Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1900m")},
	}
	c.instances[claim.UID] = i
	return i
}

// Delete implements cloud.Provider. The first call starts the termination of the instance, the second completes it.
func (c *Cloud) Delete(_ context.Context, claim *apiv1.NodeClaim) error {
	if c.OnDelete != nil {
		return c.OnDelete(claim)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.instances[claim.UID]
	if i == nil || i.Ending {
		delete(c.instances, claim.UID)
		return fmt.Errorf("end instance of %s: %w", claim.Name, cloud.ErrNotFound)
	}
	ending := *i
	ending.Ending = true
	c.instances[claim.UID] = &ending
	return nil
}

// Get implements cloud.Provider.
func (c *Cloud) Get(_ context.Context, providerID string) (*cloud.Instance, error) {
	for _, i := range c.Instances() {
		if i.ProviderID == providerID {
			return i, nil
		}
	}
	return nil, fmt.Errorf("get instance %s: %w", providerID, cloud.ErrNotFound)
}

// List implements cloud.Provider.
func (c *Cloud) List(context.Context) ([]*cloud.Instance, error) { return c.Instances(), nil }

// Drift implements cloud.Provider.
func (c *Cloud) Drift(_ context.Context, claim *apiv1.NodeClaim) (cloud.DriftReason, error) {
	if c.OnDrift != nil {
		return c.OnDrift(claim)
	}
	return "", nil
}

// Registered implements cloud.Provider.
func (c *Cloud) Registered(
	_ context.Context, claim *apiv1.NodeClaim,
) (time.Duration, map[string]string, error) {
	if c.OnRegistered != nil {
		return c.OnRegistered(claim)
	}
	return 0, nil, nil
}

// Instances returns all instances that exist, sorted by ID.
func (c *Cloud) Instances() []*cloud.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.instances), func(a, b *cloud.Instance) int {
		return cmp.Compare(a.ProviderID, b.ProviderID)
	})
}

// Launches returns the number of instances that were created since the start.
func (c *Cloud) Launches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.launches
}

// Lose removes the NodeClaim's instance, without a call of Delete.
func (c *Cloud) Lose(claim *apiv1.NodeClaim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.instances, claim.UID)
}

// Reboot implements cloud.Provider.
func (c *Cloud) Reboot(ctx context.Context, claim *apiv1.NodeClaim, operationID string) error {
	if c.OnReboot == nil {
		return nil
	}
	return c.OnReboot(ctx, claim, operationID)
}
