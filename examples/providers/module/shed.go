package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// kind is the kind of node classes. Its CustomResourceDefinition must be in the cluster.
var kind = schema.GroupVersionKind{Group: "shed.example.com", Version: "v1", Kind: "ShedNodeClass"}

// prefix is the beginning of provider IDs. Nodes must have the same in spec.providerID.
const prefix = "shed://"

// example returns a node class from which machines can be launched.
func example() *unstructured.Unstructured {
	class := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"image": "debian-13"}}}
	class.SetGroupVersionKind(kind)
	class.SetName("default")
	return class
}

// imageOf returns the image of a node class.
func imageOf(class *unstructured.Unstructured) string {
	image, _, _ := unstructured.NestedString(class.Object, "spec", "image")
	return image
}

// validate returns why nothing can be launched from a node class. The text appears in the class's condition.
func validate(_ context.Context, class *unstructured.Unstructured) error {
	if imageOf(class) == "" {
		return errors.New("spec.image is empty, use for example debian-13")
	}
	return nil
}

// A Shed is the cloud. A real provider replaces the map by calls to its cloud.
type Shed struct {
	// Classes reads node classes.
	Classes client.Reader
	Clock   clock.PassiveClock

	mu       sync.Mutex // guards machines
	machines map[string]*cloud.Instance
}

var _ cloud.Provider = (*Shed)(nil)

// Name implements cloud.Provider.
func (*Shed) Name() string { return "shed" }

// Facts implements cloud.Provider. Launches may take twenty minutes.
func (*Shed) Facts() cloud.Facts {
	return cloud.Facts{
		Labels: apiv1.CoreLabels(), NodeClasses: []schema.GroupVersionKind{kind}, ProviderIDPrefixes: []string{prefix},
		LaunchTimeouts: map[schema.GroupKind]time.Duration{kind.GroupKind(): 20 * time.Minute},
	}
}

// sizes returns the instance types in name order. Each has a requirement for every well-known label.
func sizes() []*cloud.InstanceType {
	var out []*cloud.InstanceType
	for i, name := range []string{"bench", "shelf"} {
		cpu := int64(16 >> (2 * i)) // 16, 4
		t := &cloud.InstanceType{Name: name, Capacity: model.Resources{
			corev1.ResourceCPU: 1000 * cpu, corev1.ResourceMemory: 4 * cpu << 30, corev1.ResourcePods: 110,
		}}
		t.Allocatable = model.NewAllocatable(t.Capacity, model.Resources{corev1.ResourceMemory: 100 << 20})
		t.Requirements = require.NewSet(
			require.New(corev1.LabelInstanceTypeStable, require.In, name),
			require.New(corev1.LabelArchStable, require.In, apiv1.ArchitectureAmd64),
			require.New(corev1.LabelOSStable, require.In, string(corev1.Linux)),
			require.New(corev1.LabelTopologyZone, require.In, "garden"),
			require.New(apiv1.CapacityTypeLabelKey, require.In, apiv1.CapacityTypeOnDemand),
			require.New(corev1.LabelTopologyRegion, require.DoesNotExist),
			require.New(corev1.LabelWindowsBuild, require.DoesNotExist),
		)
		t.Offerings = []cloud.Offering{{
			Zone: "garden", CapacityType: apiv1.CapacityTypeOnDemand, Price: 0.03 * float64(cpu), Available: true,
			Requirements: require.FromLabels(map[string]string{
				corev1.LabelTopologyZone: "garden", apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand,
			}),
		}}
		out = append(out, t)
	}
	return out
}

// class returns the node class to which ref refers.
func (s *Shed) class(ctx context.Context, ref *apiv1.NodeClassReference) (*unstructured.Unstructured, error) {
	if !s.Facts().Manages(ref) {
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("%v is no %s", ref, kind.Kind)}
	}
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(kind)
	err := s.Classes.Get(ctx, client.ObjectKey{Name: ref.Name}, class)
	if apierrors.IsNotFound(err) {
		return nil, &cloud.NodeClassNotReadyError{Err: err}
	}
	return class, err
}

