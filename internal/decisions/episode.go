package decisions

import (
	"slices"
	"time"
)

// A Kind is what caused an episode.
type Kind string

// The kinds of episodes.
const (
	KindProvisioning Kind = "provisioning" // pending pods
	KindDisruption   Kind = "disruption"   // a disruption reason: Empty, Underutilized, Drifted, Expired, Unhealthy, StaticScaleIn
	KindStatic       Kind = "static"       // a static NodePool with fewer nodes than spec.replicas
	KindInterruption Kind = "interruption" // a notice of the cloud
	KindExpiration   Kind = "expiration"   // spec.expireAfter of a NodeClaim has elapsed
	KindDeletion     Kind = "deletion"     // a NodeClaim was deleted for another reason, such as by a user
)

// Kinds returns all kinds, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{KindProvisioning, KindDisruption, KindStatic, KindInterruption, KindExpiration, KindDeletion}
}

// A State is the progress of an episode.
type State string

// The states of episodes.
const (
	StateOpen      State = "open"      // effects are expected
	StateDone      State = "done"      // all launched nodes are initialized and all removed nodes are deleted
	StateFailed    State = "failed"    // ended, and at least one launch failed
	StateCancelled State = "cancelled" // the disruption was rolled back
)

// An Episode is one decision with its effects. Prices are in US dollars per hour. Each list has at most maxList, maxRefused or
// maxEffects entries. LaunchedNodes, RemovedNodes, RefusedTotal and EffectsTotal also count what was cut.
type Episode struct {
	// ID is unique among the episodes of a cluster.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	// Reason is one word: Pending, Static, a disruption reason, the kind of a notice, or the cause of a deletion.
	Reason string `json:"reason"`
	// Cause is why the decision was made, such as "5 pending pods". Decision is what was decided, such as "use existing nodes".
	// Both are without a full stop.
	Cause    string `json:"cause"`
	Decision string `json:"decision"`
	// Action is launch, refuse, delete, replace, reboot or terminate-first.
	Action string   `json:"action"`
	Pools  []string `json:"pools"`
	// Pods is how many pods the decision concerns. Placed is how many of them are placed on existing nodes.
	Pods   int `json:"pods"`
	Placed int `json:"placed,omitempty"`
	// Launches are the nodes to launch, Removals the nodes to remove. The node of action reboot is in Removals and stays.
	Launches      []Launch  `json:"launches,omitempty"`
	LaunchedNodes int       `json:"launchedNodes"`
	Removals      []Removal `json:"removals,omitempty"`
	RemovedNodes  int       `json:"removedNodes"`
	// Refused are alternatives that were not chosen, with the reason: pods without a node, nodes that are kept, and
	// nodes and commands that are withheld. RefusedTotal is the sum of their Counts.
	Refused      []Refusal `json:"refused,omitempty"`
	RefusedTotal int       `json:"refusedTotal"`
	// DollarsBefore is the price of all nodes before the decision. DollarsAfter is the price expected after all its
	// effects. Both are zero for the kinds interruption, expiration and deletion.
	DollarsBefore float64 `json:"dollarsPerHourBefore"`
	DollarsAfter  float64 `json:"dollarsPerHourAfter"`
	// EvictionsPlanned is how many pods have to move. Only kind disruption has it. Evictions is how many pods were evicted
	// or deleted so far.
	EvictionsPlanned int `json:"evictionsPlanned"`
	Evictions        int `json:"evictions"`
	// Progress has the number of effects of each kind. Effects has the newest effects.
	Progress     map[EffectKind]int `json:"progress"`
	Effects      []Effect           `json:"effects,omitempty"`
	EffectsTotal int                `json:"effectsTotal"`
	State        State              `json:"state"`
	// Ended is the time at which the state ceased to be open.
	Ended *time.Time `json:"ended,omitempty"`
}

