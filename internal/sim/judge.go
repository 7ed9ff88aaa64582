package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// The invariants. docs/reliability.md states each in one sentence.
const (
	rulePodsRun           = "pods-run"
	ruleOrphan            = "no-orphan-instance"
	ruleOnce              = "launched-once"
	ruleFinalizers        = "instances-end-before-claims"
	ruleClasses           = "classes-outlive-claims"
	ruleEnds              = "claims-end-before-instances"
	ruleStrangers         = "only-own-instances"
	ruleDescribed         = "labels-describe-instances"
	ruleAsClass           = "instances-match-classes"
	ruleTagged            = "instances-are-tagged"
	ruleNotices           = "notices-are-followed"
	ruleBudget            = "budgets"
	rulePolicy            = "policies-hold"
	ruleInitialized       = "only-initialized-nodes"
	ruleReason            = "claims-end-for-a-reason"
	ruleDearer            = "never-dearer"
	ruleLimits            = "limits"
	ruleEviction          = "evictions-are-allowed"
	ruleDrained           = "drained-before-the-end"
	ruleDeadline          = "deadlines-hold"
	ruleDemand            = "no-node-without-demand"
	ruleIdle              = "idle-nodes-go"
	ruleLeft              = "no-replacement-left-over"
	ruleConverges         = "consolidation-ends"
	ruleReserved          = "reservations"
	ruleStatic            = "static-pools"
	ruleHeadroom          = "headroom-is-kept"
	ruleTold              = "buffer-conditions-hold"
	ruleProtected         = "protected-nodes-stay"
	ruleConsolidateAfter  = "consolidate-after"
	ruleReplacementsFirst = "replacements-come-first"
	ruleOutlives          = "claims-follow-instances"
	ruleRegisters         = "claims-register"
	ruleExpires           = "claims-expire"
	ruleDrift             = "drift-is-noticed"
	ruleMetadata          = "nodes-have-their-metadata"
	ruleTaints            = "taints-are-removed"
	ruleVolumes           = "volumes-are-detached"
	ruleQuiet             = "settled-is-quiet"
	ruleCallRate          = "calls-are-bounded"
	ruleMemory            = "memory-is-bounded"
	ruleNoPanic           = "no-internal-error"
)

const (
	// periodicBound is how long a state may last that a periodic check of the operator ends, such as an instance without a claim. It
	// covers the interval of the checks, the age up to which they leave objects alone, and delays of calls.
	periodicBound = 4 * time.Minute
	// recovery is how long the operator has after the last fault until all pods run.
	recovery = 10 * time.Minute
	// settled is the time after the last fault from which on the operator must write nothing any more. Before that,
	// consolidation waits for consolidateAfter, and evaluates every candidate once more.
	settled = 25 * time.Minute
	// lookEvery is the interval at which the judge checks the whole world.
	lookEvery = 10 * time.Second
)

// judge checks the invariants. Each part checks those of one kind and has the state for them.
type judge struct {
	world      *World
	violations []Violation
	began      time.Time
	// since is when a state that must not last was first seen, by rule and name. seen has the states that the present call of
	// look has found.
	since map[string]time.Time
	seen  map[string]bool

	fleet      fleetRules
	instances  instanceRules
	moves      moveRules
	drains     drainRules
	demand     demandRules
	supply     supplyRules
	claims     claimRules
	protection protectionRules
	quiet      quietRules
	memory     memoryRules
}

func newJudge(w *World) *judge {
	j := &judge{world: w, began: time.Now(), since: map[string]time.Time{}}
	j.fleet = newFleetRules(j)
	j.instances = newInstanceRules(j)
	j.moves = moveRules{judge: j, marked: map[string]string{}, moves: map[string]*costs{}, matching: map[string]time.Time{}}
	j.drains = drainRules{judge: j, asked: map[types.UID]bool{}}
	j.demand = newDemandRules(j)
	j.supply = supplyRules{j}
	j.claims = claimRules{j}
	j.protection = newProtectionRules(j)
	j.quiet = newQuietRules(j)
	j.memory = newMemoryRules(j)
	return j
}

