// Package check runs the conformance suite against a provider that is already running. It is for developers of
// providers.
//
// NodeClaims and the node class exist only in memory, unless the provider reads them from its own cluster. Then the
// check needs that cluster. The provider must have no instances before the check. Those that it launches for the
// check are terminated.
package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/conformance"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/internal/timeout"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// Options are the inputs of Run.
type Options struct {
	// Connect returns a new connection to the provider. classes is a reader that has the node class.
	Connect func(ctx context.Context, classes client.Reader) (*remote.Provider, error)
	// Class is the node class for the launches; nil means the example that the provider offers.
	Class *unstructured.Unstructured
	// Cluster has the NodeClaims of a provider with access to the cluster, and Pool is a NodePool there whose node class is
	// ready. No controller may run in the cluster.
	Cluster Cluster
	Pool    *apiv1.NodePool
	Clock   clock.Clock
	// Patience bounds each call; 0 means half a minute.
	Patience time.Duration
	// Done is called after each check.
	Done func(Line)
}

// A Cluster stores the NodeClaims of a check.
type Cluster interface {
	// Create stores a claim and sets its UID.
	Create(ctx context.Context, claim *apiv1.NodeClaim) error
	// Claim returns the claim as it is stored now.
	Claim(ctx context.Context, name string) (*apiv1.NodeClaim, error)
	// Launched writes to the claim what a controller writes after a launch.
	Launched(ctx context.Context, name string, i *cloud.Instance) error
	// Remove deletes the claim.
	Remove(ctx context.Context, name string) error
}

// A Line is the result of one check.
type Line struct {
	Check string `json:"check"`
	// Result is ok, failed or skipped.
	Result string `json:"result"`
	// Problems are the failures of the check, or the reason why it was skipped.
	Problems []string `json:"problems,omitempty"`
}

// A Report is the result of all checks.
type Report struct {
	Provider     string   `json:"provider"`
	Version      string   `json:"version"`
	NodeClasses  []string `json:"nodeClasses"`
	Capabilities []string `json:"capabilities"`
	// Missing are the parts of the protocol that the provider does not implement, with the consequences.
	Missing []string `json:"missing"`
	Lines   []Line   `json:"checks"`
	// Left are the provider IDs of instances that the checks have launched and could not end, in order.
	Left []string `json:"left,omitempty"`
}

// Failed returns the number of failed checks.
func (r Report) Failed() (n int) {
	for _, l := range r.Lines {
		if l.Result == "failed" {
			n++
		}
	}
	return n
}

// An AccessError means that the provider reads objects of its cluster, so that it cannot be checked without the cluster.
type AccessError struct{ Provider string }

func (e *AccessError) Error() string {
	return fmt.Sprintf("provider %s reads NodeClaims and node classes from its own cluster: name a NodePool there with --nodepool"+
		" while no controller runs", e.Provider)
}

// leftOut has the consequence of a missing capability.
var leftOut = map[cloudv1.Capability]string{
	cloudv1.Capability_CAPABILITY_REBOOT:       "reboot: unhealthy nodes are replaced",
	cloudv1.Capability_CAPABILITY_DRIFT:        "drift: nodes are not replaced when their node class changes",
	cloudv1.Capability_CAPABILITY_REGISTRATION: "registration: nodes are registered as soon as they join",
	cloudv1.Capability_CAPABILITY_NOTICES:      "notices: nodes whose instances are reclaimed are not drained before",
}

