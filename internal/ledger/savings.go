package ledger

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// The states of an Action.
const (
	Running   = "running"
	Done      = "done"
	Cancelled = "cancelled"
)

// An Action is a command of disruption that has begun, with its savings.
type Action struct {
	Begun    time.Time `json:"begun"`
	Ended    time.Time `json:"ended,omitzero"`
	Reason   string    `json:"reason"`
	Decision string    `json:"decision"`
	State    string    `json:"state"`
	// Nodes are the names of the removed nodes. Replacements are the names of the claims that replace them.
	Nodes        []string `json:"nodes"`
	Replacements []string `json:"replacements,omitempty"`
	// Before is the price of the nodes when the command was decided. After is the price of the replacements once the nodes
	// were gone. Planned is the saving that the decision expected. All are in dollars per hour.
	Before  float64 `json:"beforePerHour"`
	After   float64 `json:"afterPerHour"`
	Planned float64 `json:"plannedPerHour"`
	// Evictions is the number of pods that had to move.
	Evictions int `json:"evictions"`

	// claims are the names of the claims of Nodes, nil once the action has ended.
	claims map[string]bool
	told   bool // true if the action was added to the metrics
}

// Realized returns the saving in dollars per hour that was measured, zero until the action is done.
func (a *Action) Realized() float64 {
	if a.State != Done {
		return 0
	}
	return a.Before - a.After
}

const (
	// maxActions is the maximum number of ended actions that are kept. The oldest of more are added up by day.
	maxActions = 200
	// maxDays is the number of days for which these sums are kept.
	maxDays = 31
)

// savings follows the commands of disruption.
type savings struct {
	// actions are in the order in which they began. Those that are running are all there.
	actions []*Action
	// sums are those of ended actions that are no longer in actions.
	sums sums
	// decided has the commands of the last decisions, by node name. A command becomes an action when its nodes are marked.
	decided map[string]decided
}

type decided struct {
	command *model.Command
	at      time.Time
	before  cost.Micros // price of all nodes of the command
}

// undecided is the time after which a command is dropped whose nodes were not marked.
const undecided = 5 * time.Minute

// observe begins the actions of nodes that are marked for disruption and have none yet: one for all nodes of a command. It
// ends the actions whose nodes do not exist or are not marked any more.
func (v *savings) observe(s *model.Snapshot, in *cost.Input, commands []model.Command) {
	running := map[string]bool{}
	for _, a := range v.actions {
		maps.Copy(running, a.claims)
	}
	for _, n := range s.Nodes() {
		if n.Claim != nil && (status.Disrupting(n) || n.Deleting) && !running[n.Claim.Name] {
			maps.Copy(running, v.open(s, in, n))
		}
	}
	for _, a := range v.actions {
		if a.State == Running {
			v.follow(s, in, a)
		}
	}
	v.note(s, in, commands)
}

// note stores the commands of the current decision.
func (v *savings) note(s *model.Snapshot, in *cost.Input, commands []model.Command) {
	if v.decided == nil {
		v.decided = map[string]decided{}
	}
	for name, x := range v.decided {
		if s.Now.Sub(x.at) > undecided {
			delete(v.decided, name)
		}
	}
	for i := range commands {
		c := &commands[i]
		x := decided{command: c, at: s.Now, before: in.PriceOfSet(c.Nodes)}
		for _, n := range c.Nodes {
			v.decided[n.Name] = x
		}
	}
}

// open begins the action of a marked node. After a restart the command of a node is not known. Such a node has an action of
// its own if it has a disruption reason and its termination has not begun. A node without a disruption reason was deleted
// for another cause, such as by a user. A node whose termination has begun may exist for long after its action has ended. No
// action begins for such nodes. open returns the claims of the action.
func (v *savings) open(s *model.Snapshot, in *cost.Input, n *model.Node) map[string]bool {
	price, _ := in.Price(n)
	a := &Action{
		Begun: s.Now, State: Running, Reason: string(status.Reason(n)), Decision: "delete", Nodes: []string{n.Name},
		Before: price.Dollars(), Evictions: len(n.Reschedulable()), claims: map[string]bool{n.Claim.Name: true},
		Replacements: v.fresh(status.ReplacedBy(n.Claim)),
	}
	x, known := v.decided[n.Name]
	if !known && (a.Reason == "" || !cost.Billed(n)) {
		return nil
	}
	if known {
		c := x.command
		a.Begun, a.Reason, a.Planned = x.at, string(c.Reason), c.Saves
		a.Nodes, a.Before, a.Evictions = c.Names(), x.before.Dollars(), c.Moves()
		for _, other := range c.Nodes {
			a.claims[other.Claim.Name] = true
			delete(v.decided, other.Name)
		}
		if len(c.Replacements) == 0 {
			a.Replacements = nil
		}
		a.Decision = c.Decision()
	} else if len(a.Replacements) > 0 {
		a.Decision = "replace"
	}
	v.actions = append(v.actions, a)
	return a.claims
}

// fresh returns those claims that are no replacements in another action. Pods of several commands may move to one new node, and
// the price of this node must count in one action only.
func (v *savings) fresh(claims []string) []string {
	return slices.DeleteFunc(claims, func(name string) bool {
		return slices.ContainsFunc(v.actions, func(a *Action) bool { return slices.Contains(a.Replacements, name) })
	})
}

// follow ends the action if its nodes no longer exist, or if none of them is marked any more. The action is cancelled if all
// its nodes still exist, otherwise done. Nodes that were rolled back are no longer part of an action that is done.
func (v *savings) follow(s *model.Snapshot, in *cost.Input, a *Action) {
	left, marked := 0, 0
	var stay []*model.Node
	for name := range a.claims {
		n, ok := byClaim(s, name)
		if !ok || !cost.Billed(n) {
			continue
		}
		left++
		if n.Deleting || status.Disrupting(n) {
			marked++
		} else {
			stay = append(stay, n)
		}
	}
	switch {
	case left > 0 && marked > 0:
		return
	case left == len(a.claims):
		a.State = Cancelled
	default:
		a.State = Done
		a.Before -= in.PriceOfSet(stay).Dollars()
		a.Nodes = slices.DeleteFunc(slices.Clone(a.Nodes), func(name string) bool {
			return slices.ContainsFunc(stay, func(n *model.Node) bool { return n.Name == name })
		})
	}
	a.Ended = s.Now
	for _, name := range a.Replacements {
		if n, ok := byClaim(s, name); ok && cost.Billed(n) {
			price, _ := in.Price(n)
			a.After += price.Dollars()
		}
	}
	a.claims = nil
}

// condense adds the oldest ended actions in excess of maxActions to the sums, and removes sums older than maxDays.
func (v *savings) condense(now time.Time) {
	over := -maxActions
	for _, a := range v.actions {
		if a.State != Running {
			over++
		}
	}
	v.actions = slices.DeleteFunc(v.actions, func(a *Action) bool {
		if a.State == Running || over <= 0 {
			return false
		}
		over--
		v.sums.add(a)
		return true
	})
	oldest := now.UTC().AddDate(0, 0, -maxDays).Format(time.DateOnly)
	v.sums = slices.DeleteFunc(v.sums, func(x Saving) bool { return x.Day < oldest })
}

// byClaim returns the node of the claim with the name.
func byClaim(s *model.Snapshot, claim string) (*model.Node, bool) {
	n, ok := s.NodeByName(claim)
	return n, ok && n.Claim != nil && n.Claim.Name == claim
}

// reason returns the reason in the form of the metrics of disruption.
func (a *Action) reason() string { return strings.ToLower(a.Reason) }
