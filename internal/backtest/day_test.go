package backtest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// day returns a trace of 24 hours as CSV: services whose number of replicas follows the time of day, and jobs that run for
// minutes. pods is the number of pods of the services at noon.
func day(pods int, seed uint64) []byte {
	d := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	b.WriteString("name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,owner\n")
	const length = 24 * 3600
	number := 0
	line := func(owner string, cpu, memory, from, to int) {
		number++
		end := ""
		if to < length {
			end = fmt.Sprint(to)
		}
		fmt.Fprintf(&b, "p%d,%d,%d,0,0,%d,%s,%s\n", number, cpu, memory, from, end, owner)
	}
	sizes := []int{250, 500, 1000, 2000, 4000}
	for app := range max(1, pods/50) {
		cpu := sizes[d.IntN(len(sizes))]
		memory := cpu * (1 + d.IntN(6))
		var running []int // creation times
		peak := 10 + d.IntN(81)
		for minute := range 24 * 60 {
			now := minute * 60
			share := 0.45 - 0.55*math.Cos(2*math.Pi*float64(minute)/1440)/1.0
			want := max(2, int(float64(peak)*min(1, max(0.2, share+0.1*d.Float64()))))
			if minute%15 != app%15 && minute > 0 {
				continue
			}
			for len(running) > want {
				line(fmt.Sprint("app-", app), cpu, memory, running[0], now+d.IntN(60))
				running = running[1:]
			}
			for len(running) < want {
				at := now
				if minute > 0 {
					at += d.IntN(60)
				}
				running = append(running, at)
			}
		}
		for _, at := range running {
			line(fmt.Sprint("app-", app), cpu, memory, at, length)
		}
	}
	for range pods {
		from := d.IntN(length)
		cpu := sizes[d.IntN(len(sizes))]
		line("job", cpu, cpu*2, from, from+60+d.IntN(3600))
	}
	return b.Bytes()
}

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
	trace := traceOf(b, day(8_400, 1))
	for b.Loop() {
		start := time.Now()
		r := Replay(trace, p, DefaultSettings(), nil)
		b.Logf("%+v in %v", r, time.Since(start))
	}
}