// A Launch is a node that is launched.
type Launch struct {
	Claim        string `json:"claim"`
	Pool         string `json:"pool"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// DollarsPerHour is the price of the cheapest option, which InstanceType, Zone and CapacityType describe.
	DollarsPerHour float64 `json:"dollarsPerHour"`
	// Options is how many instance types the launch may choose from.
	Options int `json:"options"`
	Pods    int `json:"pods"`
}

// A Removal is a node that is removed. DollarsPerHour is its price. Pods is the number of pods that must move.
type Removal struct {
	Node           string  `json:"node"`
	Claim          string  `json:"claim"`
	Pool           string  `json:"pool"`
	InstanceType   string  `json:"instanceType"`
	Zone           string  `json:"zone"`
	CapacityType   string  `json:"capacityType"`
	DollarsPerHour float64 `json:"dollarsPerHour"`
	Pods           int     `json:"pods"`
}

// A Refusal is an alternative that was not chosen. Reason and Fix are worded as in the event and in karpenter explain.
type Refusal struct {
	// Subject is what was refused, such as "pod shop/web-0" or "node n1". Count is the number of equal refusals.
	Subject string `json:"subject"`
	Count   int    `json:"count"`
	Reason  string `json:"reason"`
	Fix     string `json:"fix,omitempty"`
	// DollarsPerHour is the waste of a node that is kept, or the price of nodes that are withheld.
	DollarsPerHour float64 `json:"dollarsPerHour,omitempty"`
}

// An EffectKind is the kind of an Effect.
type EffectKind string

// The kinds of effects.
const (
	EffectLaunched    EffectKind = "launched"    // the cloud launched the instance
	EffectRegistered  EffectKind = "registered"  // the node joined
	EffectInitialized EffectKind = "initialized" // the node is ready for pods
	EffectTerminating EffectKind = "terminating" // the NodeClaim is being deleted
	EffectTerminated  EffectKind = "terminated"  // the NodeClaim and its instance no longer exist
	EffectFailed      EffectKind = "failed"      // a launch failed, or its node did not join
	EffectEvicted     EffectKind = "evicted"     // a pod was evicted
	EffectCancelled   EffectKind = "cancelled"   // a disruption was rolled back
	EffectNote        EffectKind = "note"        // an event that explains a delay
)

// An Effect is something that happened because of a decision.
type Effect struct {
	Time time.Time  `json:"time"`
	Kind EffectKind `json:"kind"`
	// Object is the object concerned, such as "nodeclaim default-x7k2p" or "pod shop/web-0".
	Object string `json:"object"`
	// Message explains the effect, such as the message of its event. It is empty if Kind needs no explanation.
	Message string `json:"message,omitempty"`
}

// Bounds of one episode.
const (
	// maxList bounds Launches, Removals and Pools.
	maxList = 50
	// maxRefused bounds Refused, maxEffects bounds Effects.
	maxRefused = 20
	maxEffects = 40
	// maxText bounds sentences, in bytes.
	maxText = 1024
)

// bound cuts the lists and texts of the episode. It raises each total to at least the length of its list before the cut.
func (e *Episode) bound() {
	e.LaunchedNodes = max(e.LaunchedNodes, len(e.Launches))
	e.RemovedNodes = max(e.RemovedNodes, len(e.Removals))
	e.RefusedTotal = max(e.RefusedTotal, len(e.Refused))
	e.Launches = first(e.Launches, maxList)
	e.Removals = first(e.Removals, maxList)
	e.Pools = first(e.Pools, maxList)
	e.Refused = first(e.Refused, maxRefused)
	for i := range e.Refused {
		e.Refused[i].Reason, e.Refused[i].Fix = cut(e.Refused[i].Reason), cut(e.Refused[i].Fix)
	}
	e.Cause, e.Decision = cut(e.Cause), cut(e.Decision)
}

func first[T any](list []T, n int) []T { return slices.Clone(list[:min(len(list), n)]) }

// cut returns at most maxText bytes of the text.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && text[end]&0xC0 == 0x80 { // not in the middle of a character
		end--
	}
	return text[:end]
}

// Concerns reports whether the episode launches or removes the node or NodeClaim with the name, or has an effect on it.
func (e *Episode) Concerns(name string) bool {
	return slices.ContainsFunc(e.Launches, func(l Launch) bool { return l.Claim == name }) ||
		slices.ContainsFunc(e.Removals, func(r Removal) bool { return r.Node == name || r.Claim == name }) ||
		slices.ContainsFunc(e.Effects, func(f Effect) bool { return f.Object == "node "+name || f.Object == "nodeclaim "+name })
}
