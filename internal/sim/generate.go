package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Generate makes the scenario of a seed: some pools and workloads, changes by users, and faults of all kinds. The parameter
// length is its virtual time, at least Shortest. All faults end at least 40 minutes before the end, so that the operator has
// time to recover and to settle. In scenarios of less than two hours they end at least 13 minutes before the end, which is enough
// for all invariants but settled-is-quiet.
func Generate(seed uint64, length time.Duration) *Scenario {
	g := &generator{
		Rand: rand.New(rand.NewPCG(seed, 0x67656e)), kwok: rand.New(rand.NewPCG(seed, 0x6b776f6b)).IntN(8) == 0,
		last: length - recoveryTime, lead: 12 * time.Minute, periods: max(1, int(length/period)),
	}
	if length < period {
		g.last = length - shortRecoveryTime
		g.lead = g.last / 2
	}
	s := &Scenario{
		Prose: fmt.Sprintf("Generated from seed %d.", seed), Seed: seed, Replicas: 1 + g.IntN(2),
	}
	g.flags(s)
	g.cluster(s)
	g.changes(s)
	g.faults(s)
	g.features(s)
	slices.SortStableFunc(s.Events, func(a, b Event) int { return int(a.At - b.At) })
	s.Length = length - s.End()
	return s
}

// Shortest is the least length of a generated scenario.
const Shortest = 20 * time.Minute

const (
	// period is the length for which a scenario has 4 to 11 changes and as many faults. A longer scenario has these for each period.
	// A shorter one has them in less time.
	period = 2 * time.Hour
	// recoveryTime is how long before the end of a generated scenario the last fault is over. If the scenario is shorter than period, it
	// is shortRecoveryTime.
	recoveryTime      = 40 * time.Minute
	shortRecoveryTime = 13 * time.Minute
)

// generator makes scenarios.
type generator struct {
	*rand.Rand
	// kwok is true if the provider is kwok, which has no cloud.
	kwok bool
	// last is when the last fault is over, and faults begin at least lead before that, unless they follow another event.
	last, lead time.Duration
	// periods is how many times period the scenario lasts, at least 1.
	periods     int
	pools       []string
	deployments []string
}

// chance returns true in n of 100 cases.
func (g *generator) chance(n int) bool { return g.IntN(100) < n }

// one returns one of its arguments.
func one[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) flags(s *Scenario) {
	if g.kwok {
		s.Flags = append(s.Flags, "--provider=kwok")
	}
	var gates []string
	for _, gate := range []string{"NodeRepair", "SpotToSpotConsolidation", "StaticCapacity", "TerminateFirstDrift"} {
		if g.chance(30) {
			gates = append(gates, gate+"=true")
		}
	}
	if len(gates) > 0 {
		s.Flags = append(s.Flags, "--feature-gates="+strings.Join(gates, ","))
	}
}

// class is the node class of all generated pools.
const class = `apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: sim}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: sim}}]
  role: KarpenterNodeRole-sim
`

const classWithoutCloud = `apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
`

func (g *generator) cluster(s *Scenario) {
	docs := []string{class}
	if g.kwok {
		docs = []string{classWithoutCloud}
	}
	for i := range 1 + g.IntN(2) {
		docs = append(docs, g.pool(fmt.Sprintf("pool-%d", i), i == 0))
	}
	for i := range 2 + g.IntN(4) {
		docs = append(docs, g.deployment(fmt.Sprintf("web-%d", i)))
	}
	if g.chance(60) {
		docs = append(docs, daemonSet)
	}
	if g.chance(40) {
		docs = append(docs, storageClass, g.statefulSet())
	}
	if g.chance(30) {
		docs = append(docs, g.job())
	}
	if g.chance(25) {
		docs = append(docs, g.odd())
	}
	s.Files = append(s.Files, File{"cluster.yaml", strings.Join(docs, "---\n")})
}

