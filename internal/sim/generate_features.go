package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/internal/sim/cluster"
)

// features adds what not every cluster has: drift, static NodePools, CapacityBuffers, capacity reservations, NodeOverlays, startup taints,
// pods that depend on each other, protected pods and nodes, system pods, maintenance of hosts, new images, and budgets with schedules. It has random numbers of its own, so the rest of a scenario does not depend on it.
func (g *generator) features(s *Scenario) {
	f := *g
	f.Rand = rand.New(rand.NewPCG(s.Seed, 0x66656174))
	for _, add := range []struct {
		chance int // in percent
		cloud  bool
		to     func(*Scenario)
	}{
		{20, false, f.drift}, {12, false, f.staticPool}, {12, false, f.buffer}, {20, true, f.reserved}, {15, true, f.overlay}, {30, false, f.neighbors},
		{15, false, f.agents}, {25, false, f.protections}, {20, false, f.system},
		{15, true, f.maintenance}, {15, true, f.images}, {20, false, f.windows},
	} {
		if f.chance(add.chance) && !(add.cloud && f.kwok) {
			add.to(s)
		}
	}
}

// gate switches a feature gate on.
func (g *generator) gate(s *Scenario, name string) {
	const flag = "--feature-gates="
	for i, f := range s.Flags {
		if strings.HasPrefix(f, flag) {
			if !strings.Contains(f, name+"=") {
				s.Flags[i] = f + "," + name + "=true"
			}
			return
		}
	}
	s.Flags = append(s.Flags, flag+name+"=true")
}

// later adds up to n actions of users, at least one, at random times.
func (g *generator) later(s *Scenario, n int, verb string, args func() []string) {
	for range 1 + g.IntN(n) {
		s.Events = append(s.Events, Event{At: g.between(time.Minute, g.last-time.Minute), Verb: verb, Args: args()})
	}
}

func (g *generator) drift(s *Scenario) {
	g.later(s, 2*g.periods, "relabel", func() []string {
		return []string{g.pools[g.IntN(len(g.pools))], one(g, "first", "second")}
	})
}

func (g *generator) staticPool(s *Scenario) {
	g.gate(s, "StaticCapacity")
	pool := g.pool("static", true)
	g.pools = g.pools[:len(g.pools)-1]
	s.addDocuments(strings.Replace(pool, "spec:\n", fmt.Sprintf("spec:\n  replicas: %d\n", g.IntN(4)), 1))
	g.later(s, 3*g.periods, "replicas", func() []string { return []string{"static", fmt.Sprint(g.IntN(5))} })
	if g.chance(40) {
		g.later(s, 1, "relabel", func() []string { return []string{"static", "first"} })
	}
}

func (g *generator) buffer(s *Scenario) {
	g.gate(s, "CapacityBuffer")
	if g.chance(50) {
		s.addDocuments(fmt.Sprintf(`apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: default}
spec:
  scalableRef: {apiGroup: apps, kind: Deployment, name: %s}
  percentage: %d
`, g.deployments[g.IntN(len(g.deployments))], one(g, 10, 50)))
	} else {
		s.addDocuments(fmt.Sprintf(`apiVersion: v1
kind: PodTemplate
metadata: {name: spare, namespace: default}
template:
  metadata: {labels: {app: spare}}
  spec:
    containers: [{name: c, image: c, resources: {requests: {cpu: %dm, memory: %dMi}}}]
`, one(g, 250, 1000, 3500), one(g, 512, 4096)), fmt.Sprintf(`apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: default}
spec:
  podTemplateRef: {name: spare}
  replicas: %d
`, 1+g.IntN(4)))
	}
	g.later(s, 2*g.periods, "buffer", func() []string { return []string{"spare", fmt.Sprint(g.IntN(6))} })
}

// reserved adds capacity reservations, and lets the node class and the NodePools use them.
func (g *generator) reserved(s *Scenario) {
	docs := s.documents()
	for i, doc := range docs {
		doc = strings.Replace(doc, "  role: ", "  capacityReservationSelectorTerms: [{tags: {karpenter.sh/discovery: sim}}]\n  role: ", 1)
		docs[i] = strings.Replace(doc, "values: [spot, on-demand]", "values: [reserved, spot, on-demand]", 1)
		docs[i] = strings.Replace(docs[i], "values: [on-demand]", "values: [reserved, on-demand]", 1)
	}
	s.setDocuments(docs)
	reserve := func() []string {
		return []string{one(g, "m5.large", "m5.xlarge", "c5.xlarge", "r5.large") + "/" + one(g, "us-east-1a", "us-east-1b"), fmt.Sprint(1 + g.IntN(4))}
	}
	s.Events = append(s.Events, Event{At: time.Second, Verb: "reserve", Args: reserve()})
	g.later(s, 2, "reserve", reserve)
	if g.chance(50) {
		g.later(s, 2, "cancel", func() []string { return []string{"1"} })
	}
}

