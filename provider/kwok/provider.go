package kwok

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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// Name is the provider's name in metrics.
const Name = "kwok"

// Config has the dependencies and settings of a Provider.
type Config struct {
	// Client may read from a cache. Reader reads from the API server.
	Client client.Reader
	Reader client.Reader
	// Nodes writes nodes.
	Nodes Nodes
	Clock clock.PassiveClock
	// Types are the instance types of every pool, in name order.
	Types []*cloud.InstanceType
	// Overlay applies NodeOverlays to Types before a type is chosen. It may be nil.
	Overlay cloud.Overlay
}

// Nodes writes nodes.
type Nodes interface {
	CreateNode(ctx context.Context, node *corev1.Node) error
	// DeleteNode deletes the node with the same name and UID, and reports whether it existed.
	DeleteNode(ctx context.Context, node *corev1.Node) (deleted bool, err error)
	// PatchStatus writes the difference between the status of before and node.
	PatchStatus(ctx context.Context, before, node client.Object) error
}

// A Provider implements cloud.Provider with nodes that have no machines.
type Provider struct {
	config   Config
	reserves bool // whether some type has a reserved offering
	ledger   ledger
}

var _ cloud.Provider = (*Provider)(nil)

// New returns a provider.
func New(c Config) *Provider {
	return &Provider{config: c, reserves: reserves(c.Types), ledger: ledger{recent: map[string]taken{}}}
}

// Name implements cloud.Provider.
func (p *Provider) Name() string { return Name }

// Facts implements cloud.Provider.
func (p *Provider) Facts() cloud.Facts { return fixedFacts() }

// fixedFacts returns the result of Facts, which is computed once. It may not be changed.
var fixedFacts = sync.OnceValue(Facts)

// Facts returns the facts about the provider.
func Facts() cloud.Facts {
	return cloud.Facts{
		Labels: apiv1.CoreLabels().With(kwokv1alpha1.Labels()),
		NodeClasses: []schema.GroupVersionKind{
			{Group: kwokv1alpha1.Group, Version: kwokv1alpha1.GroupVersion.Version, Kind: "KWOKNodeClass"},
		},
		RepairPolicies: repairPolicies(), ProviderIDPrefixes: []string{prefix},
	}
}

// InstanceTypes implements cloud.Provider. All classes have the same types, with the current number of instances left
// in reservations.
func (p *Provider) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	if _, err := p.class(ctx, pool.Spec.Template.Spec.NodeClassRef); err != nil {
		return nil, err
	}
	return p.left(ctx, p.config.Client, "")
}

// class returns the node class to which ref refers. It returns a NodeClassNotReadyError if ref is
// of another kind, or the class is missing or is being deleted.
func (p *Provider) class(ctx context.Context, ref *apiv1.NodeClassReference) (*kwokv1alpha1.KWOKNodeClass, error) {
	if !fixedFacts().Manages(ref) {
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("%v is no KWOKNodeClass", ref)}
	}
	var class kwokv1alpha1.KWOKNodeClass
	err := p.config.Client.Get(ctx, client.ObjectKey{Name: ref.Name}, &class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("there is no KWOKNodeClass %s", ref.Name)}
	case err != nil:
		return nil, fmt.Errorf("get KWOKNodeClass %s: %w", ref.Name, err)
	case !class.DeletionTimestamp.IsZero():
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("KWOKNodeClass %s is being deleted", ref.Name)}
	}
	return &class, nil
}

// Create implements cloud.Provider. It creates the claim's node, or returns the dueAnnotation with
// the time at which Later creates it. If the write of the node fails, the launch does not fail: the
// controller Later tries again. If the name of the node is taken, Create returns a LaunchError.
//
// If the node class is missing or is being deleted, the error is an InsufficientCapacityError, as
// in upstream's provider.
func (p *Provider) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create node: %w", err)
	}
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	var missing *cloud.NodeClassNotReadyError
	switch {
	case errors.As(err, &missing):
		return nil, &cloud.InsufficientCapacityError{Err: err}
	case err != nil:
		return nil, err
	case !condition.Ready(class):
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("KWOKNodeClass %s is not ready", class.Name)}
	}
	chosen, err := p.take(ctx, claim)
	if err != nil {
		return nil, err
	}
	now := p.config.Clock.Now()
	if d := class.Spec.NodeRegistrationDelay; d != nil && d.Duration > 0 {
		return awaited(claim, chosen, now, now.Add(d.Duration)), nil
	}
	node, err := p.make(ctx, claim, chosen)
	var failed *cloud.LaunchError
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.As(err, &failed):
		return nil, err
	default:
		ctrl.LoggerFrom(ctx).Error(err, "failed to create node, which is tried again", "Node", klog.KRef("", claim.Name))
		return awaited(claim, chosen, now, now), nil
	}
	i := instanceOf(node)
	if i.Created.IsZero() {
		i.Created = now
	}
	return i, nil
}

// awaited returns the instance of a claim whose node Later creates at the time due.
func awaited(claim *apiv1.NodeClaim, c choice, now, due time.Time) *cloud.Instance {
	i := instanceOf(c.node(claim))
	i.Created = now
	i.Annotations = map[string]string{dueAnnotation: due.UTC().Format(time.RFC3339Nano)}
	return i
}

