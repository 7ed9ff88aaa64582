package clusterapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/withhold"
)

// Name is the provider's name in metrics.
const Name = "clusterapi"

// classLabel is the label of claims, nodes and Machines with the name of their class.
const classLabel = clusterapiv1alpha1.Group + "/clusterapinodeclass"

// DefaultPoll is the interval at which a launch looks for the provider ID of its Machine, in the cache.
const DefaultPoll = time.Second

// Config has the dependencies and settings of a Provider.
type Config struct {
	// Client reads from a cache of the workload cluster, and writes to the workload cluster. Reader reads without a
	// cache.
	Client client.Client
	Reader client.Reader
	// Management is the management cluster.
	Management Management
	// Ledger records launches on claims before they are made.
	Ledger Ledger
	Events telemetry.Recorder
	Clock  clock.WithDelayedExecution
	// Overlay applies NodeOverlays to instance types before one is chosen. It may be nil.
	Overlay cloud.Overlay
	// PriceFile is the path of a table of prices, empty for none.
	PriceFile string
	// Poll is the interval at which a launch reads its Machine. 0 means DefaultPoll.
	Poll time.Duration
	// LaunchTimeout is how long a Machine may take to get a provider ID. 0 means DefaultLaunchTimeout.
	LaunchTimeout time.Duration
	// Metrics registers the metric of withheld terminations. It may be nil.
	Metrics prometheus.Registerer
}

// DefaultLaunchTimeout is that of MachineHealthChecks for the start of a node, since many infrastructures take longer than
// the five minutes of other clouds.
const DefaultLaunchTimeout = 10 * time.Minute

// A Management reads and writes the management cluster.
type Management struct {
	// Cached reads from a cache. Live reads from the API server, and writes.
	Cached client.Reader
	Live   client.Client
	// Kinds returns the version of a kind that the API server prefers.
	Kinds func(schema.GroupKind) (schema.GroupVersionKind, error)
}

// A Ledger writes annotations to claims.
type Ledger interface {
	// Record stores the annotations on the claims in the API server, and updates the given objects to the stored version. It
	// returns the claims that are deleted or being deleted. No Machine may be created for these.
	Record(ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string) (gone []*apiv1.NodeClaim, err error)
}

// A Provider implements cloud.Provider with Machines of Cluster API.
type Provider struct {
	config    Config
	source    templateSource
	prices    *prices
	shortages *shortages
	breaker   *withhold.Breaker
	launching keyed

	mu    sync.Mutex // guards owner and byID
	owner string     // the value of the label of all objects that this provider creates
	byID  map[string]client.ObjectKey
}

var _ cloud.Provider = (*Provider)(nil)

// New returns a provider.
func New(c Config) *Provider {
	c.Poll, c.LaunchTimeout = cmp.Or(c.Poll, DefaultPoll), cmp.Or(c.LaunchTimeout, DefaultLaunchTimeout)
	c.Management.Cached = &boundedReader{reader: c.Management.Cached, clock: c.Clock}
	p := &Provider{
		config: c, source: templateSource{reader: c.Management.Cached, kinds: c.Management.Kinds},
		prices:    &prices{reader: c.Reader, file: c.PriceFile, clock: c.Clock},
		shortages: &shortages{clock: c.Clock}, byID: map[string]client.ObjectKey{},
	}
	p.breaker = withhold.New(withhold.Config{
		Provider: Name, Kind: clusterapiv1alpha1.Kind, Classes: p.nodeClasses, Warn: p.warnWithheld, Metrics: c.Metrics,
	})
	return p
}

// nodeClasses returns all ClusterAPINodeClasses.
func (p *Provider) nodeClasses(ctx context.Context) (out []client.Object, err error) {
	var classes clusterapiv1alpha1.ClusterAPINodeClassList
	if err := p.config.Client.List(ctx, &classes); err != nil {
		return nil, err
	}
	for i := range classes.Items {
		out = append(out, &classes.Items[i])
	}
	return out, nil
}