// pool returns a NodePool. The first one has no limits and takes all pods, so that every pod can run.
func (g *generator) pool(name string, first bool) string {
	g.pools = append(g.pools, name)
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: %s}\nspec:\n", name)
	if !first {
		fmt.Fprintf(&b, "  weight: %d\n  limits: {cpu: %d}\n", one(g, 1, 10, 50), one(g, 8, 24, 64))
	}
	fmt.Fprintf(&b, "  disruption:\n    consolidateAfter: %s\n    consolidationPolicy: %s\n    budgets:\n", one(g, "0s", "30s", "2m"),
		one(g, "WhenEmptyOrUnderutilized", "WhenEmptyOrUnderutilized", "WhenEmpty"))
	fmt.Fprintf(&b, "    - {nodes: %q}\n", one(g, "10%", "1", "2", "30%", "100%"))
	if g.chance(25) {
		fmt.Fprintf(&b, "    - {nodes: %q, reasons: [%s]}\n", one(g, "0", "1"), one(g, "Drifted", "Underutilized", "Empty"))
	}
	ref := "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"
	if g.kwok {
		ref = "{group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}"
	}
	fmt.Fprintf(&b, "  template:\n    metadata: {annotations: {example.com/owner: team}}\n    spec:\n      nodeClassRef: %s\n", ref)
	if g.chance(25) {
		fmt.Fprintf(&b, "      expireAfter: %s\n", one(g, "25m", "45m"))
	}
	if g.chance(40) {
		fmt.Fprintf(&b, "      terminationGracePeriod: %s\n", one(g, "2m", "10m"))
	}
	b.WriteString("      requirements:\n")
	fmt.Fprintf(&b, "      - {key: karpenter.sh/capacity-type, operator: In, values: [%s]}\n", one(g, "spot, on-demand", "spot, on-demand", "on-demand"))
	if g.kwok {
		b.WriteString("      - {key: kubernetes.io/os, operator: In, values: [linux]}\n")
	} else if g.chance(50) {
		fmt.Fprintf(&b, "      - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: [%q]}\n", one(g, "9", "17"))
	}
	return b.String()
}

func (g *generator) deployment(name string) string {
	g.deployments = append(g.deployments, name)
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: default}\nspec:\n  replicas: %d\n", name, 1+g.IntN(12))
	fmt.Fprintf(&b, "  selector: {matchLabels: {app: %s}}\n  template:\n    metadata:\n      labels: {app: %s}\n", name, name)
	if g.chance(8) {
		b.WriteString("      annotations: {karpenter.sh/do-not-disrupt: \"true\"}\n")
	}
	b.WriteString("    spec:\n")
	if g.chance(50) {
		fmt.Fprintf(&b, "      terminationGracePeriodSeconds: %d\n", one(g, 0, 5, 60, 300))
	}
	switch g.IntN(5) {
	case 0:
		fmt.Fprintf(&b, "      topologySpreadConstraints:\n      - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: %s, labelSelector: {matchLabels: {app: %s}}}\n",
			one(g, "DoNotSchedule", "ScheduleAnyway"), name)
	case 1:
		fmt.Fprintf(&b, "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %s}}}]}}\n", name)
	case 2:
		fmt.Fprintf(&b, "      nodeSelector: {karpenter.sh/capacity-type: on-demand}\n")
	}
	fmt.Fprintf(&b, "      containers: [{name: c, image: c, resources: {requests: {cpu: %dm, memory: %dMi}}}]\n", one(g, 100, 250, 500, 1000, 1900, 3500), one(g, 128, 512, 1024, 4096))
	if g.chance(40) {
		fmt.Fprintf(&b, "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %s, namespace: default}\nspec:\n  maxUnavailable: %s\n  selector: {matchLabels: {app: %s}}\n",
			name, one(g, "1", "\"30%\""), name)
	}
	return b.String()
}

const daemonSet = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: c, resources: {requests: {cpu: 50m, memory: 64Mi}}}]
`

const storageClass = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
`

func (g *generator) statefulSet() string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  replicas: %d
  serviceName: db
  podManagementPolicy: %s
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: c, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: disks, resources: {requests: {storage: 10Gi}}}
`, 1+g.IntN(3), one(g, "OrderedReady", "Parallel"))
}

func (g *generator) job() string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: batch, namespace: default}
spec:
  completions: %d
  parallelism: %d
  template:
    metadata: {annotations: {sim/runs-for: %q}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]
`, 2+g.IntN(10), 1+g.IntN(5), one(g, "30s", "5m"))
}

// odd returns pods with absurd values that the API server accepts.
func (g *generator) odd() string {
	annotations, pod, cpu := "sim/ends-after: 2s", "", "100m"
	switch g.IntN(3) {
	case 0: // no node runs them
		annotations += ", " + expectPending + ": \"true\""
		cpu = one(g, "10P", "5Ei")
		pod = one(g, "", "      nodeSelector: {nowhere: nothing}\n")
	case 1: // outlives every deadline
		annotations += ", karpenter.sh/do-not-disrupt: \"true\""
		pod = "      terminationGracePeriodSeconds: 10000000000\n"
	case 2:
		annotations += ", karpenter.sh/do-not-disrupt: soon"
		pod = "      tolerations: [{operator: Exists}]\n"
	}
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: odd, namespace: default}
spec:
  replicas: %d
  selector: {matchLabels: {app: odd}}
  template:
    metadata:
      labels: {app: odd}
      annotations: {%s}
    spec:
%s      containers:
      - {name: a, image: a, resources: {requests: {cpu: 500m}}}
      - {name: b, image: b, resources: {requests: {cpu: %s}}}
