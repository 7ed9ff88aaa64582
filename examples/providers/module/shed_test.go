package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr/testr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/cloud/cloudtest"
	"github.com/karpenter-go/karpenter/cloud/conformance"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote"
	"github.com/karpenter-go/karpenter/provider/remote/check"
	"github.com/karpenter-go/karpenter/provider/remote/serve"
)

// one is a cluster with one node class.
type one struct {
	client.Reader
	class *unstructured.Unstructured
}

func (o one) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if key.Name != o.class.GetName() {
		return (&serve.Classes{}).Get(ctx, key, into) // not found
	}
	o.class.DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

// The provider keeps the contract in its own process.
func TestConformance(t *testing.T) {
	cloudtest.Run(t, func(*testing.T) *cloudtest.Harness {
		shed := &Shed{Classes: one{class: example()}, Clock: clock.RealClock{}}
		pool, stored := &apiv1.NodePool{}, map[string]*apiv1.NodeClaim{}
		pool.Name = "default"
		pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: kind.Group, Kind: kind.Kind, Name: "default"}
		return &cloudtest.Harness{
			Pool:     pool,
			Provider: func(*testing.T) cloud.Provider { return shed },
			Store: func(_ *testing.T, c *apiv1.NodeClaim) {
				c.UID = types.UID("uid-" + c.Name)
				stored[c.Name] = c.DeepCopy()
			},
			Load:     func(_ *testing.T, name string) *apiv1.NodeClaim { return stored[name].DeepCopy() },
			Launched: func(_ *testing.T, name string, i *cloud.Instance) { stored[name].Status.ProviderID = i.ProviderID },
			Alive: func(t *testing.T) int {
				all, err := shed.List(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return len(all)
			},
		}
	})
}

// It also keeps the contract over a socket, as karpenter provider check sees it.
func TestCheck(t *testing.T) {
	dir, err := os.MkdirTemp("", "shed") // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := serve.New(config(testr.New(t))).Register(nil)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-served })
	report, err := check.Run(t.Context(), check.Options{
		Clock: clock.RealClock{},
		Connect: func(ctx context.Context, reader client.Reader) (*remote.Provider, error) {
			return remote.Connect(ctx, remote.Config{
				Address: "unix://" + listener.Addr().String(), Reader: reader, Clock: clock.RealClock{}, Metrics: remote.NewMetrics(nil),
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range report.Lines {
		if line.Result == "failed" {
			t.Errorf("%s: %v", line.Check, line.Problems)
		}
	}
	if want := len(conformance.Checks()); len(report.Lines) != want {
		t.Errorf("%d checks ran, want %d", len(report.Lines), want)
	}
}

// A node class without an image is refused, with a text for its condition.
func TestValidate(t *testing.T) {
	class := example()
	delete(class.Object, "spec")
	text, err := class.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	server := serve.New(config(testr.New(t)))
	answer, err := server.ValidateNodeClass(t.Context(), &cloudv1.ValidateNodeClassRequest{NodeClassJson: string(text)})
	if err != nil || answer.GetFailure().GetKind() != cloudv1.FailureKind_FAILURE_KIND_NODE_CLASS_NOT_READY {
		t.Errorf("answer is %v, %v", answer, err)
	}
}