// warnWithheld publishes the event about terminations that are withheld.
func (p *Provider) warnWithheld(about client.Object, message string) {
	p.config.Events.Publish(telemetry.Event{
		Object: about, Type: corev1.EventTypeWarning, Reason: telemetry.EventTerminationWithheld, Message: message,
	})
}

// Name implements cloud.Provider.
func (p *Provider) Name() string { return Name }

// Facts implements cloud.Provider.
func (p *Provider) Facts() cloud.Facts {
	f := Facts()
	f.LaunchTimeouts = map[schema.GroupKind]time.Duration{f.NodeClasses[0].GroupKind(): p.config.LaunchTimeout}
	return f
}

// Facts returns the facts about the provider that no setting changes.
func Facts() cloud.Facts {
	return cloud.Facts{
		Labels:         apiv1.CoreLabels().With(clusterapiv1alpha1.Labels()),
		NodeClasses:    []schema.GroupVersionKind{clusterapiv1alpha1.GroupVersion.WithKind(clusterapiv1alpha1.Kind)},
		RepairPolicies: repairPolicies(),
	}
}

// repairPolicies returns the policies of node repair: a node that is not ready for half an hour is
// replaced without a drain.
func repairPolicies() []cloud.RepairPolicy {
	const after = 30 * time.Minute
	var drain time.Duration
	policy := func(status corev1.ConditionStatus) cloud.RepairPolicy {
		return cloud.RepairPolicy{
			ConditionType: corev1.NodeReady, ConditionStatus: status, TolerationDuration: after,
			TerminationGracePeriod: &drain, Action: cloud.ReplaceNode,
		}
	}
	return []cloud.RepairPolicy{policy(corev1.ConditionFalse), policy(corev1.ConditionUnknown)}
}

// class returns the class to which ref refers. It returns a NodeClassNotReadyError if ref is of another kind, or if
// the class is missing, is being deleted or is not ready.
func (p *Provider) class(ctx context.Context, ref *apiv1.NodeClassReference) (*clusterapiv1alpha1.ClusterAPINodeClass, error) {
	unready := func(format string, args ...any) error {
		return &cloud.NodeClassNotReadyError{Err: fmt.Errorf(format, args...)}
	}
	if !Facts().Manages(ref) {
		return nil, unready("%v is no ClusterAPINodeClass", ref)
	}
	var class clusterapiv1alpha1.ClusterAPINodeClass
	err := p.config.Client.Get(ctx, client.ObjectKey{Name: ref.Name}, &class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, unready("there is no ClusterAPINodeClass %s", ref.Name)
	case err != nil:
		return nil, fmt.Errorf("get ClusterAPINodeClass %s: %w", ref.Name, err)
	case !class.DeletionTimestamp.IsZero():
		return nil, unready("ClusterAPINodeClass %s is being deleted", ref.Name)
	case !condition.Ready(&class):
		return nil, unready("ClusterAPINodeClass %s is not ready", ref.Name)
	}
	return &class, nil
}

// InstanceTypes implements cloud.Provider. Templates whose nodes have taints that the pool lacks are left out.
func (p *Provider) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	spec := pool.Spec.Template.Spec
	class, err := p.class(ctx, spec.NodeClassRef)
	if err != nil {
		return nil, err
	}
	kinds, err := p.kinds(ctx, class)
	if err != nil {
		return nil, err
	}
	var out []*cloud.InstanceType
	for _, k := range tolerated(kinds, spec.Taints, spec.StartupTaints) {
		out = append(out, k.instanceType)
	}
	return out, nil
}