// Run checks a provider. Failures of checks are in the report. The error is about what prevents the checks: the
// connection, the node class, missing access to the cluster, or instances that the provider has already.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	first, err := o.Connect(ctx, &memory{})
	if err != nil {
		return Report{}, err
	}
	defer first.Close()
	info := first.Info()
	r := Report{Provider: info.Name, Version: info.Version}
	for _, k := range info.Facts.NodeClasses {
		r.NodeClasses = append(r.NodeClasses, k.Kind+"."+k.Group+"/"+k.Version)
	}
	for c := cloudv1.Capability_CAPABILITY_REBOOT; c <= cloudv1.Capability_CAPABILITY_NOTICES; c++ {
		if info.Has(c) {
			r.Capabilities = append(r.Capabilities, strings.ToLower(strings.TrimPrefix(c.String(), "CAPABILITY_")))
		} else {
			r.Missing = append(r.Missing, leftOut[c])
		}
	}
	var class *unstructured.Unstructured
	switch {
	case !info.Has(cloudv1.Capability_CAPABILITY_CLUSTER_ACCESS):
		o.Cluster = nil
		if class, err = classOf(o.Class, first); err != nil {
			return r, err
		}
	case o.Cluster == nil:
		return r, &AccessError{info.Name}
	case !info.Facts.Manages(o.Pool.Spec.Template.Spec.NodeClassRef):
		return r, fmt.Errorf("the node class of NodePool %s is none of provider %s", o.Pool.Name, info.Name)
	}
	switch list, err := first.List(ctx); {
	case err != nil:
		return r, err
	case len(list) > 0:
		return r, fmt.Errorf("the provider has instances (%d), and the check needs one without any: end them, or start the provider anew", len(list))
	}
	left := &leftovers{ids: map[string]bool{}}
	for _, check := range conformance.Checks() {
		line := one(ctx, o, check, class, info.Has(cloudv1.Capability_CAPABILITY_REBOOT), left)
		r.Lines, r.Left = append(r.Lines, line), slices.Sorted(maps.Keys(left.ids))
		if o.Done != nil {
			o.Done(line)
		}
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
	}
	return r, nil
}

// classOf returns the node class for the launches: the given one, or else the first example that the provider has.
func classOf(given *unstructured.Unstructured, p *remote.Provider) (*unstructured.Unstructured, error) {
	if given != nil {
		return given, nil
	}
	for _, k := range p.Info().Facts.NodeClasses {
		text := p.Info().Examples[k]
		if text == "" {
			continue
		}
		class := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &class.Object); err != nil {
			return nil, fmt.Errorf("read the example of kind %s: %w", k.Kind, err)
		}
		if class.GroupVersionKind() != k || class.GetName() == "" {
			return nil, fmt.Errorf("the example of kind %s is a %s named %q", k.Kind, class.GroupVersionKind(), class.GetName())
		}
		return class, nil
	}
	return nil, errors.New("the provider has no example of a node class: give one with --filename")
}

// one runs a check in a world of its own, and terminates the instances that it has launched.
func one(
	ctx context.Context, o Options, check conformance.Check, class *unstructured.Unstructured, reboots bool, left *leftovers,
) Line {
	m := &memory{class: class, claims: map[string]*apiv1.NodeClaim{}, check: o, ctx: ctx, left: left}
	defer m.close()
	result := conformance.Result{}
	guarded(&result, func() { result = check.Run(ctx, m.world(reboots)) })
	guarded(&result, func() { m.end(&result) })
	guarded(&result, func() { m.clear(&result) })
	line := Line{Check: check.Name, Result: "ok", Problems: result.Failures}
	switch {
	case len(result.Failures) > 0:
		line.Result = "failed"
	case result.Skipped != "":
		line.Result, line.Problems = "skipped", []string{result.Skipped}
	}
	return line
}

// guarded calls the function do. If do panics with a broken, guarded adds its error to the failures of the result.
func guarded(r *conformance.Result, do func()) {
	defer func() {
		if p := recover(); p != nil {
			failed, ok := p.(broken)
			if !ok {
				panic(p)
			}
			r.Failures = append(r.Failures, failed.Error())
		}
	}()
	do()
}

// broken is the value of the panic that ends a check because a function of its World failed.
type broken struct{ error }

// A memory is the cluster of one check: one node class and NodeClaims in memory, or a copy of the NodeClaims in
// Options.Cluster.
type memory struct {
	check  Options
	ctx    context.Context //nolint:containedctx // as long as the check
	class  *unstructured.Unstructured
	claims map[string]*apiv1.NodeClaim
	uids   int
	open   []*remote.Provider
	lost   atomic.Bool
	left   *leftovers
}

// world returns the world of a check.
func (m *memory) world(reboots bool) *conformance.World {
	pool := m.check.Pool
	if m.check.Cluster == nil {
		pool = &apiv1.NodePool{}
		pool.Name = "check"
		kind := m.class.GroupVersionKind()
		pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: kind.Group, Kind: kind.Kind, Name: m.class.GetName()}
	}
	return &conformance.World{
		Provider: m.provider, Pool: pool, CanReboot: reboots, Store: m.store, Load: m.load, Launched: m.launched,
		Alive: func() int { return m.alive() }, LoseAnswer: func() { m.lost.Store(true) },
		Bounded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return timeout.Context(ctx, m.check.Clock, m.check.Patience)
		},
	}
}

