package act

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

func plannedNode() model.PlannedNode {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Labels = map[string]string{"team": "blue"}
	pool.Spec.Template.Annotations = map[string]string{"owner": "us"}
	pool.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoSchedule}}
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
		{Key: "tier", Operator: corev1.NodeSelectorOpIn, Values: []string{"gold", "silver"}},
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
	}
	p := model.NewPool(pool, nil)
	offer := func(ct string, available bool) model.Offering {
		return model.Offering{
			Zone: "a", CapacityType: ct, Available: available,
			Requirements: require.FromLabels(map[string]string{corev1.LabelTopologyZone: "a", apiv1.CapacityTypeLabelKey: ct}),
		}
	}
	return model.PlannedNode{
		Pool: p, Requirements: p.Requirements, Requests: model.Resources{"cpu": 1500, "memory": 1 << 30, "pods": 2},
		Options: []*model.InstanceType{
			{Name: "z.large", Offerings: []model.Offering{offer("spot", false), offer("on-demand", true)}},
			{Name: "a.large", Offerings: []model.Offering{offer("on-demand", true)}},
		},
	}
}

func TestClaimFor(t *testing.T) {
	n := plannedNode()
	c := ClaimFor(&n, apiv1.CoreLabels())
	reqs := require.FromSpec(c.Spec.Requirements)
	for key, want := range map[string]string{
		corev1.LabelInstanceTypeStable: "[a.large z.large]",
		apiv1.CapacityTypeLabelKey:     "[on-demand]", // no offering of spot is available
		corev1.LabelTopologyZone:       "[a b]",
		apiv1.NodePoolLabelKey:         "[default]",
	} {
		r, _ := reqs.Get(key)
		if got := fmt.Sprint(r.Values()); got != want {
			t.Errorf("requirement %s is %s, want %s", key, got, want)
		}
	}
	if c.Labels["tier"] != "gold" || c.Labels["team"] != "blue" || c.Labels[corev1.LabelTopologyZone] != "" {
		t.Errorf("labels %v: want a value for the user's own key, none for a well-known one", c.Labels)
	}
	if c.Annotations["owner"] != "us" || len(c.Spec.StartupTaints) != 1 {
		t.Errorf("template's annotations or start-up taints are lost: %v %v", c.Annotations, c.Spec.StartupTaints)
	}
	if got := c.Spec.Resources.Requests.Cpu().String(); got != "1500m" {
		t.Errorf("requests %s cpu, want 1500m", got)
	}
}

// Launch returns the claims that it created, even if the creation of another claim failed.
func TestLaunchPartly(t *testing.T) {
	var calls atomic.Int32 // claims are created in parallel
	c := fake.NewClientBuilder().WithScheme(api.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetLabels()["fail"] != "" {
				return errors.New("refused")
			}
			calls.Add(1)
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	bad := plannedNode()
	bad.Pool.Labels["fail"] = "yes"
	launches, err := (&Actor{Client: c, Labels: apiv1.CoreLabels()}).Launch(t.Context(), &model.Plan{
		Nodes: []model.PlannedNode{plannedNode(), bad, plannedNode()},
	})
	if err == nil || len(launches) != 2 || calls.Load() != 2 {
		t.Errorf("%d launched, error %v; want 2 and an error", len(launches), err)
	}
}

// If the answer to a creation is lost, the claim is sent again under the same name: there is one claim, whether the first request
// created it or not. A claim of another writer that has the name is not used.
func TestLaunchWithoutAnswer(t *testing.T) {
	for _, x := range []struct {
		name    string
		arrives bool // the first request is carried out
		err     error
		want    int // launches
		calls   int32
	}{
		{"carried out", true, io.ErrUnexpectedEOF, 1, 2},
		{"not carried out", false, io.ErrUnexpectedEOF, 1, 2},
		{"timed out", true, apierrors.NewTimeoutError("too slow", 1), 1, 2},
		{"internal error, carried out", true, apierrors.NewInternalError(errors.New("etcdserver: request timed out")), 1, 2},
		{"internal error, not carried out", false, apierrors.NewInternalError(errors.New("etcdserver: no leader")), 1, 2},
		{"refused", false, apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("quota")), 0, 1},
		{"name in use", false, apierrors.NewAlreadyExists(schema.GroupResource{}, "x"), 0, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			var calls atomic.Int32
			c := fake.NewClientBuilder().WithScheme(api.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if calls.Add(1) > 1 {
						return c.Create(ctx, o, opts...)
					}
					if x.arrives {
						if err := c.Create(ctx, o.DeepCopyObject().(client.Object), opts...); err != nil {
							return err
						}
					}
					return x.err
				},
			}).Build()
			launches, err := (&Actor{Client: c, Labels: apiv1.CoreLabels()}).Launch(t.Context(), &model.Plan{
				Nodes: []model.PlannedNode{plannedNode()},
			})
			if (err == nil) != (x.want == 1) || len(launches) != x.want || calls.Load() != x.calls {
				t.Fatalf("%d launches after %d calls, error %v", len(launches), calls.Load(), err)
			}
			var claims apiv1.NodeClaimList
			if err := c.List(t.Context(), &claims); err != nil {
				t.Fatal(err)
			}
			if len(claims.Items) != x.want || x.want == 1 && (claims.Items[0].Name != launches[0].Claim.Name || launches[0].Claim.ResourceVersion == "") {
				t.Errorf("claims %v, launched %v", claims.Items, launches)
			}
		})
	}
}

