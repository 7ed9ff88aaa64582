// Package disk is a provider for an imaginary cloud whose machines are directories on a disk. It is the worked example
// of docs/providers.md: one file that implements the whole contract and nothing else.
package disk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// NodeClassKind is the kind of the node class of pools. A real provider has a Go type for it, with a schema and status
// conditions. Here the object only has to exist.
var NodeClassKind = schema.GroupVersionKind{Group: "disk.example.com", Version: "v1", Kind: "DiskNodeClass"}

// prefix is the first part of provider IDs. The name of the machine's directory follows.
const prefix = "disk:///"

// A Provider stores machines in directories below Root.
type Provider struct {
	Root string
	// Classes reads node classes.
	Classes client.Reader
	Clock   clock.PassiveClock
}

var _ cloud.Provider = (*Provider)(nil)

// A machine is the content of the file of one machine. Its directory has the claim's UID as its name, so a repeated
// launch finds the machine of the first one. On a cloud with unique names, that is sufficient to launch one machine per
// claim.
type machine struct {
	Pool, Type, Zone, CapacityType string
	Launched                       time.Time
}

// Name implements cloud.Provider.
func (p *Provider) Name() string { return "disk" }

// Facts implements cloud.Provider. There are no labels of the provider, one node class, and no repair policies.
func (p *Provider) Facts() cloud.Facts {
	return cloud.Facts{Labels: apiv1.CoreLabels(), NodeClasses: []schema.GroupVersionKind{NodeClassKind}}
}

// types returns three instance types with offerings in two zones. They have a requirement for each
// well-known label except that of the NodePool. It is DoesNotExist if no machine has the label.
func types() []*cloud.InstanceType {
	var out []*cloud.InstanceType
	for i, name := range []string{"large", "medium", "small"} {
		cpu := int64(32 >> (2 * i)) // 32, 8, 2
		t := &cloud.InstanceType{Name: name, Capacity: model.Resources{
			corev1.ResourceCPU: 1000 * cpu, corev1.ResourceMemory: 4 * cpu << 30, corev1.ResourcePods: 110,
		}}
		t.Allocatable = model.NewAllocatable(t.Capacity, model.Resources{corev1.ResourceCPU: 100})
		t.Requirements = require.NewSet(
			require.New(corev1.LabelInstanceTypeStable, require.In, name),
			require.New(corev1.LabelArchStable, require.In, apiv1.ArchitectureAmd64),
			require.New(corev1.LabelOSStable, require.In, string(corev1.Linux)),
			require.New(corev1.LabelTopologyZone, require.In, "inner", "outer"),
			require.New(apiv1.CapacityTypeLabelKey, require.In, apiv1.CapacityTypeOnDemand),
			require.New(corev1.LabelTopologyRegion, require.DoesNotExist),
			require.New(corev1.LabelWindowsBuild, require.DoesNotExist),
		)
		for _, zone := range []string{"inner", "outer"} {
			t.Offerings = append(t.Offerings, cloud.Offering{
				Zone: zone, CapacityType: apiv1.CapacityTypeOnDemand, Price: 0.04 * float64(cpu), Available: true,
				Requirements: require.FromLabels(map[string]string{
					corev1.LabelTopologyZone: zone, apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand,
				}),
			})
		}
		out = append(out, t)
	}
	return out // in name order
}

// InstanceTypes implements cloud.Provider.
func (p *Provider) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	if err := p.ready(ctx, pool.Spec.Template.Spec.NodeClassRef); err != nil {
		return nil, err
	}
	return types(), nil
}

// ready returns a NodeClassNotReadyError if ref names no node class of this provider or one that does not exist,
// another error if the node class cannot be read, and nil otherwise.
func (p *Provider) ready(ctx context.Context, ref *apiv1.NodeClassReference) error {
	if !p.Facts().Manages(ref) {
		return &cloud.NodeClassNotReadyError{Err: fmt.Errorf("%v is no %s", ref, NodeClassKind.Kind)}
	}
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(NodeClassKind)
	err := p.Classes.Get(ctx, client.ObjectKey{Name: ref.Name}, class)
	if apierrors.IsNotFound(err) {
		return &cloud.NodeClassNotReadyError{Err: err}
	}
	return err
}

