package multiplex

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A part is a cloud with one kind of node class, one label and one instance.
type part struct {
	cloud.Provider
	name, prefix string
	err          error
	types        []*cloud.InstanceType
	deleted      []string
}

func (p *part) Delete(_ context.Context, claim *apiv1.NodeClaim) error {
	if _, err := p.Get(context.Background(), claim.Status.ProviderID); err != nil {
		return err
	}
	p.deleted = append(p.deleted, claim.Status.ProviderID)
	return nil
}

func (p *part) Name() string  { return p.name }
func (p *part) label() string { return p.name + ".example.com/rack" }

func (p *part) Facts() cloud.Facts {
	f := cloud.Facts{Labels: apiv1.CoreLabels(), NodeClasses: []schema.GroupVersionKind{{Group: p.name + ".example.com", Version: "v1", Kind: "Class"}}}
	f.Labels.WellKnown.Insert(p.label())
	if p.prefix != "" {
		f.ProviderIDPrefixes = []string{p.prefix}
	}
	f.RepairPolicies = []cloud.RepairPolicy{{
		ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, Action: cloud.ReplaceNode, TolerationDuration: time.Duration(len(p.name)) * time.Minute,
	}}
	f.LaunchTimeouts = map[schema.GroupKind]time.Duration{f.NodeClasses[0].GroupKind(): time.Duration(len(p.name)) * time.Hour}
	return f
}

func (p *part) ref() *apiv1.NodeClassReference {
	return &apiv1.NodeClassReference{Group: p.name + ".example.com", Kind: "Class", Name: "default"}
}

func (p *part) InstanceTypes(context.Context, *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	return p.types, p.err
}

func (p *part) List(context.Context) ([]*cloud.Instance, error) {
	return []*cloud.Instance{{ProviderID: p.name + "://1"}}, p.err
}

func (p *part) Get(_ context.Context, id string) (*cloud.Instance, error) {
	if p.err != nil {
		return nil, p.err
	}
	if id != p.name+"://1" {
		return nil, cloud.ErrNotFound
	}
	return &cloud.Instance{ProviderID: id}, nil
}

func TestRefused(t *testing.T) {
	a := &part{name: "a", prefix: "a://"}
	for want, parts := range map[string][]cloud.Provider{
		"the name a":             {a, a},
		"node classes of kind":   {a, a},
		"that begin with a://x/": {a, &part{name: "b", prefix: "a://x/"}},
	} {
		if _, err := New(parts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one about %q", err, want)
		}
	}
}

func TestTypesLackLabelsOfOthers(t *testing.T) {
	a, b := &part{name: "a", types: []*cloud.InstanceType{{Name: "x", Requirements: require.NewSet(require.New("a.example.com/rack", require.In, "1"))}}}, &part{name: "b"}
	p, err := New(a, b)
	if err != nil {
		t.Fatal(err)
	}
	pool := &apiv1.NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = a.ref()
	types, err := p.InstanceTypes(t.Context(), pool)
	if err != nil || len(types) != 1 {
		t.Fatal(types, err)
	}
	if r, _ := types[0].Requirements.Get(b.label()); r.Operator() != require.DoesNotExist {
		t.Errorf("the type requires %v, want that the label of the other cloud does not exist", r)
	}
	if r, _ := types[0].Requirements.Get(a.label()); !r.Has("1") {
		t.Errorf("its own label is %v", r)
	}
	if again, _ := p.InstanceTypes(t.Context(), pool); again[0] != types[0] {
		t.Error("the same type is another one the second time")
	}
	pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "c.example.com", Kind: "Class"}
	var unready *cloud.NodeClassNotReadyError
	if _, err := p.InstanceTypes(t.Context(), pool); !errors.As(err, &unready) {
		t.Errorf("types of an unknown class: %v", err)
	}
}

// If one part fails, List returns the instances of the others. Get of an instance of that part returns its
// error and not ErrNotFound.
func TestOneFails(t *testing.T) {
	a, b, open := &part{name: "a", prefix: "a://"}, &part{name: "b", prefix: "b://", err: errors.New("does not answer")}, &part{name: "open"}
	p, err := New(a, b, open)
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("list gives %v, %v", list, err)
	}
	for id, want := range map[string]error{"a://1": nil, "open://1": nil, "a://2": cloud.ErrNotFound, "b://1": b.err} {
		if _, err := p.Get(t.Context(), id); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("get %s: %v, want %v", id, err, want)
		}
	}
	a.err, open.err = b.err, b.err
	if list, err := p.List(t.Context()); err == nil {
		t.Errorf("list gives %v although all fail", list)
	}
}

// A node whose claim does not exist any more is known by its provider ID alone.
func TestDeleteWithoutNodeClass(t *testing.T) {
	for _, prefixes := range []bool{false, true} {
		a, b := &part{name: "a"}, &part{name: "bb"}
		if prefixes {
			a.prefix, b.prefix = "a://", "bb://"
		}
		p, err := New(a, b)
		if err != nil {
			t.Fatal(err)
		}
		claim := &apiv1.NodeClaim{}
		claim.Status.ProviderID = "bb://1"
		if err := p.Delete(t.Context(), claim); err != nil || len(a.deleted) != 0 || len(b.deleted) != 1 {
			t.Errorf("delete: %v, deleted by a %v, by bb %v", err, a.deleted, b.deleted)
		}
		claim.Status.ProviderID = "bb://2"
		if err := p.Delete(t.Context(), claim); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("delete of an instance that does not exist: %v, want %v", err, cloud.ErrNotFound)
		}
		b.err = errors.New("no answer")
		if err := p.Delete(t.Context(), claim); err == nil || errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("delete while the cloud does not answer: %v, want its error", err)
		}
	}
}

// The launch timeout is that of the part.
func TestLaunchTimeoutIsOfThePart(t *testing.T) {
	short, long := &part{name: "a"}, &part{name: "bb"}
	p, err := New(short, long)
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[*part]time.Duration{short: time.Hour, long: 2 * time.Hour} {
		if got := p.Facts().LaunchTimeout(part.ref()); got != want {
			t.Errorf("launches of %s may take %v, want %v", part.name, got, want)
		}
	}
}

// Each part repairs its own nodes by its own rules.
func TestRepairIsOfThePart(t *testing.T) {
	p, err := New(&part{name: "a"}, &part{name: "long"})
	if err != nil {
		t.Fatal(err)
	}
	policies, err := repair.Compile(p.Facts().RepairPolicies)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]time.Duration{"a": time.Minute, "long": 4 * time.Minute} {
		node := &corev1.Node{}
		node.Labels = map[string]string{name + ".example.com/class": "default"}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		matches := policies.Matches(node, nil)
		if len(matches) != 1 || matches[0].TolerationDuration != want {
			t.Errorf("node of %s matches %v, want a toleration of %s", name, matches, want)
		}
	}
	if n := len(policies.Matches(&corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}}}, nil)); n != 0 {
		t.Errorf("a node of no part matches %d policies", n)
	}
}
