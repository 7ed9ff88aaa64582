package provision

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/multiplex"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
)

// another is a second cloud with a label and node classes of its own.
type another struct{ *fakecloud.Cloud }

const anotherLabel = "another.example.com/rack"

func (another) Name() string { return "another" }

func (a another) Facts() cloud.Facts {
	f := a.Cloud.Facts()
	f.NodeClasses = []schema.GroupVersionKind{{Group: "another.example.com", Version: "v1", Kind: "AnotherNodeClass"}}
	f.Labels = apiv1.CoreLabels()
	f.Labels.WellKnown.Insert(anotherLabel)
	return f
}

func (a another) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	return a.Cloud.InstanceTypes(ctx, pool)
}

// NodePools of two clouds are used in one plan. The weight of the NodePools, or else the price, decides which cloud
// launches a node. If one cloud fails, the other one launches the nodes.
func TestTwoClouds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		price  float64 // of the types of the other cloud; those of the first cost 0.1
		weight int32   // of the pool of the first cloud
		fault  error   // of the other cloud
		want   string
	}{
		{"the other is cheaper", 0.05, 0, nil, "another"},
		{"the other is dearer", 0.2, 0, nil, "default"},
		{"the other is cheaper and the first has the higher weight", 0.05, 10, nil, "default"},
		{"the other is cheaper and not ready", 0.05, 0, &cloud.NodeClassNotReadyError{Err: errors.New("does not answer")}, "default"},
		{"the other is cheaper and fails", 0.05, 0, errors.New("internal error"), "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.cloud.Types = []*cloud.InstanceType{typeOf("small", 2, 0.1)}
			other := another{&fakecloud.Cloud{Types: []*cloud.InstanceType{typeOf("tiny", 2, tt.price)}, TypesErr: tt.fault}}
			both, err := multiplex.New(w.cloud, other)
			if err != nil {
				t.Fatal(err)
			}
			w.Cloud = both
			labels := both.Facts().Labels
			w.Options.Labels, w.Actor.Labels = labels, labels
			for name, ref := range map[string]*apiv1.NodeClassReference{
				"default": fakecloud.Ref("class"), "another": {Group: "another.example.com", Kind: "AnotherNodeClass", Name: "class"},
			} {
				pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
				pool.Spec.Template.Spec.NodeClassRef = ref
				if name == "default" && tt.weight > 0 {
					pool.Spec.Weight = &tt.weight
				}
				pool.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}}
				w.Cluster.Set(pool)
			}
			w.pend("web", 1, 1)
			w.reconcile()
			w.clock.Step(w.BatchMax)
			w.reconcile()
			claims := w.claims()
			if len(claims) != 1 {
				t.Fatalf("%d claims are created, want 1; events %v", len(claims), *w.events)
			}
			if got := claims[0].Labels[apiv1.NodePoolLabelKey]; got != tt.want {
				t.Errorf("the node is of NodePool %s, want %s", got, tt.want)
			}
			if _, err := both.Create(t.Context(), &claims[0]); err != nil {
				t.Fatal(err)
			}
			launched := map[string]int{"default": len(mustList(t, w.cloud)), "another": len(mustList(t, other.Cloud))}
			if launched[tt.want] != 1 || launched["default"]+launched["another"] != 1 {
				t.Errorf("instances by cloud: %v, want one in that of NodePool %s", launched, tt.want)
			}
		})
	}
}

func mustList(t *testing.T, p cloud.Provider) []*cloud.Instance {
	t.Helper()
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}