// InstanceTypes implements cloud.Provider.
func (s *Shed) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	if _, err := s.class(ctx, pool.Spec.Template.Spec.NodeClassRef); err != nil {
		return nil, err
	}
	return sizes(), nil
}

// Create implements cloud.Provider. The UID of the claim identifies the machine, so a repeated call finds it. On a real cloud
// the UID is the idempotency token, the name or a tag.
func (s *Shed) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	class, err := s.class(ctx, claim.Spec.NodeClassRef)
	if err := errors.Join(ctx.Err(), err); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := prefix + string(claim.UID)
	if known := s.machines[id]; known != nil {
		return known, nil
	}
	t, o, err := choose(claim)
	if err != nil {
		return nil, err
	}
	if s.machines == nil {
		s.machines = map[string]*cloud.Instance{}
	}
	s.machines[id] = &cloud.Instance{
		ProviderID: id, ImageID: imageOf(class), Created: s.Clock.Now(), Capacity: t.Capacity.List(), Allocatable: t.Allocatable.List(),
		Labels: map[string]string{
			corev1.LabelInstanceTypeStable: t.Name, corev1.LabelTopologyZone: o.Zone, apiv1.CapacityTypeLabelKey: o.CapacityType,
			apiv1.NodePoolLabelKey: claim.Labels[apiv1.NodePoolLabelKey], corev1.LabelArchStable: apiv1.ArchitectureAmd64,
			corev1.LabelOSStable: string(corev1.Linux),
		},
	}
	return s.machines[id], nil
}

// choose returns the cheapest type and offering that the claim allows and that hold its requests.
func choose(claim *apiv1.NodeClaim) (best *cloud.InstanceType, at cloud.Offering, err error) {
	asked, requests := require.FromSpec(claim.Spec.Requirements), model.RequestsOf(claim.Spec.Resources.Requests)
	for _, t := range sizes() {
		_, _, short := requests.Short(t.Allocatable)
		if _, ok := asked.Intersects(t.Requirements); short || !ok {
			continue
		}
		if o, ok := t.Cheapest(asked); ok && (best == nil || o.Price < at.Price) {
			best, at = t, o
		}
	}
	if best == nil {
		return nil, at, &cloud.InsufficientCapacityError{Err: errors.New("no machine meets the requirements and requests of the NodeClaim")}
	}
	return best, at, nil
}

// Delete implements cloud.Provider.
func (s *Shed) Delete(_ context.Context, claim *apiv1.NodeClaim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := prefix + string(claim.UID)
	if s.machines[id] == nil {
		return fmt.Errorf("machine of %s: %w", claim.Name, cloud.ErrNotFound)
	}
	delete(s.machines, id)
	return nil
}

// Reboot implements cloud.Provider.
func (*Shed) Reboot(context.Context, *apiv1.NodeClaim, string) error {
	return cloud.ErrRebootNotSupported
}

// Get implements cloud.Provider.
func (s *Shed) Get(_ context.Context, providerID string) (*cloud.Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.machines[providerID]; i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("machine %s: %w", providerID, cloud.ErrNotFound)
}

// List implements cloud.Provider.
func (s *Shed) List(context.Context) ([]*cloud.Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*cloud.Instance
	for _, i := range s.machines {
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b *cloud.Instance) int { return strings.Compare(a.ProviderID, b.ProviderID) })
	return out, nil
}

// Drift implements cloud.Provider. A machine has drifted if its node class names another image now.
func (s *Shed) Drift(ctx context.Context, claim *apiv1.NodeClaim) (cloud.DriftReason, error) {
	class, err := s.class(ctx, claim.Spec.NodeClassRef)
	if err != nil {
		return "", err
	}
	if was := claim.Status.ImageID; was != "" && was != cmp.Or(imageOf(class), was) {
		return "ImageDrift", nil
	}
	return "", nil
}

// Registered implements cloud.Provider.
func (*Shed) Registered(context.Context, *apiv1.NodeClaim) (time.Duration, map[string]string, error) {
	return 0, nil, nil
}
