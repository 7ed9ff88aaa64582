// Package conformance states the contract with a cloud as a list of checks. Among others it checks: a claim is launched
// once, also if the process crashes during the launch; the instance meets the claim's requirements; a lack of capacity is
// reported with its error type and remembered; calls return when their context ends.
//
// The checks run in tests (package cloudtest), and in a program against a provider that is already running.
package conformance

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// A World gives the checks access to a cloud and an API server. A function that cannot continue panics or ends
// its goroutine.
type World struct {
	// Provider starts a provider in this world, as a new process would. The provider that it started before
	// is not used any more.
	Provider func() cloud.Provider
	// Pool is the NodePool for the claims of the checks. It is stored in the API server, and its node class
	// is ready.
	Pool *apiv1.NodePool
	// Store stores a new claim in the API server, and updates claim to the stored object, with its UID.
	Store func(claim *apiv1.NodeClaim)
	// Load reads the claim with the name from the API server.
	Load func(name string) *apiv1.NodeClaim
	// Launched writes the result of a launch to the status of the stored claim, as a controller does.
	Launched func(name string, i *cloud.Instance)
	// Alive returns the number of instances whose termination has not begun.
	Alive func() int
	// Bounded returns a context that ends after the longest time that a call may take. It is not an assertion about
	// speed.
	Bounded func(context.Context) (context.Context, context.CancelFunc)

	// NamesNodes is whether Create returns the name of the node. Nil means that it is not known and not
	// checked.
	NamesNodes *bool
	// Exhaust takes all capacity of an offering away. It is nil if the cloud cannot run out.
	Exhaust func(Offering)
	// CanReboot is whether the cloud can reboot instances. Reboots returns how often an instance was rebooted. It is nil if
	// that number is not known.
	CanReboot bool
	Reboots   func(providerID string) int
	// LoseAnswer makes launches happen without a response to the provider, until Provider is called again. It is nil if the
	// cloud cannot do that.
	LoseAnswer func()
}

// An Offering names a type, a zone and a capacity type.
type Offering struct{ Type, Zone, CapacityType string }

// A Check is one rule of the contract.
type Check struct {
	// Name is the rule in a few words.
	Name string
	test func(t *T, h *World)
}

// Checks returns all checks in the order in which they run.
func Checks() []Check {
	return []Check{
		{"facts are complete", testFacts},
		{"instance types are well formed", testTypes},
		{"create launches what the claim requires", testCreate},
		{"create respects requests", testRequests},
		{"create returns the name of the node", testNodeName},
		{"create twice returns one instance", testTwice},
		{"concurrent creates launch one instance per claim", testMany},
		{"create after a restart returns the instance", testRestart},
		{"create after a lost response returns the instance", testLostAnswer},
		{"create after a crash returns one instance per claim", testCrash},
		{"get, list and delete agree", testLife},
		{"reboot reaches the instance", testReboot},
		{"delete finds an instance that was never recorded", testDeleteUnnoted},
		{"an instance that does not exist is not found", testNotFound},
		{"a claim that nothing meets is out of capacity", testImpossible},
		{"an exhausted offering is reported and remembered", testExhausted},
		{"a missing node class is not ready", testMissingClass},
		{"a fresh instance has not drifted", testFresh},
		{"cancelled calls return", testCancelled},
	}
}

// A Result is what a check has found.
type Result struct {
	// Failures describe how the rule was broken. The list is empty if it was not.
	Failures []string
	// Skipped is the reason why the check does not apply, empty if it applies.
	Skipped string
}

// Run runs the check in the world and returns its result.
func (c Check) Run(ctx context.Context, h *World) (r Result) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &T{ctx: ctx, limit: h.Bounded, result: &r}
	defer func() {
		for _, done := range t.ends {
			done()
		}
		if p := recover(); p != nil && p != (stopped{}) {
			panic(p)
		}
	}()
	c.test(t, h)
	return r
}

// A T collects what a check finds.
type T struct {
	ctx    context.Context //nolint:containedctx // as long as the check
	limit  func(context.Context) (context.Context, context.CancelFunc)
	ends   []func()
	mu     sync.Mutex // guards result
	result *Result
}

// stopped is the value of the panic that ends a check early.
type stopped struct{}

// bounded returns a context for one call. It ends when the call has taken too long, or with the check.
func (t *T) bounded() context.Context {
	ctx, cancel := t.limit(t.ctx)
	t.ends = append(t.ends, cancel)
	return ctx
}

// Errorf records a failure of the check.
func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Failures = append(t.result.Failures, fmt.Sprintf(format, args...))
}

// Error records a failure of the check.
func (t *T) Error(args ...any) { t.Errorf("%s", fmt.Sprint(args...)) }

// Fatalf records a failure of the check and ends it.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(stopped{})
}

// Fatal records a failure of the check and ends it.
func (t *T) Fatal(args ...any) {
	t.Error(args...)
	panic(stopped{})
}

// Skip ends a check that does not apply.
func (t *T) Skip(reason string) {
	t.result.Skipped = reason
	panic(stopped{})
}

// claim stores a claim of the pool that requests 1 CPU, with the requirements reqs.
func (h *World) claim(_ *T, name string, reqs ...apiv1.NodeSelectorRequirementWithMinValues) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{}
	c.Name = name
	c.Labels = map[string]string{apiv1.NodePoolLabelKey: h.Pool.Name}
	c.Spec.NodeClassRef = h.Pool.Spec.Template.Spec.NodeClassRef
	c.Spec.Requirements = append(append([]apiv1.NodeSelectorRequirementWithMinValues{}, h.Pool.Spec.Template.Spec.Requirements...), reqs...)
	c.Spec.Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("2"),
	}
	h.Store(c)
	return c
}

// in is a requirement that a label has one of values.
func in(key string, values ...string) apiv1.NodeSelectorRequirementWithMinValues {
	return apiv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}