// overlay adds a NodeOverlay that makes a family of instance types dearer or cheaper, and may delete it again.
func (g *generator) overlay(s *Scenario) {
	g.gate(s, "NodeOverlay")
	s.Files = append(s.Files, File{"overlay.yaml", fmt.Sprintf(`apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: family}
spec:
  requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [%s]}]
  priceAdjustment: %q
`, one(g, "c5", "m5", "t3"), one(g, "+50%", "-40%"))})
	at := g.between(time.Minute, g.last-2*time.Minute)
	s.Events = append(s.Events, Event{At: at, Verb: "apply", Args: []string{"overlay.yaml"}})
	if g.chance(50) {
		s.Events = append(s.Events, Event{At: g.between(at, g.last-time.Minute), Verb: "delete", Args: []string{"nodeoverlay", "family"}})
	}
}

// neighbors adds pods that depend on the zone or on the node of others, or on a port of their node.
func (g *generator) neighbors(s *Scenario) {
	needs := one(g,
		"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: near}}}]}}",
		"affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web-0}}}}]}}",
		"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, podAffinityTerm: {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: near}}}}]}}",
		"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web-0}}}]}}",
	)
	port := one(g, "", "", ", ports: [{containerPort: 80, hostPort: 8080}]")
	s.addDocuments(fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: near, namespace: default}
spec:
  replicas: %d
  selector: {matchLabels: {app: near}}
  template:
    metadata: {labels: {app: near}}
    spec:
      %s
      containers: [{name: c, image: c, resources: {requests: {cpu: %dm, memory: 256Mi}}%s}]
`, 1+g.IntN(6), needs, one(g, 200, 900), port))
	g.later(s, 2*g.periods, "scale", func() []string { return []string{"near", fmt.Sprint(g.IntN(8))} })
}

// protections lets users set karpenter.sh/do-not-disrupt of pods and nodes for a while.
func (g *generator) protections(s *Scenario) {
	for range 1 + g.IntN(2*g.periods) {
		at := g.between(time.Minute, g.last-2*time.Minute)
		s.Events = append(s.Events, Event{
			At: at, Verb: one(g, "protect-pods", "protect-nodes"), Args: []string{one(g, "1", "2")}, For: g.between(time.Minute, min(30*time.Minute, g.last-at)),
		})
	}
}

// system adds pods that a drain evicts after the others: those of a DaemonSet without tolerations, and critical ones.
func (g *generator) system(s *Scenario) {
	s.addDocuments(`apiVersion: apps/v1
kind: DaemonSet
metadata: {name: shipper, namespace: kube-system}
spec:
  selector: {matchLabels: {app: shipper}}
  template:
    metadata: {labels: {app: shipper}}
    spec:
      containers: [{name: c, image: c, resources: {requests: {cpu: 20m, memory: 32Mi}}}]
`, fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: dns, namespace: kube-system}
spec:
  replicas: %d
  selector: {matchLabels: {app: dns}}
  template:
    metadata: {labels: {app: dns}}
    spec:
      priorityClassName: system-cluster-critical
      containers: [{name: c, image: c, resources: {requests: {cpu: 100m, memory: 70Mi}}}]
`, 1+g.IntN(2)))
}

// maintenance announces the retirement of hosts.
func (g *generator) maintenance(s *Scenario) {
	g.later(s, 2*g.periods, "maintenance", func() []string { return []string{one(g, "1", "2", "3")} })
}

// images releases a newer image. The operator looks for one once an hour, so shorter scenarios have none.
func (g *generator) images(s *Scenario) {
	const noticed = 62 * time.Minute
	if g.last > noticed+2*time.Minute {
		s.Events = append(s.Events, Event{At: g.between(time.Minute, g.last-noticed), Verb: "release-images", For: noticed})
	}
}

// windows adds to each NodePool a budget that applies at certain times only.
func (g *generator) windows(s *Scenario) {
	docs := s.documents()
	for i, doc := range docs {
		if strings.Contains(doc, "kind: NodePool\n") {
			budget := fmt.Sprintf("    - {nodes: %q, schedule: %q, duration: %s}\n", one(g, "0", "1"), one(g, "*/10 * * * *", "5,25,45 * * * *", "@hourly"), one(g, "3m", "8m"))
			docs[i] = strings.Replace(doc, "    budgets:\n", "    budgets:\n"+budget, 1)
		}
	}
	s.setDocuments(docs)
}

// agents adds a startup taint to the NodePools. On each node, an agent removes it some time after the node is ready.
func (g *generator) agents(s *Scenario) {
	docs := s.documents()
	for i, doc := range docs {
		if strings.Contains(doc, "kind: NodePool\n") {
			docs[i] = strings.Replace(doc, "      nodeClassRef: ", fmt.Sprintf("      startupTaints: [{key: %s, effect: NoSchedule}]\n      nodeClassRef: ", cluster.AgentTaint), 1)
		}
	}
	s.setDocuments(docs)
}
