package disk

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/remote/remotetest"
)

// BenchmarkSocket compares the same calls in the process and over a socket.
func BenchmarkSocket(b *testing.B) {
	for _, place := range []string{"in process", "over socket"} {
		b.Run(place, func(b *testing.B) {
			var p cloud.Provider = &Provider{Root: b.TempDir(), Classes: classes{}, Clock: clock.RealClock{}}
			if place == "over socket" {
				p = remotetest.Over(b, p, classes{})
			}
			pool := &apiv1.NodePool{}
			pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: NodeClassKind.Group, Kind: NodeClassKind.Kind, Name: "default"}
			b.Run("InstanceTypes", func(b *testing.B) {
				for b.Loop() {
					if _, err := p.InstanceTypes(b.Context(), pool); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("CreateAndDelete", func(b *testing.B) {
				for n := 0; b.Loop(); n++ {
					c := &apiv1.NodeClaim{}
					c.Name, c.UID = fmt.Sprint("c", n), "uid"
					c.Spec.NodeClassRef = pool.Spec.Template.Spec.NodeClassRef
					if _, err := p.Create(b.Context(), c); err != nil {
						b.Fatal(err)
					}
					if err := p.Delete(b.Context(), c); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("Get", func(b *testing.B) {
				for b.Loop() {
					_, _ = p.Get(b.Context(), prefix+"none")
				}
			})
		})
	}
}

// classes is a reader for which every node class exists.
type classes struct{ client.Reader }

func (classes) Get(_ context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return nil
}
