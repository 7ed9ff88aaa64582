package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// A cell is a part of a row, with how it is highlighted.
type cell struct {
	text string
	as   highlight
	// short is shown instead of text if text does not fit in a narrow column; empty means that text is cut.
	short string
}

// A row is a line of a page.
type row struct {
	cells []cell
	// key identifies the row when Data changes. keys are the values by which rows are sorted, one for each column.
	key  string
	keys []any // string or float64
	// detail are lines about the row.
	detail []string
}

// A column is a column of a page. It is omitted if a line of the terminal has fewer than from characters.
type column struct {
	title string
	width int // 0 means the remaining width
	right bool
	from  int
}

// A page is one of the lists that can be shown.
type page struct {
	name    string
	columns []column
	rows    func(Data) []row
}

// pages returns the pages, in the order of their keys 1 to 4.
func pages() []page {
	return []page{
		{"nodes", []column{
			{"NODE", 20, false, 0}, {"POOL", 12, false, 120}, {"TYPE", 12, false, 0}, {"CAPACITY", 9, false, 130}, {"STATE", 10, false, 100},
			{"CPU", 10, false, 0}, {"MEMORY", 10, false, 0}, {"PODS", 4, true, 0}, {"$/H", 7, true, 0}, {"STAYS BECAUSE", 0, false, 0},
		}, nodeRows},
		{"pods", []column{{"POD", 30, false, 0}, {"COUNT", 5, true, 0}, {"OUTCOME", 8, false, 0}, {"REASON", 0, false, 0}}, podRows},
		{"nodepools", []column{
			{"NODEPOOL", 18, false, 0}, {"NODES", 5, true, 0}, {"$/H", 8, true, 0}, {"LIMIT", 10, false, 0}, {"LIMITS", 34, false, 120},
			{"PROBLEM", 0, false, 0},
		}, poolRows},
		{"decisions", []column{
			{"TIME", 8, false, 0}, {"KIND", 12, false, 100}, {"STATE", 9, false, 0}, {"EVICTED", 7, true, 100}, {"SAVES $/H", 9, true, 0},
			{"DECISION", 0, false, 0},
		}, decisionRows},
	}
}

func text(s string) cell { return cell{text: s} }

func nodeRows(d Data) []row {
	out := make([]row, len(d.Nodes))
	for i, n := range d.Nodes {
		price := "?"
		if n.DollarsPerHour > 0 {
			price = fmt.Sprintf("%.4f", n.DollarsPerHour)
		}
		state := text(n.State)
		switch n.State {
		case "disrupting", "deleting":
			state.as = bad
		case "launching", "joining":
			state.as = middling
		}
		why := n.Reason
		if n.Rule != "" {
			why = n.Rule + ": " + n.Reason
		}
		out[i] = row{
			key: n.Name,
			cells: []cell{text(n.Name), text(n.Pool), text(n.InstanceType), text(n.CapacityType), state, bar(n.CPU), bar(n.Memory),
				text(fmt.Sprint(n.Pods)), text(price), {text: why, as: dim, short: n.Rule}},
			keys:   []any{n.Name, n.Pool, n.InstanceType, n.CapacityType, n.State, n.CPU, n.Memory, float64(n.Pods), n.DollarsPerHour, why},
			detail: nodeDetail(n, d.Time),
		}
	}
	return out
}

func nodeDetail(n Node, now time.Time) []string {
	lines := []string{fmt.Sprintf("%s  NodePool %s  %s %s %s  %s  age %s", n.Name, orNone(n.Pool), orNone(n.InstanceType), orNone(n.Zone),
		orNone(n.CapacityType), n.State, age(now.Sub(n.Created)))}
	switch {
	case n.Rule != "":
		line := "stays: " + n.Reason
		if n.WastePerHour > 0.00005 {
			line += fmt.Sprintf("; wastes up to $%.4f/h", n.WastePerHour)
		}
		lines = append(lines, line)
	case n.Reason != "":
		lines = append(lines, n.Reason)
	}
	if n.Fix != "" {
		lines = append(lines, "fix: "+n.Fix)
	}
	return lines
}

func podRows(d Data) []row {
	out := make([]row, len(d.Pending))
	for i, p := range d.Pending {
		outcome := cell{text: p.Outcome, as: good}
		if p.Outcome == "refused" {
			outcome.as = bad
		}
		detail := []string{fmt.Sprintf("%s and %d more", p.Pod, p.Count-1), p.Reason}
		if p.Count == 1 {
			detail[0] = p.Pod
		}
		if p.Fix != "" {
			detail = append(detail, "fix: "+p.Fix)
		}
		out[i] = row{
			key: p.Pod, cells: []cell{text(p.Pod), text(fmt.Sprint(p.Count)), outcome, text(p.Reason)},
			keys: []any{p.Pod, float64(p.Count), p.Outcome, p.Reason}, detail: detail,
		}
	}
	return out
}