// provider opens another connection, as a restarted controller would.
func (m *memory) provider() cloud.Provider {
	p, err := m.check.Connect(m.ctx, m)
	if err != nil {
		panic(broken{err})
	}
	m.open = append(m.open, p)
	m.lost.Store(false)
	return &losing{Provider: p, lost: &m.lost, left: m.left}
}

// A losing provider launches instances without returning the response while lost is true. It does not list leftovers.
type losing struct {
	*remote.Provider
	lost *atomic.Bool
	left *leftovers
}

// Create implements cloud.Provider.
func (l *losing) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	i, err := l.Provider.Create(ctx, claim)
	if err == nil && l.lost.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return i, err
}

func (m *memory) close() {
	for _, p := range m.open {
		p.Close()
	}
}

func (m *memory) store(c *apiv1.NodeClaim) {
	if m.check.Cluster != nil {
		c.ResourceVersion, c.UID = "", ""
		if err := m.check.Cluster.Create(m.ctx, c); err != nil {
			panic(broken{err})
		}
		m.claims[c.Name] = c.DeepCopy()
		return
	}
	m.uids++
	// The UID differs in each run, so that the tokens derived from it differ, too.
	c.UID = types.UID(fmt.Sprintf("check-%x-%d", m.check.Clock.Now().UnixNano(), m.uids))
	m.claims[c.Name] = c.DeepCopy()
}

func (m *memory) load(name string) *apiv1.NodeClaim {
	if m.check.Cluster == nil {
		return m.claims[name].DeepCopy()
	}
	c, err := m.check.Cluster.Claim(m.ctx, name)
	if err != nil {
		panic(broken{err})
	}
	return c
}

func (m *memory) launched(name string, i *cloud.Instance) {
	if m.check.Cluster != nil {
		if err := m.check.Cluster.Launched(m.ctx, name, i); err != nil {
			panic(broken{err})
		}
		return
	}
	m.claims[name].Status.ProviderID = i.ProviderID
	condition.SetTrue(m.claims[name], apiv1.ConditionTypeLaunched, m.check.Clock.Now())
}

// alive returns how many instances the provider lists that are not being terminated. Leftovers are not counted.
func (m *memory) alive() int {
	p, err := m.check.Connect(m.ctx, m)
	if err != nil {
		panic(broken{err})
	}
	defer p.Close()
	return len(m.living(&losing{Provider: p, left: m.left}))
}

// Delete is called for an instance until it returns ErrNotFound: at most tries times, with a pause between two calls.
const (
	tries = 600
	pause = 100 * time.Millisecond
)

// end terminates the instances of all claims, and removes the claims from the cluster of the check if there is one.
func (m *memory) end(r *conformance.Result) {
	if len(m.claims) == 0 {
		return
	}
	p := m.provider()
	for name := range m.claims {
		c := m.load(name)
		var err error
		for range tries {
			if err = p.Delete(m.ctx, c); errors.Is(err, cloud.ErrNotFound) || m.ctx.Err() != nil {
				break // after any other error the call is repeated, as a controller does
			}
			timer := m.check.Clock.NewTimer(pause)
			select {
			case <-m.ctx.Done():
				timer.Stop()
			case <-timer.C():
			}
		}
		if !errors.Is(err, cloud.ErrNotFound) {
			r.Failures = append(r.Failures, fmt.Sprintf("after the check, the instance of NodeClaim %s could not be ended: %v", c.Name, err))
		}
		if m.check.Cluster == nil {
			continue
		}
		if err := m.check.Cluster.Remove(context.WithoutCancel(m.ctx), name); err != nil {
			r.Failures = append(r.Failures, fmt.Sprintf("after the check, NodeClaim %s could not be deleted: %v", name, err))
		}
	}
}

// Get implements client.Reader for the node class.
func (m *memory) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || m.class == nil || key.Name != m.class.GetName() || u.GroupVersionKind() != m.class.GroupVersionKind() {
		return apierrors.NewNotFound(schema.GroupResource{Group: o.GetObjectKind().GroupVersionKind().Group}, key.Name)
	}
	m.class.DeepCopyInto(u)
	return nil
}

// List implements client.Reader. It returns no objects.
func (m *memory) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
