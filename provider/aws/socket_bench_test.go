package aws_test

import (
	"fmt"
	"testing"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/provider/remote/remotetest"
)

// What a socket costs for AWS: the same calls in the process and over a socket. The emulated AWS answers at once, so the
// difference between the two is the socket.
func BenchmarkSocket(b *testing.B) {
	for _, place := range []string{"in process", "over socket"} {
		b.Run(place, func(b *testing.B) {
			w := worldOf(b, awsemu.Config{})
			var p cloud.Provider = w.start(b)
			if place == "over socket" {
				p = remotetest.Over(b, p, w.kube)
			}
			n := 0
			launch := func() (*cloud.Instance, string) {
				n++
				c := w.claim(fmt.Sprint("claim-", n))
				w.store(b, c)
				i, err := p.Create(b.Context(), c)
				if err != nil {
					b.Fatal(err)
				}
				w.launched(b, c.Name, i)
				return i, c.Name
			}
			b.Run("InstanceTypes", func(b *testing.B) {
				for b.Loop() {
					if types, err := p.InstanceTypes(b.Context(), pool()); err != nil || len(types) < 500 {
						b.Fatalf("%d types, %v", len(types), err)
					}
				}
			})
			b.Run("CreateAndDelete", func(b *testing.B) {
				for b.Loop() {
					_, name := launch()
					if err := p.Delete(b.Context(), w.load(b, name)); err != nil {
						b.Fatal(err)
					}
				}
			})
			i, name := launch()
			b.Run("Get", func(b *testing.B) {
				for b.Loop() {
					if _, err := p.Get(b.Context(), i.ProviderID); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("Drift", func(b *testing.B) {
				c := w.load(b, name)
				for b.Loop() {
					if _, err := p.Drift(b.Context(), c); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("List", func(b *testing.B) {
				for b.Loop() {
					if _, err := p.List(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
