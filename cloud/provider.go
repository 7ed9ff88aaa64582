package cloud

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/repair"
)

// InstanceType, Offering and RepairPolicy are types of the engine. A provider fills them in, and the engine decides
// by them.
type (
	InstanceType = model.InstanceType
	Offering     = model.Offering
	RepairPolicy = repair.Policy
)

// The values of RepairPolicy.Action: what is done to the node.
const (
	RebootNode  = repair.RebootNode
	ReplaceNode = repair.ReplaceNode
)

// A Provider launches, lists and terminates instances in one cloud.
type Provider interface {
	// Name is the provider's short name, a label value in metrics, in lower case.
	Name() string
	// Facts returns what is fixed about the provider: its labels, node class kinds and repair policies. The result never
	// changes and is not to be changed.
	Facts() Facts

	// InstanceTypes returns every type that the pool's node class can configure, available or not, in name order. The pool's
	// own requirements are not applied. It returns a NodeClassNotReadyError while the class is missing or unresolved. The
	// result is shared: callers do not change it.
	InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*InstanceType, error)
	// Create launches one instance for the claim. Type and offering meet the claim's requirements, and the type holds its
	// resource requests. Of these, Create takes the best one by price and capacity.
	//
	// A claim is launched once. If Create is called again for a claim that has an instance, it returns this instance. That
	// also holds after a crash during a call.
	//
	// Errors: an InsufficientCapacityError if no offering that the claim allows has capacity now; a NodeClassNotReadyError
	// if the node class is not ready; else a LaunchError with a reason for the claim's condition. For a missing node class
	// it is an InsufficientCapacityError or a NodeClassNotReadyError.
	Create(ctx context.Context, claim *apiv1.NodeClaim) (*Instance, error)
	// Delete begins to terminate the claim's instance. It returns nil once the cloud has accepted the termination, and
	// ErrNotFound when the instance no longer exists. Callers repeat the call until it returns ErrNotFound.
	//
	// A claim without a provider ID may have an instance, if the answer of a Create was lost. Delete then terminates all
	// instances that were launched for the claim, and returns ErrNotFound if there are none.
	Delete(ctx context.Context, claim *apiv1.NodeClaim) error
	// Reboot requests a reboot of the claim's instance, and returns nil once the cloud has accepted the request. All calls
	// for one reboot have the same operationID, and calls for different reboots have different ones. A cloud with
	// idempotency tokens uses operationID as the token. After an error callers repeat the call, except after ErrNotFound,
	// ErrRebootNotSupported and a RebootError.
	Reboot(ctx context.Context, claim *apiv1.NodeClaim, operationID string) error
	// Get returns the instance, or ErrNotFound. It reads the instance from the cloud, not from a cache.
	Get(ctx context.Context, providerID string) (*Instance, error)
	// List returns all instances of this cluster that have not terminated, in ID order. It includes those that
	// are being terminated.
	List(ctx context.Context) ([]*Instance, error)

	// Drift returns why the claim's instance no longer matches its node class, or "" if it does. It returns ErrNotFound if the
	// cloud does not show the instance, as may be the case just after the launch.
	Drift(ctx context.Context, claim *apiv1.NodeClaim) (DriftReason, error)
	// Registered is called when the claim's node has joined, before the node is registered. If wait is longer than zero,
	// the node is not registered yet, and Registered is called again after that time. The labels are added to the claim and
	// the node.
	Registered(ctx context.Context, claim *apiv1.NodeClaim) (wait time.Duration, labels map[string]string, err error)
}

// Facts are the properties of a provider that do not change.
type Facts struct {
	// Labels are the rules for the labels that the provider defines, together with those of Karpenter itself.
	Labels apiv1.LabelRules
	// NodeClasses are the kinds that a pool may refer to; the first is the default.
	NodeClasses []schema.GroupVersionKind
	// RepairPolicies say which node conditions are repaired, and how. Without any, the feature gate NodeRepair is an error.
	RepairPolicies []RepairPolicy
	// LegacyRepairPolicies are the policies that apply with --legacy-node-repair. nil means those of RepairPolicies
	// whose action is ReplaceNode.
	LegacyRepairPolicies []RepairPolicy
	// LaunchTimeouts is how long a launch may take, by kind of node class, MinLaunchTimeout to MaxLaunchTimeout. It counts from
	// the creation of the claim. Create must return by then, because a claim without an instance is deleted. Its node must join
	// within ten minutes more. A kind that is absent has five minutes.
	LaunchTimeouts map[schema.GroupKind]time.Duration
	// ProviderIDPrefixes are the beginnings of the provider IDs of its instances. Empty means any.
	ProviderIDPrefixes []string
}

// MinLaunchTimeout and MaxLaunchTimeout bound the launch timeout of a provider.
const (
	MinLaunchTimeout = time.Minute
	MaxLaunchTimeout = 2 * time.Hour
)

// LaunchTimeout returns how long launches of the node class may take, 0 if LaunchTimeouts does not say.
func (f Facts) LaunchTimeout(ref *apiv1.NodeClassReference) time.Duration {
	if ref == nil {
		return 0
	}
	return f.LaunchTimeouts[schema.GroupKind{Group: ref.Group, Kind: ref.Kind}]
}

// CheckRepairPolicies returns an error that joins all that is wrong with the policies. An empty list is an error, too.
func CheckRepairPolicies(policies []RepairPolicy) error {
	_, err := repair.Compile(policies)
	return err
}

// Manages reports whether ref names one of the provider's node class kinds.
func (f Facts) Manages(ref *apiv1.NodeClassReference) bool {
	if ref == nil {
		return false
	}
	for _, k := range f.NodeClasses {
		if k.Group == ref.Group && k.Kind == ref.Kind {
			return true
		}
	}
	return false
}

// A DriftReason is a condition reason, for example AMIDrift. Empty means no drift.
type DriftReason string

// An Instance is a machine as the cloud describes it.
type Instance struct {
	// ProviderID is the identity that Kubernetes nodes carry in spec.providerID.
	ProviderID string
	// NodeName is the name that the instance's Kubernetes node will have, empty if the cloud does not know it in advance. Create
	// returns it as soon as it is known, so that pods can be nominated to the node while the machine boots. It is a hint: a node
	// that joins with another name is registered all the same.
	NodeName string
	ImageID  string
	// Labels are those that follow from the instance: type, zone, capacity type, and so on.
	Labels map[string]string
	// Annotations are written to the claim. The provider needs them later to detect drift.
	Annotations map[string]string
	// Capacity and Allocatable are what the node is expected to report. They may be empty if Create did not return the
	// instance.
	Capacity, Allocatable corev1.ResourceList
	// Created is when the instance was launched.
	Created time.Time
	// Ending is true if the instance is being terminated or has terminated.
	Ending bool
}