func poolRows(d Data) []row {
	out := make([]row, len(d.Pools))
	for i, p := range d.Pools {
		var limits []string
		for _, l := range p.Limits {
			name := corev1.ResourceName(l.Resource)
			limits = append(limits, l.Resource+" "+units.Amount(name, l.UsedAmount, units.Nearest)+"/"+units.Amount(name, l.LimitAmount, units.Nearest))
		}
		limit := cell{text: "none", as: dim}
		if len(p.Limits) > 0 {
			limit = bar(p.LimitUsed)
			limit.as = good
			if p.LimitUsed > 0.9 {
				limit.as = bad
			} else if p.LimitUsed > 0.75 {
				limit.as = middling
			}
		}
		all := strings.Join(limits, ", ")
		detail := []string{"NodePool " + p.Name + "  limits: " + orNone(all)}
		if p.Problem != "" {
			detail = append(detail, p.Problem)
		}
		if p.Fix != "" {
			detail = append(detail, "fix: "+p.Fix)
		}
		out[i] = row{
			key: p.Name, detail: detail,
			cells: []cell{text(p.Name), text(fmt.Sprint(p.Nodes)), text(fmt.Sprintf("%.4f", p.DollarsPerHour)), limit, text(all), {text: p.Problem, as: bad}},
			keys:  []any{p.Name, float64(p.Nodes), p.DollarsPerHour, p.LimitUsed, all, p.Problem},
		}
	}
	return out
}

// decisionRows returns the newest decision first.
func decisionRows(d Data) []row {
	out := make([]row, 0, len(d.Decisions))
	for _, e := range slices.Backward(d.Decisions) {
		state := cell{text: string(e.State), as: bad}
		switch e.State {
		case decisions.StateOpen:
			state.as = middling
		case decisions.StateDone:
			state.as = good
		}
		what := e.Decision
		if e.Action == "refuse" && len(e.Refused) > 0 {
			what = e.Refused[0].Subject + ": " + e.Refused[0].Reason
		}
		saves, evicted, money := e.DollarsBefore-e.DollarsAfter, "-", "-"
		if e.Evictions+e.EvictionsPlanned > 0 {
			evicted = fmt.Sprintf("%d/%d", e.Evictions, max(e.Evictions, e.EvictionsPlanned))
		}
		if saves != 0 {
			money = fmt.Sprintf("%+.4f", saves)
		}
		at := e.Time.UTC().Format("15:04:05")
		detail := []string{"cause: " + e.Cause, what}
		if len(e.Refused) > 0 {
			detail = append(detail, "refused: "+e.Refused[0].Subject+": "+e.Refused[0].Reason)
		}
		if n := len(e.Effects); n > 0 {
			f := e.Effects[n-1]
			detail = append(detail, "last effect: "+f.Time.UTC().Format("15:04:05")+" "+string(f.Kind)+" "+f.Object)
		}
		out = append(out, row{
			key: e.ID, detail: detail,
			cells: []cell{text(at), text(string(e.Kind)), state, text(evicted), text(money), text(what)},
			keys:  []any{-float64(e.Time.UnixNano()), string(e.Kind), string(e.State), float64(e.Evictions), saves, what},
		})
	}
	return out
}

// less compares two rows by one column, then by key.
func less(a, b row, by int) int {
	switch x := a.keys[by].(type) {
	case float64:
		y, _ := b.keys[by].(float64)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.key, b.key))
	case string:
		y, _ := b.keys[by].(string)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.key, b.key))
	}
	return cmp.Compare(a.key, b.key)
}

// matches reports whether a cell or the detail of the row has the text, in any case.
func (r row) matches(lower string) bool {
	return slices.ContainsFunc(r.cells, func(c cell) bool { return strings.Contains(strings.ToLower(c.text), lower) }) ||
		slices.ContainsFunc(r.detail, func(line string) bool { return strings.Contains(strings.ToLower(line), lower) })
}

func orNone(s string) string { return cmp.Or(s, "-") }

// age prints a duration in one unit: seconds below 2m, minutes below 2h, hours below 48h, otherwise days.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// barCells is the number of cells of a bar, without the percentage.
const barCells = 5

// bar returns a bar for a share, with the percentage. High shares are highlighted as good.
func bar(share float64) cell {
	part := min(max(share, 0), 1)
	full := int(part*barCells + 0.5)
	c := cell{text: strings.Repeat("█", full) + strings.Repeat("░", barCells-full) + fmt.Sprintf(" %3.0f%%", share*100), as: bad}
	switch {
	case part >= 0.75:
		c.as = good
	case part >= 0.4:
		c.as = middling
	}
	return c
}
