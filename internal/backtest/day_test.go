package backtest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/backtest/synthetic"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
)

const nodePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
      - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["%d"]}
  disruption: {consolidateAfter: 5m, consolidationPolicy: WhenEmptyOrUnderutilized, budgets: [{nodes: 10%%}]}
`

// policyOf returns the policy of manifests.
func policyOf(t testing.TB, name, manifests string) Policy {
	t.Helper()
	set, err := manifest.Read(t.Context(), []string{manifest.Stdin}, manifest.Options{Stdin: strings.NewReader(manifests)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := offline.Assemble(set, offline.Shipped(offline.DefaultRegion), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	p, warnings := NewPolicy(name, c, pack.Options{}, disrupt.Options{})
	for _, w := range warnings {
		t.Log(w)
	}
	return p
}

func traceOf(t testing.TB, text []byte) *Trace {
	t.Helper()
	trace, err := Read("trace.csv", bytes.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Cut(time.Time{}, 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	return trace
}

// BenchmarkDay replays 24 hours of a cluster of about 1,000 nodes.
func BenchmarkDay(b *testing.B) {
	p := policyOf(b, "current", fmt.Sprintf(nodePool, 17))
	trace := traceOf(b, synthetic.Day(8_400, 1))
	for b.Loop() {
		start := time.Now()
		r, err := Replay(trace, p, DefaultSettings(), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%+v in %v", r, time.Since(start))
	}
}
