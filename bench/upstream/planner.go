package upstream

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Planner is a backtest.Planner with upstream's decisions.
type Planner struct {
	// Commands is the number of commands that may be begun at one time, at least 1. Upstream's controller waits 15
	// seconds before each command, so Commands should be the interval of disruption divided by 15 seconds.
	Commands int

	// Begun is the number of begun commands by method: empty, multi, single, drift and expiry.
	Begun map[string]int

	program *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	state   state
	at      time.Time // time of the last decision of disruption
	begun   int       // number of commands at that time
}

// Start starts the program, which was built from bench/peer. The Planner must be closed.
func Start(program string, commands int) (*Planner, error) {
	p := &Planner{Commands: commands, Begun: map[string]int{}, program: exec.Command(program, "-serve"), state: newState()}
	p.program.Stderr = os.Stderr
	in, err := p.program.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
	out, err := p.program.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
	if err := p.program.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
	p.in, p.out = in, json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	return p, nil
}

// Close ends the program and waits for its end.
func (p *Planner) Close() error {
	return errors.Join(p.in.Close(), p.program.Wait())
}

// ask sends the changes since the last request, and returns the answer.
func (p *Planner) ask(do string, s *model.Snapshot) (*answer, error) {
	r := p.state.changes(s)
	r.Do, r.Now = do, s.Now
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the request to upstream: %w", err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("ask upstream: %w", err)
	}
	var a answer
	if err := p.out.Decode(&a); err != nil {
		return nil, fmt.Errorf("read the answer of upstream: %w", err)
	}
	if a.Error != "" {
		return nil, errors.New("upstream: " + a.Error)
	}
	return &a, nil
}

// Plan assigns the pending pods as upstream's provisioner does.
func (p *Planner) Plan(s *model.Snapshot) (*model.Plan, error) {
	a, err := p.ask("plan", s)
	if err != nil {
		return nil, err
	}
	plan := &model.Plan{Placements: placements(s, a.Placements)}
	if plan.Nodes, err = planned(s, a.Nodes); err != nil {
		return nil, err
	}
	for i := range plan.Nodes {
		plan.Price += plan.Nodes[i].Price()
	}
	if len(a.Refused) > 0 {
		plan.Refusals = []model.Refusal{{Pods: pods(s, a.Refused)}}
	}
	return plan, nil
}

// Disrupt returns the next commands of upstream's methods, or a command for each node that expires. more is true if it must
// be called again after these commands: until as many as Commands were begun at this time.
func (p *Planner) Disrupt(s *model.Snapshot) (commands []model.Command, more bool, err error) {
	if !s.Now.Equal(p.at) {
		p.at, p.begun = s.Now, 0
	}
	if commands = expired(s); len(commands) > 0 {
		p.Begun["expiry"] += len(commands)
		return commands, true, nil
	}
	a, err := p.ask("disrupt", s)
	if err != nil {
		return nil, false, err
	}
	for _, c := range a.Commands {
		m := model.Command{Reason: apiv1.DisruptionReason(c.Reason), Method: c.Method, Placements: placements(s, c.Placements)}
		if m.Replacements, err = planned(s, c.Replacements); err != nil {
			return nil, false, err
		}
		for _, name := range c.Claims {
			n, ok := s.NodeByName(name)
			if !ok {
				return nil, false, fmt.Errorf("upstream removes node %s, which does not exist", name)
			}
			m.Nodes = append(m.Nodes, n)
			m.Saves += s.PriceOf(n)
		}
		for i := range m.Replacements {
			m.Saves -= m.Replacements[i].Price()
		}
		commands = append(commands, m)
		p.Begun[c.Method]++
	}
	p.begun += len(commands)
	return commands, p.begun < p.Commands, nil
}

// Revalidate cancels nothing: upstream deletes the nodes of a command once their replacements are initialized.
func (p *Planner) Revalidate(_ *model.Snapshot, nodes []*model.Node) map[string]model.Verdict {
	out := make(map[string]model.Verdict, len(nodes))
	for _, n := range nodes {
		out[n.Name] = model.Verdict{}
	}
	return out
}

// expired returns a command for each node whose expireAfter has elapsed. Upstream deletes these nodes without
// replacements and regardless of budgets.
func expired(s *model.Snapshot) (out []model.Command) {
	for _, n := range s.Nodes() {
		if n.Claim == nil || n.Deleting || n.Disrupted() || n.Claim.Spec.ExpireAfter.Duration == nil {
			continue
		}
		if !s.Now.Before(n.Claim.CreationTimestamp.Add(*n.Claim.Spec.ExpireAfter.Duration)) {
			out = append(out, model.Command{Reason: status.ReasonExpired, Method: "expiry", Nodes: []*model.Node{n}})
		}
	}
	return out
}

// simulated are the labels that upstream adds to the requirements of a planned node while it plans.
var simulated = []string{apiv1.NodeRegisteredLabelKey, apiv1.NodeInitializedLabelKey}

// planned returns nodes in the form of this project. The options of a node are sorted by price, as in the plans of this
// project, so that both launch the cheapest option.
func planned(s *model.Snapshot, nodes []node) ([]model.PlannedNode, error) {
	var out []model.PlannedNode
	for _, n := range nodes {
		pool, ok := s.Pool(n.Pool)
		if !ok {
			return nil, fmt.Errorf("upstream launches a node of NodePool %s, which does not exist", n.Pool)
		}
		p := model.PlannedNode{
			Pool: pool, Requirements: require.FromSpec(n.Requirements).Without(simulated...), Pods: pods(s, n.Pods),
			Requests: model.RequestsOf(n.Requests),
		}
		prices := map[string]model.Offering{}
		for _, t := range s.Types(n.Pool) {
			if slices.Contains(n.Options, t.Name) {
				if o, ok := t.Cheapest(p.Requirements); ok {
					p.Options, prices[t.Name] = append(p.Options, t), o
				}
			}
		}
		if len(p.Options) == 0 {
			return nil, fmt.Errorf("upstream launches a node of NodePool %s without an available offering", n.Pool)
		}
		slices.SortStableFunc(p.Options, func(a, b *model.InstanceType) int {
			if c := prices[a.Name].Compare(prices[b.Name]); c != 0 {
				return c
			}
			return strings.Compare(a.Name, b.Name)
		})
		p.Offering = prices[p.Options[0].Name]
		out = append(out, p)
	}
	return out, nil
}

func placements(s *model.Snapshot, list []placement) (out []model.Placement) {
	for _, p := range list {
		if n, ok := s.NodeByName(p.Node); ok {
			out = append(out, model.Placement{Node: n, Pods: pods(s, p.Pods)})
		}
	}
	return out
}

func pods(s *model.Snapshot, keys []string) (out []*model.Pod) {
	for _, key := range keys {
		if p, ok := s.Pods.Get(key); ok {
			out = append(out, p)
		}
	}
	return out
}