`, 1+g.IntN(3), annotations, pod, cpu)
}

// between returns a random time in whole seconds between two times.
func (g *generator) between(low, high time.Duration) time.Duration {
	return (low + time.Duration(g.Int64N(int64(high-low)))).Truncate(time.Second)
}

// changes adds actions of users: they scale and update Deployments, and delete claims and nodes.
func (g *generator) changes(s *Scenario) {
	for range g.periods * (4 + g.IntN(8)) {
		e := Event{At: g.between(time.Minute, g.last-time.Minute)}
		name := g.deployments[g.IntN(len(g.deployments))]
		switch g.IntN(11) {
		case 0, 1, 2, 3, 4, 5:
			e.Verb, e.Args = "scale", []string{name, fmt.Sprint(g.IntN(16))}
		case 10:
			e.Verb, e.Args = "load", []string{name, fmt.Sprint(1 + g.IntN(8))}
			e.For = g.between(time.Minute, min(30*time.Minute, g.last-e.At))
		case 6, 7:
			e.Verb, e.Args = "rollout", []string{name}
		case 8:
			e.Verb, e.Args = "delete-claims", []string{one(g, "1", "2")}
		case 9:
			e.Verb, e.Args = "delete-nodes", []string{"1"}
		}
		s.Events = append(s.Events, e)
	}
}

// faults adds random faults. Many races need several events within seconds, so half of the faults happen within a minute of
// the begin or end of another event.
func (g *generator) faults(s *Scenario) {
	all := Faults()
	if g.kwok {
		cloud := cloudVerbs()
		all = slices.DeleteFunc(all, func(name string) bool { _, ok := cloud[name]; return ok || name == "break-class" })
	}
	for range g.periods * (4 + g.IntN(8)) {
		e := Event{At: g.between(10*time.Second, g.last-g.lead), Verb: all[g.IntN(len(all))]}
		if g.chance(50) {
			e.At = g.near(s.Events[g.IntN(len(s.Events))])
		}
		g.fill(&e)
		if verbs()[e.Verb].lasts {
			e.For = g.between(time.Second, min(one(g, 20*time.Second, 2*time.Minute, 10*time.Minute), g.last-e.At))
		}
		s.Events = append(s.Events, e)
	}
}

// near returns a time from 10 seconds before to 50 seconds after the beginning or the end of an event, within the bounds
// for faults.
func (g *generator) near(e Event) time.Duration {
	at := e.At + one(g, 0, e.For)
	return min(max(at+g.between(-10*time.Second, 50*time.Second), time.Second), g.last-time.Minute)
}

// fill gives a fault its arguments.
func (g *generator) fill(e *Event) {
	rate := func() string { return one(g, "0.05", "0.2", "0.5") }
	zone := func() string { return one(g, "us-east-1a", "us-east-1b", "us-east-1c") }
	switch e.Verb {
	case "break-pool":
		e.Args = []string{g.pools[g.IntN(len(g.pools))]}
	case "break-class":
		e.Args = []string{"default"}
	case "api-errors", "api-lost":
		e.Args = []string{rate()}
	case "api-slow", "cloud-slow":
		e.Args = []string{one(g, "300ms", "2s", "10s")}
	case "watch-delay":
		e.Args = []string{one(g, "500ms", "3s", "20s", "3m")}
		if g.chance(60) {
			e.Args = append(e.Args, one(g, "pods", "nodes", "nodeclaims"))
		}
	case "watch-cut", "watch-gap":
		if g.chance(50) {
			e.Args = []string{one(g, "pods", "nodes", "nodeclaims", "nodepools")}
		}
	case "cloud-errors", "cloud-lost", "cloud-hang":
		e.Args = []string{one(g, rate(), "1")}
		if g.chance(60) {
			e.Args = append(e.Args, one(g, "CreateFleet", "TerminateInstances", "DescribeInstances", "ReceiveMessage", "DeleteMessageBatch", "DescribeSpotPriceHistory"))
		}
	case "throttle":
		e.Args = []string{one(g, "CreateFleet", "*", "Describe*"), one(g, "0.2", "1")}
	case "lag":
		e.Args = []string{one(g, "2s", "15s")}
	case "no-capacity":
		e.Args = []string{one(g, "*/"+zone()+"/*", "c5.*/*/*", "*/*/spot", "m5.large/"+zone()+"/*")}
	case "quota":
		e.Args = []string{one(g, "spot", "on-demand"), one(g, "8", "32")}
	case "boot-slow":
		e.Args = []string{one(g, "30s", "3m")}
	case "boot-never":
		e.Args = []string{one(g, "c5.*", "*")}
	case "interrupt", "instance-dies", "node-dies", "node-unready", "lose-claims":
		e.Args = []string{one(g, "1", "2")}
	case "spot-storm":
		e.Args = []string{zone()}
	case "price":
		e.Args = []string{one(g, "c5.*/", "m5.*/") + zone(), one(g, "0.01", "5")}
	case "crash-after":
		e.Args = []string{one(g, "0", "1", "3", "10")}
	case "clock-jump":
		e.Args = []string{one(g, "1m", "30m", "5h")}
	}
}
