package compile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
)

// The index finds the groups of exactly those ports that conflict.
func TestPortIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	port := func() catalog.Port {
		p := catalog.Port{Number: int32(1 + rng.IntN(3)), Protocol: []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}[rng.IntN(2)]}
		if n := rng.IntN(4); n > 0 {
			p.IP = fmt.Sprintf("10.0.0.%d", n)
		}
		return p
	}
	for range 200 {
		var x portIndex
		var ports []catalog.Port
		for range rng.IntN(12) {
			if p := port(); !slices.Contains(ports, p) {
				x.add(p, len(ports))
				ports = append(ports, p)
			}
		}
		q := port()
		var want []int
		for i, p := range ports {
			if p.Conflicts(q) {
				want = append(want, i)
			}
		}
		got := x.appendConflicts(nil, q)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("ports %v: %v conflicts with %v, want %v", ports, q, got, want)
		}
	}
}