// Create implements cloud.Provider.
func (p *Provider) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	if err := errors.Join(ctx.Err(), p.ready(ctx, claim.Spec.NodeClassRef)); err != nil {
		return nil, err
	}
	id := string(claim.UID)
	m, err := choose(claim)
	if err != nil {
		return nil, err
	}
	m.Launched = p.Clock.Now().UTC()
	if err := p.launch(id, m); err != nil {
		return nil, fmt.Errorf("launch machine %s: %w", id, err)
	}
	return p.read(id) // the machine of this call or of an earlier one
}

// choose returns the cheapest machine that the claim allows and that is large enough for its requests.
func choose(claim *apiv1.NodeClaim) (machine, error) {
	asked := require.FromSpec(claim.Spec.Requirements).Normalize(apiv1.CoreLabels().Aliases)
	requests := model.RequestsOf(claim.Spec.Resources.Requests)
	best, price := machine{}, 0.0
	for _, t := range types() {
		_, _, short := requests.Short(t.Allocatable)
		if _, ok := asked.Intersects(t.Requirements); short || !ok {
			continue
		}
		if o, ok := t.Cheapest(asked); ok && (best.Type == "" || o.Price < price) {
			best, price = machine{Type: t.Name, Zone: o.Zone, CapacityType: o.CapacityType}, o.Price
		}
	}
	if best.Type == "" {
		return best, &cloud.InsufficientCapacityError{Err: errors.New("no type meets the claim's requirements and requests")}
	}
	best.Pool = claim.Labels[apiv1.NodePoolLabelKey]
	return best, nil
}

// launch creates the machine unless it exists. The directory is renamed when it is complete, so a crash leaves no
// partial machine.
func (p *Provider) launch(id string, m machine) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	draft, err := os.MkdirTemp(p.Root, "draft-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft)
	if err := os.WriteFile(filepath.Join(draft, "machine.json"), data, 0o600); err != nil {
		return err
	}
	if err := os.Rename(draft, filepath.Join(p.Root, id)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// read returns the machine in the directory with the name id. If there is none,
// the error wraps cloud.ErrNotFound.
func (p *Provider) read(id string) (*cloud.Instance, error) {
	data, err := os.ReadFile(filepath.Join(p.Root, id, "machine.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("machine %s: %w", id, cloud.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	var m machine
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("machine %s: %w", id, err)
	}
	i := &cloud.Instance{ProviderID: prefix + id, Created: m.Launched, Labels: map[string]string{
		corev1.LabelInstanceTypeStable: m.Type, corev1.LabelTopologyZone: m.Zone,
		apiv1.CapacityTypeLabelKey: m.CapacityType, apiv1.NodePoolLabelKey: m.Pool,
		corev1.LabelArchStable: apiv1.ArchitectureAmd64, corev1.LabelOSStable: string(corev1.Linux),
	}}
	for _, t := range types() {
		if t.Name == m.Type {
			i.Capacity, i.Allocatable = t.Capacity.List(), t.Allocatable.List()
		}
	}
	return i, nil
}

// Delete implements cloud.Provider. It finds the machine by the claim's UID, even if the claim has no provider ID.
func (p *Provider) Delete(_ context.Context, claim *apiv1.NodeClaim) error {
	id := string(claim.UID)
	if _, err := p.read(id); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(p.Root, id))
}

// Reboot implements cloud.Provider. Machines cannot be rebooted.
func (p *Provider) Reboot(context.Context, *apiv1.NodeClaim, string) error {
	return cloud.ErrRebootNotSupported
}

// Get implements cloud.Provider.
func (p *Provider) Get(_ context.Context, providerID string) (*cloud.Instance, error) {
	id, ok := strings.CutPrefix(providerID, prefix)
	if !ok || id != filepath.Base(id) {
		return nil, fmt.Errorf("%q is no machine of this disk: %w", providerID, cloud.ErrNotFound)
	}
	return p.read(id)
}

// List implements cloud.Provider. A machine that is deleted during the call is omitted.
func (p *Provider) List(context.Context) ([]*cloud.Instance, error) {
	entries, err := os.ReadDir(p.Root)
	if err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	var out []*cloud.Instance
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "draft-") {
			continue
		}
		i, err := p.read(e.Name())
		if errors.Is(err, cloud.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, i)
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