// make creates the claim's node and returns it. If the node of this claim exists already, it returns that one. If the
// name is taken by another node, or the node is being deleted, it returns a LaunchError.
func (p *Provider) make(ctx context.Context, claim *apiv1.NodeClaim, c choice) (*corev1.Node, error) {
	node := c.node(claim)
	err := p.config.Nodes.CreateNode(ctx, node)
	switch {
	case err == nil:
		return node, nil
	case !apierrors.IsAlreadyExists(err):
		return nil, err
	}
	if err := p.config.Reader.Get(ctx, client.ObjectKey{Name: claim.Name}, node); err != nil {
		return nil, fmt.Errorf("get node %s: %w", claim.Name, err)
	}
	if !ownedBy(node, claim) || !node.DeletionTimestamp.IsZero() {
		message := fmt.Sprintf("a Node named %s exists that was not created for this NodeClaim; delete that Node", claim.Name)
		return nil, &cloud.LaunchError{Reason: "NodeNameTaken", Message: message, Err: errors.New("name is taken")}
	}
	return node, nil
}

// Delete implements cloud.Provider. A node that is being deleted counts as terminated, because there is no machine.
func (p *Provider) Delete(ctx context.Context, claim *apiv1.NodeClaim) error {
	name, ok := strings.CutPrefix(claim.Status.ProviderID, prefix)
	if !ok {
		name = claim.Name
	}
	var cached corev1.Node
	err := p.config.Client.Get(ctx, client.ObjectKey{Name: name}, &cached)
	if err == nil && cached.Spec.ProviderID == prefix+name && !cached.DeletionTimestamp.IsZero() {
		return fmt.Errorf("node of claim %s: %w", claim.Name, cloud.ErrNotFound) // the cache suffices, because a deletion is never undone
	}
	node, err := p.get(ctx, name)
	if err != nil {
		return err
	}
	if !node.DeletionTimestamp.IsZero() || !ok && !ownedBy(node, claim) {
		return fmt.Errorf("node of claim %s: %w", claim.Name, cloud.ErrNotFound)
	}
	deleted, err := p.config.Nodes.DeleteNode(ctx, node)
	if err == nil && !deleted || apierrors.IsConflict(err) {
		return fmt.Errorf("node %s: %w", name, cloud.ErrNotFound)
	}
	return err
}

// bootPrefix is the prefix of the boot IDs that Reboot sets.
const bootPrefix = "kwok-"

// Reboot implements cloud.Provider. It sets a boot ID with operationID in the status
// of the node.
func (p *Provider) Reboot(ctx context.Context, claim *apiv1.NodeClaim, operationID string) error {
	node, err := p.get(ctx, strings.TrimPrefix(claim.Status.ProviderID, prefix))
	if err != nil {
		return err
	}
	if !node.DeletionTimestamp.IsZero() {
		return fmt.Errorf("node of claim %s: %w", claim.Name, cloud.ErrNotFound)
	}
	before := node.DeepCopy()
	node.Status.NodeInfo.BootID = bootPrefix + operationID
	return p.config.Nodes.PatchStatus(ctx, before, node)
}

// Get implements cloud.Provider. A node that is being deleted is an instance that is being terminated, because its pods
// may still be drained. If the node does not exist yet, the instance is derived from its claim.
func (p *Provider) Get(ctx context.Context, providerID string) (*cloud.Instance, error) {
	name, ok := strings.CutPrefix(providerID, prefix)
	if !ok {
		return nil, fmt.Errorf("get instance %q, which is no provider ID of kwok: %w", providerID, cloud.ErrNotFound)
	}
	node, err := p.get(ctx, name)
	if err == nil {
		return instanceOf(node), nil
	}
	var claim apiv1.NodeClaim
	if errors.Is(err, cloud.ErrNotFound) && p.config.Reader.Get(ctx, client.ObjectKey{Name: name}, &claim) == nil && awaits(&claim) {
		return instanceOfClaim(&claim), nil
	}
	return nil, err
}

// get returns the node with the name if this provider created it.
func (p *Provider) get(ctx context.Context, name string) (*corev1.Node, error) {
	var node corev1.Node
	err := p.config.Reader.Get(ctx, client.ObjectKey{Name: name}, &node)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("node %s: %w", name, cloud.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("get node %s: %w", name, err)
	case node.Spec.ProviderID != prefix+name:
		return nil, fmt.Errorf("node %s: %w", name, cloud.ErrNotFound)
	}
	return &node, nil
}

// List implements cloud.Provider.
func (p *Provider) List(ctx context.Context) ([]*cloud.Instance, error) {
	var nodes corev1.NodeList
	if err := p.config.Reader.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var claims apiv1.NodeClaimList
	if err := p.config.Reader.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("list claims whose nodes are awaited: %w", err)
	}
	var out []*cloud.Instance
	there := map[string]bool{}
	for i := range nodes.Items {
		if id := nodes.Items[i].Spec.ProviderID; strings.HasPrefix(id, prefix) {
			out = append(out, instanceOf(&nodes.Items[i]))
			there[id] = true
		}
	}
	for i := range claims.Items {
		if c := &claims.Items[i]; awaits(c) && !there[c.Status.ProviderID] {
			out = append(out, instanceOfClaim(c))
		}
	}
	slices.SortFunc(out, func(a, b *cloud.Instance) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	return out, nil
}

// Drift implements cloud.Provider. There is no drift.
func (p *Provider) Drift(context.Context, *apiv1.NodeClaim) (cloud.DriftReason, error) {
	return "", nil
}

// Registered implements cloud.Provider. It never delays a registration.
func (p *Provider) Registered(context.Context, *apiv1.NodeClaim) (time.Duration, map[string]string, error) {
	return 0, nil, nil
}