// identity returns the value of the label OwnerLabelKey: the UID of the namespace kube-system of the workload cluster.
func (p *Provider) identity(ctx context.Context) (string, error) {
	p.mu.Lock()
	known := p.owner
	p.mu.Unlock()
	if known != "" {
		return known, nil
	}
	var ns corev1.Namespace
	if err := p.config.Reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &ns); err != nil {
		return "", fmt.Errorf("identify the workload cluster: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owner = string(ns.UID)
	return p.owner, nil
}

// machines returns the provider's Machines, read by r.
func (p *Provider) machines(ctx context.Context, r client.Reader) ([]*machine, error) {
	owner, err := p.identity(ctx)
	if err != nil {
		return nil, err
	}
	list := emptyList(gvk("Machine"))
	if err := r.List(ctx, list, client.MatchingLabels{clusterapiv1alpha1.OwnerLabelKey: owner}); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	out := make([]*machine, 0, len(list.Items))
	for i := range list.Items {
		m, err := decode[machine](&list.Items[i])
		if err != nil {
			return nil, err
		}
		p.remember(m)
		out = append(out, m)
	}
	return out, nil
}

// remember stores which Machine has the provider ID.
func (p *Provider) remember(m *machine) {
	if m.Spec.ProviderID == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byID[m.Spec.ProviderID] = client.ObjectKey{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}
}

// forget removes a provider ID whose Machine does not exist.
func (p *Provider) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byID, id)
}

// machine returns the Machine with this name, read by r, or nil if it does not exist.
func (p *Provider) machine(ctx context.Context, r client.Reader, key client.ObjectKey) (*machine, error) {
	u := empty(gvk("Machine"))
	err := r.Get(ctx, key, u)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Machine %s: %w", key, err)
	}
	m, err := decode[machine](u)
	if err == nil {
		p.remember(m)
	}
	return m, err
}

// identified returns the Machine with the provider ID, or cloud.ErrNotFound.
func (p *Provider) identified(ctx context.Context, id string) (*machine, error) {
	gone := fmt.Errorf("there is no Machine with provider ID %q: %w", id, cloud.ErrNotFound)
	if id == "" {
		return nil, gone
	}
	p.mu.Lock()
	key, known := p.byID[id]
	p.mu.Unlock()
	if known {
		m, err := p.machine(ctx, p.config.Management.Live, key)
		if err != nil || m != nil && m.Spec.ProviderID == id {
			return m, err
		}
		p.forget(id)
	}
	all, err := p.machines(ctx, p.config.Management.Live)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.Spec.ProviderID == id {
			return m, nil
		}
	}
	return nil, gone
}

// Get implements cloud.Provider.
func (p *Provider) Get(ctx context.Context, providerID string) (*cloud.Instance, error) {
	m, err := p.identified(ctx, providerID)
	if err != nil {
		return nil, err
	}
	return m.instance(), nil
}