// The claim of a planned node waits for nominations only if the node is for pending pods and the Actor nominates.
func TestLaunchWaitsForNominations(t *testing.T) {
	forPods := plannedNode()
	forPods.Pods = []*model.Pod{{Object: &corev1.Pod{}}}
	for _, nominates := range []bool{true, false} {
		a := &Actor{Client: fake.NewClientBuilder().WithScheme(api.Scheme()).Build(), Labels: apiv1.CoreLabels(), Nominates: nominates}
		launches, err := a.Launch(t.Context(), &model.Plan{Nodes: []model.PlannedNode{forPods, plannedNode()}})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{nominates, false} {
			if _, waits := launches[i].Claim.Annotations[apiv1.PodsNominatedToAnnotationKey]; waits != want {
				t.Errorf("nominates %t: claim %d waits for nominations: %t, want %t", nominates, i, waits, want)
			}
		}
	}
}

// Record returns the claims that are deleted or being deleted. It annotates the others.
func TestLedgerReturnsClaimsThatEnd(t *testing.T) {
	a := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	b := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "b", Annotations: map[string]string{"kept": "yes"}}}
	ending := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "ending", Finalizers: []string{"x/y"}}}
	c := fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(a, b, ending).Build()
	stale := readClaim(t, c, "ending")
	if err := c.Delete(t.Context(), ending); err != nil {
		t.Fatal(err)
	}
	missing := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "missing", ResourceVersion: "1"}}
	a, b = readClaim(t, c, "a"), readClaim(t, c, "b")
	l := Ledger{Client: c, Live: c}
	gone, err := l.Record(t.Context(), []*apiv1.NodeClaim{a, missing, stale, b}, map[string]string{"token": "1"})
	if err != nil || !slices.Equal(gone, []*apiv1.NodeClaim{missing, stale}) {
		t.Fatalf("gone %v, error %v", gone, err)
	}
	var got apiv1.NodeClaim
	if err := c.Get(t.Context(), client.ObjectKey{Name: "b"}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Annotations["token"] != "1" || got.Annotations["kept"] != "yes" {
		t.Errorf("annotations are %v", got.Annotations)
	}
}

// Record annotates a claim that changed since it was read, unless another process recorded a launch on it.
func TestLedgerOfTwoProcesses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*apiv1.NodeClaim)
		stored string
		failed bool
	}{
		{"another label", func(c *apiv1.NodeClaim) { c.Labels = map[string]string{"a": "b"} }, "mine", false},
		{"a launch of another process", func(c *apiv1.NodeClaim) { c.Annotations = map[string]string{"token": "theirs"} }, "theirs", true},
		{"the same launch, whose answer was lost", func(c *apiv1.NodeClaim) { c.Annotations = map[string]string{"token": "mine"} }, "mine", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Build()
			stale, fresh := readClaim(t, c, "a"), readClaim(t, c, "a")
			tt.change(fresh)
			if err := c.Update(t.Context(), fresh); err != nil {
				t.Fatal(err)
			}
			gone, err := Ledger{Client: c, Live: c}.Record(t.Context(), []*apiv1.NodeClaim{stale}, map[string]string{"token": "mine"})
			var elsewhere *RecordedElsewhereError
			if len(gone) != 0 || errors.As(err, &elsewhere) != tt.failed || (err != nil) != tt.failed {
				t.Errorf("gone %v, error %v", gone, err)
			}
			if got := readClaim(t, c, "a").Annotations["token"]; got != tt.stored {
				t.Errorf("stored is %q, want %q", got, tt.stored)
			}
		})
	}
}

// readClaim reads the claim from c.
func readClaim(t *testing.T, c client.Client, name string) *apiv1.NodeClaim {
	t.Helper()
	claim := &apiv1.NodeClaim{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

// A failed write is returned as an error. The other claims are written nevertheless.
func TestLedgerFails(t *testing.T) {
	a, b := &apiv1.NodeClaim{}, &apiv1.NodeClaim{}
	a.Name, b.Name = "a", "b"
	c := fake.NewClientBuilder().WithScheme(api.Scheme()).WithObjects(a, b).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if o.GetName() == "a" {
				return errors.New("no answer")
			}
			return w.Patch(ctx, o, p, options...)
		},
	}).Build()
	a, b = readClaim(t, c, "a"), readClaim(t, c, "b")
	gone, err := Ledger{Client: c, Live: c}.Record(t.Context(), []*apiv1.NodeClaim{a, b}, map[string]string{"token": "1"})
	if err == nil || len(gone) != 0 || b.Annotations["token"] != "1" || b.ResourceVersion == "" {
		t.Errorf("gone %v, error %v, recorded on b: %v", gone, err, b.Annotations)
	}
}
