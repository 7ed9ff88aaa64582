package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// Disruption renders what disruption would do, best saving first, and why other nodes stay.
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
		b.WriteString(s.bold("disruption: ") + fmt.Sprintf("%s, %s, and %s\n\n", Count(gone, "node")+" would go",
			Count(added, "node")+" would come in their place", Count(d.Moved, "pod")+" would move"))
		s.commands(&b, d.Commands)
	}
	if len(d.Proposed) > 0 {
		b.WriteString("\n" + s.bold("held back by the mode of their NodePools") + "\n\n")
		s.commands(&b, d.Proposed)
	}
	fmt.Fprintf(&b, "\n%s $%s/h now, $%s/h afterwards", s.bold("price of all nodes"), dollars(d.Before), dollars(d.After))
	if d.Before > 0 {
		fmt.Fprintf(&b, " (%+.1f%%)", (d.After/d.Before-1)*100)
	}
	if d.Floor > 0 {
		fmt.Fprintf(&b, "; no choice of nodes goes below $%s/h", dollars(d.Floor))
	}
	b.WriteString("\n")
	if d.Unpriced > 0 {
		fmt.Fprintf(&b, "%s whose price is not known counts as free\n", Count(d.Unpriced, "node"))
	}
	if d.Stats.Exhausted {
		b.WriteString(s.yellow("not every node was weighed: the rest comes in later passes") + "\n")
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
	t.add("ACTION", "NODES", "BY", "PODS", "SAVES $/H", "REASON")
	for _, c := range best[:min(len(best), most)] {
		mix := (&model.Plan{Nodes: c.Replacements}).Mix()
		t.add(c.Decision(), few(c.Names()), few(mix), Number(c.Moves()), fmt.Sprintf("%.4f", c.Saves), string(c.Reason))
	}
	t.write(b, "", s.dim)
	if more := len(best) - most; more > 0 {
		fmt.Fprintf(b, "and %s more commands; -o json has them all\n", Number(more))
	}
}

// few lists names, the first few of many.
func few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// A hold is the nodes that one rule keeps where they are.
type hold struct {
	first model.Blocked
	nodes int
	worth float64
}

// blocked sums up, by reason, why nodes stay, what is lost by that first.
func (s Style) blocked(b *strings.Builder, all []model.Blocked) {
	byRule := map[model.Rule]*hold{}
	var holds []*hold
	for _, x := range all {
		h := byRule[x.Verdict.Rule]
		if h == nil {
			h = &hold{first: x}
			byRule[x.Verdict.Rule] = h
			holds = append(holds, h)
		}
		h.nodes++
		h.worth += x.Worth
	}
	if len(holds) == 0 {
		return
	}
	slices.SortStableFunc(holds, func(a, b *hold) int { return cmp.Compare(b.worth, a.worth) })
	b.WriteString("\n" + s.bold(Count(len(all), "node")+" would stay") + "\n")
	t := &table{right: map[int]bool{0: true, 1: true}}
	t.add("NODES", "LOST $/H", "WHY")
	for _, h := range holds {
		why := h.first.Verdict.String()
		if h.nodes > 1 {
			why = fmt.Sprintf("%s (%s, and like it)", why, h.first.Node.Name)
		} else {
			why = fmt.Sprintf("%s (%s)", why, h.first.Node.Name)
		}
		t.add(Number(h.nodes), fmt.Sprintf("%.4f", h.worth), why)
	}
	t.write(b, "", s.dim)
}