// List implements cloud.Provider. A Machine without a provider ID is not an instance yet and is left out. Create finds such a
// Machine by the record of its claim. If the claim does not exist, the Collector deletes the Machine.
func (p *Provider) List(ctx context.Context) ([]*cloud.Instance, error) {
	all, err := p.machines(ctx, p.config.Management.Live)
	if err != nil {
		return nil, err
	}
	var out []*cloud.Instance
	for _, m := range all {
		if m.Spec.ProviderID != "" {
			out = append(out, m.instance())
		}
	}
	slices.SortFunc(out, func(a, b *cloud.Instance) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	return out, nil
}

// nodeLabelsAnnotation is the annotation of a Machine with the labels of the instance, as JSON. They are stored because
// the template may change after the launch.
const nodeLabelsAnnotation = clusterapiv1alpha1.Group + "/node-labels"

// instance returns the Machine as an instance, without capacity.
func (m *machine) instance() *cloud.Instance {
	i := &cloud.Instance{
		ProviderID: m.Spec.ProviderID, NodeName: m.Status.NodeRef.Name, Created: m.created(), Ending: m.ending(),
		Labels: map[string]string{}, Annotations: map[string]string{
			clusterapiv1alpha1.MachineAnnotationKey: m.Metadata.Namespace + "/" + m.Metadata.Name,
		},
	}
	if text := m.Metadata.Annotations[clusterapiv1alpha1.TemplateAnnotationKey]; text != "" {
		i.Annotations[clusterapiv1alpha1.TemplateAnnotationKey] = text
	}
	// This package has written the annotation. If it cannot be parsed, because it was changed by hand, the instance has
	// fewer labels.
	var labels map[string]string
	if json.Unmarshal([]byte(m.Metadata.Annotations[nodeLabelsAnnotation]), &labels) == nil {
		maps.Copy(i.Labels, labels)
	}
	if pool := m.Metadata.Labels[apiv1.NodePoolLabelKey]; pool != "" {
		i.Labels[apiv1.NodePoolLabelKey] = pool
	}
	return i
}

// Reboot implements cloud.Provider. Cluster API cannot reboot a machine.
func (p *Provider) Reboot(ctx context.Context, claim *apiv1.NodeClaim, _ string) error {
	return cloud.ErrRebootNotSupported
}

// Reasons of drift.
const (
	DriftTemplateRemoved cloud.DriftReason = "TemplateRemoved"
	DriftTemplate        cloud.DriftReason = "TemplateDrift"
	DriftVersion         cloud.DriftReason = "VersionDrift"
	DriftLabels          cloud.DriftReason = "LabelsDrift"
	DriftFailureDomain   cloud.DriftReason = "FailureDomainDrift"
)

// Drift implements cloud.Provider. The claim records the contents from which its Machine was created. Drift compares these contents
// with the current template of the same name. Names of referenced templates are not compared, so a reference to a copy with the
// same contents is no drift.
func (p *Provider) Drift(ctx context.Context, claim *apiv1.NodeClaim) (cloud.DriftReason, error) {
	var was made
	text := claim.Annotations[clusterapiv1alpha1.TemplateAnnotationKey]
	if text == "" || json.Unmarshal([]byte(text), &was) != nil {
		return "", nil
	}
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	if err != nil {
		return "", err
	}
	templates, unusable, err := p.source.templates(ctx, class)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(templates, func(t *template) bool { return t.name == was.Template })
	if at < 0 {
		if len(unusable) > 0 {
			return "", nil // the template may be one of the unusable ones, and then its nodes need not be replaced
		}
		return DriftTemplateRemoved, nil
	}
	is := templates[at].made(was.FailureDomain)
	switch {
	case is.Spec != was.Spec:
		return DriftTemplate, nil
	case is.Version != was.Version:
		return DriftVersion, nil
	case is.Labels != was.Labels:
		return DriftLabels, nil
	}
	cluster, err := p.source.cluster(ctx, class)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(domains(class, cluster, templates[at]), func(d domain) bool { return d.name == was.FailureDomain }) {
		return DriftFailureDomain, nil
	}
	return "", nil
}

// registrationWait is the pause before a node with the taint uninitializedTaintKey is checked again.
const registrationWait = 2 * time.Second

// Registered implements cloud.Provider. It delays the registration of a node until Cluster API has written labels and
// taints to the node.
func (p *Provider) Registered(ctx context.Context, claim *apiv1.NodeClaim) (time.Duration, map[string]string, error) {
	var nodes corev1.NodeList
	if err := p.config.Client.List(ctx, &nodes, client.MatchingFields{"spec.providerID": claim.Status.ProviderID}); err != nil {
		return 0, nil, fmt.Errorf("list nodes of claim %s: %w", claim.Name, err)
	}
	for i := range nodes.Items {
		for _, t := range nodes.Items[i].Spec.Taints {
			if t.Key == uninitializedTaintKey {
				return registrationWait, nil, nil
			}
		}
	}
	return 0, nil, nil
}

// object returns the object of a kind, read without a cache, or nil if it does not exist.
func (p *Provider) object(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	u := empty(kind)
	err := p.config.Management.Live.Get(ctx, key, u)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", kind.Kind, key, err)
	}
	return u, nil
}
