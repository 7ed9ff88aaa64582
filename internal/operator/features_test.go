package operator

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
)

// A featureManager has what featuresOf needs of a manager.
type featureManager struct {
	ctrl.Manager
	client client.Client
	mapper meta.RESTMapper
}

func (m featureManager) GetClient() client.Client       { return m.client }
func (m featureManager) GetRESTMapper() meta.RESTMapper { return m.mapper }

// reviewed returns a manager whose API server answers reviews of access by allow.
func reviewed(t *testing.T, allow func(*authorizationv1.ResourceAttributes) (bool, error)) featureManager {
	t.Helper()
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return featureManager{
		client: fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) (err error) {
				review := o.(*authorizationv1.SelfSubjectAccessReview)
				review.Status.Allowed, err = allow(review.Spec.ResourceAttributes)
				return err
			},
		}).Build(),
		mapper: testrestmapper.TestOnlyStaticRESTMapper(scheme),
	}
}

// allFeatures returns settings with every optional feature.
func allFeatures() *settings.Settings {
	s := &settings.Settings{}
	s.FeatureGates.NodeOverlay, s.FeatureGates.CapacityBuffer = true, true
	s.Scheduler.PodTopologySpread.DefaultConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone}}
	return s
}

// A feature that reads or watches a kind that the controller may not list and watch is off, or does without that kind. Otherwise the
// first read of the kind would block for ever.
func TestFeaturesWithoutPermission(t *testing.T) {
	type on struct{ overlays, buffers, quotas, daemons, slices bool }
	all := on{true, true, true, true, true}
	for _, tt := range []struct {
		group, resource string
		want            on
		spread          int // resources that default spread constraints read
	}{
		{resource: "", want: all, spread: 4},
		{resource: "services", want: all, spread: 3},
		{resource: "replicationcontrollers", want: all, spread: 3},
		{group: "apps", resource: "replicasets", want: on{true, false, false, true, true}, spread: 3},
		{group: "apps", resource: "statefulsets", want: on{true, false, false, true, true}, spread: 3},
		{group: "apps", resource: "deployments", want: on{true, false, false, true, true}, spread: 4},
		{resource: "podtemplates", want: on{true, false, false, true, true}, spread: 4},
		{resource: "resourcequotas", want: on{true, true, false, true, true}, spread: 4},
		{group: "autoscaling.x-k8s.io", resource: "capacitybuffers", want: on{true, false, false, true, true}, spread: 4},
		{group: "karpenter.sh", resource: "nodeoverlays", want: on{false, true, true, true, true}, spread: 4},
		{group: "resource.k8s.io", resource: "resourceslices", want: on{true, true, true, true, false}, spread: 4},
		{resource: "limitranges", want: on{true, true, true, false, true}, spread: 4},
	} {
		for _, verb := range []string{"list", "watch"} {
			t.Run("may not "+verb+" "+tt.resource, func(t *testing.T) {
				mgr := reviewed(t, func(a *authorizationv1.ResourceAttributes) (bool, error) {
					return a.Verb != verb || a.Resource != tt.resource || a.Group != tt.group, nil
				})
				f, err := featuresOf(t.Context(), mgr, allFeatures(), logr.Discard())
				if err != nil {
					t.Fatal(err)
				}
				got := on{f.overlays != nil, f.buffers != nil, f.buffers != nil && f.buffers.Quotas, f.daemons != nil, f.slices}
				if got != tt.want || len(f.spread.Readable) != tt.spread {
					t.Errorf("on: %+v, spread reads %d resources, want %+v and %d", got, len(f.spread.Readable), tt.want, tt.spread)
				}
			})
		}
	}
}

// Without the setting there is no feature. Kubernetes before 1.34 does not serve ResourceSlices of version v1.
func TestFeaturesOff(t *testing.T) {
	mgr := reviewed(t, func(*authorizationv1.ResourceAttributes) (bool, error) { return true, nil })
	f, err := featuresOf(t.Context(), mgr, &settings.Settings{IgnoreDRARequests: true}, logr.Discard())
	if err != nil || f.slices || f.overlays != nil || f.buffers != nil || f.spread != nil {
		t.Errorf("features %+v, error %v", f, err)
	}
	old := runtime.NewScheme()
	old.AddKnownTypes(schema.GroupVersion{Version: "v1"}, &corev1.Pod{})
	mgr.mapper = testrestmapper.TestOnlyStaticRESTMapper(old)
	f, err = featuresOf(t.Context(), mgr, allFeatures(), logr.Discard())
	if err != nil || f.slices || f.overlays != nil || f.buffers != nil || f.spread == nil {
		t.Errorf("on a server that serves none of the kinds: features %+v, error %v", f, err)
	}
}

// An API server that does not answer is no refusal.
func TestFeaturesWithoutAnswer(t *testing.T) {
	refused := errors.New("connection refused")
	mgr := reviewed(t, func(*authorizationv1.ResourceAttributes) (bool, error) { return false, refused })
	if _, err := featuresOf(t.Context(), mgr, allFeatures(), logr.Discard()); !errors.Is(err, refused) {
		t.Errorf("error %v, want %v", err, refused)
	}
}
