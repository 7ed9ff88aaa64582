package remote_test

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// The first start needs a running provider. Later starts can use the facts that were stored at the last one.
func TestStartWithoutProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := corev1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(schema.GroupVersionKind{Group: "script.example.com", Version: "v1", Kind: "ScriptNodeClass"}, meta.RESTScopeRoot)
		mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
		kube := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).Build()
		l := &line{}
		c := config(l)
		c.Client, c.Reader, c.Namespace = kube, kube, "kube-system"
		if p, err := remote.Connect(t.Context(), c); err == nil {
			p.Close()
			t.Fatal("the first start without the provider succeeds")
		}
		info, err := (&scripted{}).GetInfo(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		info.NodeClassKinds[0].LaunchTimeout = durationpb.New(20 * time.Minute)
		l.start(&scripted{info: info})
		p, err := remote.Connect(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		l.kill()
		p, err = remote.Connect(t.Context(), c)
		if err != nil {
			t.Fatalf("the second start without the provider: %v", err)
		}
		defer p.Close()
		if p.Name() != "script" || len(p.Facts().NodeClasses) != 1 {
			t.Errorf("the provider is %s with %v", p.Name(), p.Facts().NodeClasses)
		}
		stored, err := remote.StoredLaunchTimeouts(t.Context(), kube, "kube-system")
		if err != nil || len(stored) != 1 || stored[schema.GroupKind{Group: "script.example.com", Kind: "ScriptNodeClass"}] != 20*time.Minute {
			t.Errorf("the stored launch timeouts are %v, %v", stored, err)
		}
		if stored, err := remote.StoredLaunchTimeouts(t.Context(), kube, "default"); err != nil || len(stored) > 0 {
			t.Errorf("in a namespace without a controller, the launch timeouts are %v, %v", stored, err)
		}
	})
}

// If the facts about a provider are invalid, the start fails.
func TestLiesAboutFacts(t *testing.T) {
	for name, lie := range map[string]func(m *cloudv1.GetInfoResponse){
		"no name":            func(m *cloudv1.GetInfoResponse) { m.Name = "" },
		"name of a label":    func(m *cloudv1.GetInfoResponse) { m.Name = "Toy Cloud" },
		"no kind":            func(m *cloudv1.GetInfoResponse) { m.NodeClassKinds = nil },
		"kind of Karpenter":  func(m *cloudv1.GetInfoResponse) { m.NodeClassKinds[0].Group = "karpenter.sh" },
		"label of Karpenter": func(m *cloudv1.GetInfoResponse) { m.Labels = []*cloudv1.Label{{Key: "karpenter.sh/registered"}} },
		"empty prefix":       func(m *cloudv1.GetInfoResponse) { m.ProviderIdPrefixes = []string{""} },
		"policy without type": func(m *cloudv1.GetInfoResponse) {
			m.RepairPolicies = []*cloudv1.RepairPolicy{{ConditionStatus: "True"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{}
				m, err := s.GetInfo(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				lie(m)
				s.info = m
				l := &line{}
				l.start(s)
				defer l.kill()
				if p, err := remote.Connect(t.Context(), config(l)); err == nil {
					p.Close()
					t.Error("the provider is accepted")
				}
			})
		})
	}
}