// violate notes a violation.
func (j *judge) violate(rule, format string, args ...any) {
	j.violations = append(j.violations, Violation{At: time.Since(j.began), Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// start makes the judge look at the world again and again until end.
func (j *judge) start(end time.Time) {
	var look func()
	look = func() {
		if len(j.violations) > 0 {
			return
		}
		j.look()
		if time.Now().Add(lookEvery).Before(end) {
			j.world.driver.After(lookEvery, look)
		}
	}
	j.world.driver.After(lookEvery, look)
}

// undisturbed returns for how long no event has happened and no fault has been active.
func (j *judge) undisturbed() time.Duration { return j.sinceFault(j.world.faults.disturbed) }

// unhampered returns for how long nothing has kept the operator from its work.
func (j *judge) unhampered() time.Duration { return j.sinceFault(j.world.faults.hampered) }

func (j *judge) sinceFault(last time.Time) time.Duration {
	p := j.world.processes
	if len(p.starting) > 0 || len(p.replicas) == 0 {
		return 0
	}
	return time.Since(later(last, p.started))
}

// lasts notes that a state that must not last holds now for the object with the name. It returns for how long it has held
// without any event or fault.
func (j *judge) lasts(rule, name string) time.Duration {
	k := rule + " " + name
	j.seen[k] = true
	if j.since[k].IsZero() {
		j.since[k] = time.Now()
	}
	return min(time.Since(j.since[k]), j.undisturbed())
}

// lastsInSpite is lasts, but of the faults only those end the time that keep the operator from its work.
func (j *judge) lastsInSpite(rule, name string) time.Duration {
	j.lasts(rule, name)
	return min(time.Since(j.since[rule+" "+name]), j.unhampered())
}

// behind reports whether a replica has not received all events about the kinds, which are plural names.
func (j *judge) behind(kinds ...string) bool {
	return slices.ContainsFunc(j.world.processes.running(), func(r *replica) bool {
		return slices.ContainsFunc(kinds, func(kind string) bool {
			_, behind := r.link.behind(kind)
			return behind
		})
	})
}

// look checks the invariants about the state of the world. Others are checked when an object is written or a call is made.
func (j *judge) look() {
	j.seen = map[string]bool{}
	j.quiet.look()
	j.fleet.look()
	j.drains.look()
	j.demand.look()
	j.supply.look()
	j.claims.look()
	j.memory.look()
	for k := range j.since {
		if !j.seen[k] {
			delete(j.since, k)
		}
	}
}

// unaware is how long the calls of a replica are not checked after its clock jumped. It may act by the wrong time until an
// answer of the API server has the right one. A simulated jump also moves the monotonic clock of the replica, because only a
// whole time.Time can be moved. On a real machine, the monotonic clock does not jump.
const unaware = 2 * time.Second

// wrongClock reports whether a replica may act by a wrong time, because its clock just jumped.
func (j *judge) wrongClock() bool { return time.Since(j.world.processes.jumped) < unaware }

// call checks a call of a replica to the API server before it is carried out.
func (j *judge) call(l *link, q *kubeapi.Request) {
	if j.wrongClock() {
		return
	}
	if q.Method == http.MethodPatch || q.Method == http.MethodPut || q.Method == http.MethodDelete || strings.HasSuffix(q.Path, "/eviction") {
		j.quiet.count(l.name, q.Method+" "+q.Path, mostWrites)
	}
	parts := strings.Split(strings.Trim(q.Path, "/"), "/")
	switch {
	case len(parts) >= 6 && parts[4] == "pods":
		j.drains.call(l.name, q, parts)
	case len(parts) == 5 && parts[3] == "nodeclaims" && q.Method == "DELETE":
		if c, ok := kubeapi.Find[*apiv1.NodeClaim](j.world.platform.server, "", parts[4]); ok {
			j.moves.deleted(l.name, c)
			j.protection.deleted(l.name, c)
		}
	}
}

// called checks a call of a replica to the cloud before it is carried out.
func (j *judge) called(who, op string, body []byte) {
	j.quiet.count(who, op, mostCalls)
	j.quiet.made[op]++
	if op == "TerminateInstances" {
		j.fleet.count()
		for _, id := range idsOf(body) {
			j.fleet.ends(who, id)
		}
	}
}

// written checks a change of an object.
func (j *judge) written(before, after client.Object) {
	j.instances.written(before, after)
	if j.world.platform == nil {
		return // this write belongs to the setup of the world
	}
	j.fleet.written(before, after)
	j.moves.written(before, after)
	j.demand.written(before, after)
	j.supply.written(before, after)
	j.claims.written(before, after)
	j.protection.written(before, after)
	j.quiet.written(before, after)
	j.memory.written(after)
}

// writer returns the replica whose write is being carried out; empty if it is not one of the operator.
func (j *judge) writer() string { return j.world.processes.writer }

// neverSettles reports whether nodes of a pool expire within a simulation, or a budget of a pool has a schedule.
func (j *judge) neverSettles() bool {
	return slices.ContainsFunc(kubeapi.List[*apiv1.NodePool](j.world.platform.server), func(p *apiv1.NodePool) bool {
		d := p.Spec.Template.Spec.ExpireAfter.Duration
		scheduled := func(b apiv1.Budget) bool { return b.Schedule != nil }
		return d != nil && *d < 24*time.Hour || slices.ContainsFunc(p.Spec.Disruption.Budgets, scheduled)
	})
}
