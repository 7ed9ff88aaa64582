package costledger_test

import (
	"context"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/internal/controller/costledger"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

func cluster(t *testing.T) *model.Snapshot {
	t.Helper()
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}}, Types: []scenario.Type{{Name: "m", CPU: "2", Memory: "8Gi", Price: 0.25}},
		Nodes: []scenario.Node{{Name: "n", Pool: "default", Type: "m"}},
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reconcile(t *testing.T, c *costledger.Controller) time.Duration {
	t.Helper()
	r, err := c.Reconcile(t.Context(), ctrl.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return r.RequeueAfter
}

// A new controller continues the ledger that another one stored. Stored data that cannot be decoded are overwritten.
func TestStores(t *testing.T) {
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	s := cluster(t)
	for hour := 1; hour <= 3; hour++ { // a new controller in each hour
		l := ledger.New(nil, "")
		c := &costledger.Controller{Ledger: l, Client: api, Reader: api, Namespace: "kube-system"}
		l.Observe(s.At(s.Now.Add(-time.Minute)), ledger.Decision{}) // not counted before the stored ledger is restored
		if again := reconcile(t, c); again <= 0 {
			t.Fatal("it does not come again")
		}
		from := time.Duration(hour-1) * time.Hour
		for _, minute := range []time.Duration{0, 20, 60} {
			l.Observe(s.At(s.Now.Add(from+minute*time.Minute)), ledger.Decision{})
		}
		reconcile(t, c)
		var stored corev1.ConfigMap
		if err := api.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: ledger.MapName}, &stored); err != nil {
			t.Fatal(err)
		}
		saved, err := ledger.Decode(stored.BinaryData[ledger.MapKey])
		if err != nil {
			t.Fatal(err)
		}
		if got := saved.Report(ledger.Query{}).Dollars; math.Abs(got-0.25*float64(hour)) > 1e-9 {
			t.Errorf("after %d hours: $%v", hour, got)
		}
	}
	broken := &corev1.ConfigMap{BinaryData: map[string][]byte{ledger.MapKey: []byte("?")}}
	broken.Namespace, broken.Name = "other", ledger.MapName
	if err := api.Create(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	l := ledger.New(nil, "")
	c := &costledger.Controller{Ledger: l, Client: api, Reader: api, Namespace: "other"}
	reconcile(t, c)
	l.Observe(s, ledger.Decision{})
	reconcile(t, c)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(broken), broken); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Decode(broken.BinaryData[ledger.MapKey]); err != nil {
		t.Error(err)
	}
}

// Without the permission to read or write the ConfigMap, costs are counted in memory.
func TestForbidden(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, ledger.MapName, nil)
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return forbidden
		},
	}).Build()
	s := cluster(t)
	l := ledger.New(nil, "")
	c := &costledger.Controller{Ledger: l, Client: api, Reader: api, Namespace: "kube-system"}
	for i := range 3 {
		if again := reconcile(t, c); again <= 0 {
			t.Fatal("it does not come again")
		}
		l.Observe(s.At(s.Now.Add(time.Duration(i)*time.Hour)), ledger.Decision{})
	}
	if got := l.Save().Report(ledger.Query{}).Dollars; math.Abs(got-0.5) > 1e-9 {
		t.Errorf("$%v, want 0.5", got)
	}
}

// If the permission is granted later, the ledger of earlier processes is continued, not overwritten.
func TestPermissionIsGrantedLater(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, ledger.MapName, nil)
	granted := false
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if !granted {
				return forbidden
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	s := cluster(t)
	earlier := ledger.New(nil, "")
	earlier.Begin()
	for i := range 3 {
		earlier.Observe(s.At(s.Now.Add(time.Duration(i)*time.Hour)), ledger.Decision{})
	}
	saved := earlier.Save()
	text, err := saved.Encode()
	if err != nil {
		t.Fatal(err)
	}
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: ledger.MapName}, BinaryData: map[string][]byte{ledger.MapKey: text}}
	if err := api.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	l := ledger.New(nil, "")
	c := &costledger.Controller{Ledger: l, Client: api, Reader: api, Namespace: "kube-system"}
	reconcile(t, c)
	l.Observe(s.At(s.Now.Add(3*time.Hour)), ledger.Decision{})
	granted = true
	for i := range 3 {
		reconcile(t, c)
		l.Observe(s.At(s.Now.Add(time.Duration(4+i)*time.Hour)), ledger.Decision{})
	}
	want := saved.Report(ledger.Query{}).Dollars + 2*0.25 // the two hours between the last three observations
	if got := l.Save().Report(ledger.Query{}).Dollars; math.Abs(got-want) > 1e-9 {
		t.Errorf("$%v, want $%v", got, want)
	}
}
