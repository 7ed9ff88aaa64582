package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// Disruption renders the commands of disruption, best saving first, and why other nodes are kept.
func (s Style) Disruption(d *offline.Disruption) string {
	var b strings.Builder
	gone, added := 0, 0
	for i := range d.Commands {
		gone += len(d.Commands[i].Nodes)
		added += len(d.Commands[i].Replacements)
	}
	if len(d.Commands) == 0 {
		b.WriteString(s.bold("no node would be disrupted now") + "\n")
	} else {
		b.WriteString(s.bold("disruption: ") + fmt.Sprintf("%s would be removed, %s launched, %s moved\n\n",
			units.Counted(gone, "node"), units.Grouped(added), units.Counted(d.Moved, "pod")))
		s.commands(&b, d.Commands)
	}
	if len(d.Proposed) > 0 {
		b.WriteString("\n" + s.bold("withheld by the enforcement mode of their NodePools") + "\n\n")
		s.commands(&b, d.Proposed)
	}
	fmt.Fprintf(&b, "\n%s $%s/h now, $%s/h afterwards", s.bold("price of all nodes"), dollars(d.Before), dollars(d.After))
	if d.Before > 0 {
		fmt.Fprintf(&b, " (%+.1f%%)", (d.After/d.Before-1)*100)
	}
	if d.Floor > 0 {
		fmt.Fprintf(&b, "; lower bound $%s/h", dollars(d.Floor))
	}
	b.WriteString("\n")
	if d.Unpriced > 0 {
		fmt.Fprintf(&b, "price unknown for %s, counted as 0\n", units.Counted(d.Unpriced, "node"))
	}
	if d.Stats.Exhausted {
		b.WriteString(s.yellow("search limit reached: not every node was evaluated") + "\n")
	}
	s.blocked(&b, d.Blocked)
	return b.String()
}

func (s Style) commands(b *strings.Builder, commands []model.Command) {
	best := make([]*model.Command, len(commands))
	for i := range commands {
		best[i] = &commands[i]
	}
	slices.SortStableFunc(best, func(a, b *model.Command) int { return cmp.Compare(b.Saves, a.Saves) })
	t := &table{right: map[int]bool{3: true, 4: true}}
	t.add("ACTION", "NODES", "REPLACEMENTS", "PODS", "SAVES $/H", "REASON")
	for _, c := range best[:min(len(best), most)] {
		mix := (&model.Plan{Nodes: c.Replacements}).Mix()
		t.add(c.Decision(), few(c.Names()), few(mix), units.Grouped(c.Moves()), fmt.Sprintf("%.4f", c.Saves), string(c.Reason))
	}
	t.write(b, "", s.dim)
	if more := len(best) - most; more > 0 {
		fmt.Fprintf(b, "and %s more commands; -o json lists all\n", units.Grouped(more))
	}
}

// few joins names. Of a long list, only the first ones are shown.
func few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// A hold has the nodes that are kept for one reason.
type hold struct {
	first model.Blocked
	nodes int
	worth float64
}

// A reason groups nodes that are kept for the same reason. Its fields are those of the Verdict.
type reason struct {
	rule  model.Rule
	cause model.Cause
	key   string
}

// blocked writes why nodes are kept, by reason, largest unrealized savings first.
func (s Style) blocked(b *strings.Builder, all []model.Blocked) {
	byReason := map[reason]*hold{}
	var holds []*hold
	for _, x := range all {
		r := reason{x.Verdict.Rule, x.Verdict.Cause, x.Verdict.Key}
		h := byReason[r]
		if h == nil {
			h = &hold{first: x}
			byReason[r] = h
			holds = append(holds, h)
		}
		h.nodes++
		h.worth += x.Waste
	}
	if len(holds) == 0 {
		return
	}
	slices.SortStableFunc(holds, func(a, b *hold) int { return cmp.Compare(b.worth, a.worth) })
	b.WriteString("\n" + s.bold(units.Counted(len(all), "node")+kept(len(all))) + "\n")
	t := &table{right: map[int]bool{0: true, 1: true}}
	t.add("NODES", "UNREALIZED SAVINGS $/H", "REASON")
	for _, h := range holds {
		why := h.first.Verdict.String()
		if h.nodes > 1 {
			why = fmt.Sprintf("%s (node %s, and %s more)", why, h.first.Node.Name, units.Grouped(h.nodes-1))
		} else {
			why = fmt.Sprintf("%s (node %s)", why, h.first.Node.Name)
		}
		t.add(units.Grouped(h.nodes), fmt.Sprintf("%.4f", h.worth), why)
	}
	t.write(b, "", s.dim)
}

func kept(nodes int) string {
	if nodes == 1 {
		return " is kept"
	}
	return " are kept"
}
