package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

// collectEvery is the interval between two comparisons of all Machines with all claims.
const collectEvery = time.Minute

// A Collector deletes Machines and clones of this provider whose NodeClaim does not exist. Machines whose node is
// ready and runs pods are kept. If too many Machines remain to be deleted, all of these are kept (package withhold).
// Any number of clones without a Machine is deleted, because no instance was launched for them.
type Collector struct {
	provider *Provider
}

// Collector returns the controller that deletes Machines without a claim.
func (p *Provider) Collector() *Collector { return &Collector{provider: p} }

// Name is the controller's name in logs and metrics.
func (c *Collector) Name() string { return "machine.garbagecollection" }

// Register adds the controller to mgr.
func (c *Collector) Register(mgr ctrl.Manager) error {
	once := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: "all"}})
		return nil
	})
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(once).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Reconcile makes one round. Machines and clones are listed before claims. So a Machine that is created in between is
// not deleted.
func (c *Collector) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	p := c.provider
	all, err := p.machines(ctx, p.config.Management.Live)
	if err != nil {
		return ctrl.Result{}, err
	}
	clones, err := c.clones(ctx, all)
	if err != nil {
		return ctrl.Result{}, err
	}
	var claims apiv1.NodeClaimList
	if err := p.config.Reader.List(ctx, &claims); err != nil {
		return ctrl.Result{}, fmt.Errorf("list claims: %w", err)
	}
	there := sets.New[string]()
	for i := range claims.Items {
		there.Insert(string(claims.Items[i].UID))
	}
	errs := []error{c.collect(ctx, all, there)}
	for _, clone := range clones {
		if !there.Has(claimUID(clone.labels)) {
			_, err := p.removeClones(ctx, record{Namespace: clone.key.Namespace, Name: clone.key.Name, Infrastructure: clone.kind}, claimUID(clone.labels))
			errs = append(errs, err)
		}
	}
	return ctrl.Result{RequeueAfter: collectEvery}, errors.Join(errs...)
}

// collect deletes the Machines without a claim. It keeps those whose node is in use, and all of them if they are too
// many: see package withhold. there has the UIDs of all claims.
func (c *Collector) collect(ctx context.Context, all []*machine, there sets.Set[string]) error {
	p := c.provider
	var chosen []*machine
	managed := 0
	for _, m := range all {
		_, held := m.Metadata.Annotations[endHook]
		if m.ending() && !held {
			continue
		}
		managed++
		if !there.Has(claimUID(m.Metadata.Labels)) {
			chosen = append(chosen, m)
		}
	}
	kept, chosen, err := c.inUse(ctx, p.config.Client, chosen)
	if err != nil {
		return err
	}
	allowed, err := p.breaker.Admit(ctx, withhold.CauseNoClaim, classesOf(chosen), managed)
	if err != nil {
		return err
	}
	chosen = slices.DeleteFunc(chosen, func(m *machine) bool { return !allowed(m.class()) })
	late, chosen, err := c.inUse(ctx, p.config.Reader, chosen)
	if err != nil {
		return err
	}
	p.breaker.KeptInUse(kept + late)
	var errs []error
	for _, m := range chosen {
		ctrl.LoggerFrom(ctx).Info("deleted machine without nodeclaim", "Machine", klog.KRef(m.Metadata.Namespace, m.Metadata.Name), "provider-id", m.Spec.ProviderID)
		errs = append(errs, p.end(ctx, m))
	}
	return errors.Join(errs...)
}

// inUse returns how many of the chosen Machines have a node that is in use, and the other Machines. It lists pods with the given reader.
// It publishes an event on each such node.
func (c *Collector) inUse(ctx context.Context, pods client.Reader, chosen []*machine) (kept int, rest []*machine, err error) {
	ids := make([]string, len(chosen))
	for n, m := range chosen {
		ids[n] = m.Spec.ProviderID
	}
	used, err := withhold.InUse(ctx, c.provider.config.Client, pods, ids)
	if err != nil {
		return 0, nil, err
	}
	for _, m := range chosen {
		if use, is := used[m.Spec.ProviderID]; is {
			c.keep(m, use)
		} else {
			rest = append(rest, m)
		}
	}
	return len(used), rest, nil
}

// keep publishes that a Machine without a claim is kept because its node is in use.
func (c *Collector) keep(m *machine, use withhold.Use) {
	c.provider.config.Events.Publish(telemetry.Event{
		Object: use.Node, Type: corev1.EventTypeWarning, Reason: telemetry.EventTerminationWithheld, Dedupe: []string{use.Node.Name},
		Message: fmt.Sprintf("Machine %s/%s has no NodeClaim but is not deleted: %s", m.Metadata.Namespace, m.Metadata.Name, use),
	})
}

// A clone is an object that was created from a template.
type clone struct {
	kind   schema.GroupVersionKind
	key    client.ObjectKey
	labels map[string]string
}

// clones returns the clones without a Machine, of all kinds to which the classes refer.
func (c *Collector) clones(ctx context.Context, machines []*machine) ([]clone, error) {
	p := c.provider
	named := sets.New[client.ObjectKey]()
	for _, m := range machines {
		named.Insert(client.ObjectKey{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name})
	}
	kinds, err := c.cloneKinds(ctx)
	if err != nil {
		return nil, err
	}
	owner, err := p.identity(ctx)
	if err != nil {
		return nil, err
	}
	var out []clone
	for kind := range kinds {
		list := emptyList(kind)
		err := p.config.Management.Live.List(ctx, list, client.MatchingLabels{clusterapiv1alpha1.OwnerLabelKey: owner})
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			key := client.ObjectKeyFromObject(&list.Items[i])
			if !named.Has(key) {
				out = append(out, clone{kind, key, list.Items[i].GetLabels()})
			}
		}
	}
	return out, nil
}

// cloneKinds returns the kinds of the clones of all classes.
func (c *Collector) cloneKinds(ctx context.Context) (sets.Set[schema.GroupVersionKind], error) {
	var classes clusterapiv1alpha1.ClusterAPINodeClassList
	if err := c.provider.config.Client.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("list node classes: %w", err)
	}
	kinds := sets.New[schema.GroupVersionKind]()
	for i := range classes.Items {
		templates, _, err := c.provider.source.templates(ctx, &classes.Items[i])
		if err != nil {
			return nil, err
		}
		for _, t := range templates {
			kinds.Insert(cloneKind(t.infrastructure))
			if t.bootstrap != nil {
				kinds.Insert(cloneKind(t.bootstrap))
			}
		}
	}
	return kinds, nil
}
