package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

// Bounds of the narrow table of costs: the number of rows, and the width of the key in cells, for a terminal of 80
// columns.
const (
	mostCosts = 25
	keyWidth  = 40
)

// Cost renders the costs of nodes. If wide is true, it shows all rows without cutting their keys, each action and the
// predictions. If the rows are by properties of nodes, it then also shows the idle capacity and overhead of each row.
func (s Style) Cost(r ledger.Report, wide bool) string {
	var b strings.Builder
	s.costHead(&b, r)
	s.costTable(&b, r, wide)
	s.commitments(&b, r)
	s.costSavings(&b, r, wide)
	if p := r.Predictions; p != nil && wide {
		s.predictions(&b, p)
	}
	return b.String()
}

func (s Style) costHead(b *strings.Builder, r ledger.Report) {
	fmt.Fprintf(b, "%s of %s $%s/h", s.bold("price"), units.Counted(r.Nodes, "node"), dollars(r.DollarsPerHour))
	if period := r.Until.Sub(r.Since); period > 0 {
		fmt.Fprintf(b, ", $%s in %s, from %s to %s", dollars(r.Dollars), rounded(period), r.Since.UTC().Format("2006-01-02 15:04"),
			r.Until.UTC().Format("2006-01-02 15:04 UTC"))
	}
	b.WriteString("\n")
	if r.FloorPerHour > 0 && r.FloorPerHour <= r.DollarsPerHour {
		fmt.Fprintf(b, "lower bound for the running pods $%s/h, %.1f%% less\n", dollars(r.FloorPerHour),
			100*(1-r.FloorPerHour/r.DollarsPerHour))
	}
	if r.Unpriced > 0 {
		fmt.Fprintf(b, "%s\n", s.yellow(fmt.Sprintf("price unknown for %s, counted as 0", units.Counted(r.Unpriced, "node"))))
	}
	b.WriteString("\n")
}

// rounded prints a period in minutes, or in seconds if it is short.
func rounded(d time.Duration) string {
	if d < time.Minute {
		return units.Period(d.Round(time.Second))
	}
	return units.Period(d.Round(time.Minute))
}

func (s Style) costTable(b *strings.Builder, r ledger.Report, wide bool) {
	history := r.Until.After(r.Since)
	t := &table{right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}}
	ofNodes := wide && slices.ContainsFunc(r.Rows, func(x ledger.Row) bool { return x.Idle != nil })
	add := func(indent, key string, m ledger.Money, more ...string) {
		share := ""
		if r.DollarsPerHour > 0 {
			share = fmt.Sprintf("%.1f%%", 100*m.DollarsPerHour/r.DollarsPerHour)
		}
		cells := []string{indent + key, dollars(m.DollarsPerHour), share}
		if history {
			cells = append(cells, dollars(m.Dollars))
		}
		t.add(append(cells, more...)...)
	}
	head := []string{strings.ToUpper(strings.ReplaceAll(r.By, ",", " ")), "$/H", "SHARE"}
	if history {
		head = append(head, "DOLLARS")
	}
	if ofNodes {
		head = append(head, "IDLE $/H", "OVERHEAD $/H")
	}
	t.add(head...)
	rest, more := ledger.Money{}, 0
	for i, x := range r.Rows {
		if !wide && i >= mostCosts {
			rest.DollarsPerHour += x.DollarsPerHour
			rest.Dollars += x.Dollars
			more++
			continue
		}
		var nodes []string
		if ofNodes {
			nodes = []string{dollars(x.Idle.DollarsPerHour), dollars(x.Overhead.DollarsPerHour)}
		}
		add("", cut(x.Key, wide), x.Money, nodes...)
	}
	if more > 0 {
		add("", fmt.Sprintf("%s more (-o wide)", units.Grouped(more)), rest)
	}
	for _, x := range r.Idle {
		add("idle: ", string(x.Cause)+opening(x.Opens, r.Until), x.Money)
	}
	for _, x := range r.Overheads {
		add("overhead: ", string(x.Cause), x.Money)
	}
	add("", "total", r.Money)
	t.write(b, "", s.dim)
}

// opening returns a text such as " (opens 15:04 UTC)" for the first budget that opens, "" if there is none.
func opening(opens map[string]time.Time, now time.Time) string {
	var first time.Time
	for _, at := range opens {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if first.IsZero() {
		return ""
	}
	if first.Sub(now) < 24*time.Hour {
		return " (opens " + first.UTC().Format("15:04 UTC") + ")"
	}
	return " (opens " + first.UTC().Format("Jan 2 15:04 UTC") + ")"
}

// cut shortens a key for a narrow terminal.
func cut(key string, wide bool) string {
	if wide || utf8.RuneCountInString(key) <= keyWidth {
		return key
	}
	return string([]rune(key)[:keyWidth-1]) + "…"
}

func (s Style) costSavings(b *strings.Builder, r ledger.Report, wide bool) {
	if len(r.Savings) == 0 {
		return
	}
	b.WriteString("\n" + s.bold("disruptions, by day") + "\n")
	t := &table{right: map[int]bool{3: true, 4: true, 5: true, 6: true}}
	t.add("DAY", "REASON", "ACTION", "COUNT", "PLANNED $/H", "REALIZED $/H", "EVICTIONS")
	for _, x := range r.Savings {
		t.add(x.Day, x.Reason, x.Decision, units.Grouped(x.Actions), dollars(x.Planned), dollars(x.Realized), units.Grouped(x.Evictions))
	}
	t.write(b, "", s.dim)
	if !wide {
		return
	}
	b.WriteString("\n" + s.bold("disruptions") + "\n")
	t = &table{right: map[int]bool{3: true, 4: true, 5: true}}
	t.add("BEGAN", "STATE", "ACTION", "BEFORE $/H", "AFTER $/H", "EVICTIONS", "REASON", "NODES", "REPLACEMENTS")
	for i := range r.Actions {
		a := &r.Actions[i]
		t.add(a.Begun.UTC().Format("2006-01-02T15:04:05Z"), a.State, a.Decision, dollars(a.Before), dollars(a.After),
			units.Grouped(a.Evictions), strings.ToLower(a.Reason), few(a.Nodes), few(a.Replacements))
	}
	t.write(b, "", s.dim)
}

// Commitments renders only how the nodes use the commitments.
func (s Style) Commitments(r ledger.Report) string {
	if len(r.Commitments) == 0 {
		return "no commitments in the price book\n"
	}
	var b strings.Builder
	s.commitments(&b, r)
	return strings.TrimPrefix(b.String(), "\n")
}

// commitments writes how the nodes use the commitments, now and in the period of the report.
func (s Style) commitments(b *strings.Builder, r ledger.Report) {
	now := slices.DeleteFunc(slices.Clone(r.Commitments), func(c ledger.Commitment) bool { return c.Ended })
	if len(now) > 0 {
		s.commitmentsNow(b, now)
	}
	past := slices.DeleteFunc(slices.Clone(r.Commitments), func(c ledger.Commitment) bool { return c.Since == nil })
	if len(past) == 0 {
		return
	}
	b.WriteString("\n" + s.bold("commitments since "+r.Since.UTC().Format("2006-01-02 15:04 UTC")) + "\n")
	t := &table{right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}}
	t.add("COMMITMENT", "UTILIZATION", "COVERED", "OF NODE HOURS", "COVERAGE", "SAVED $")
	for _, c := range past {
		p := c.Since
		t.add(c.Name, fmt.Sprintf("%.1f%%", 100*p.Utilization), fmt.Sprintf("%.1f", p.CoveredNodeHours),
			fmt.Sprintf("%.1f", p.EligibleNodeHours), fmt.Sprintf("%.1f%%", 100*p.Coverage), dollars(p.Saved))
	}
	t.write(b, "", s.dim)
}

func (s Style) commitmentsNow(b *strings.Builder, list []ledger.Commitment) {
	b.WriteString("\n" + s.bold("commitments now") + "\n")
	t := &table{right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}}
	t.add("COMMITMENT", "UTILIZATION", "COVERED", "OF NODES", "COVERAGE", "SAVES $/H")
	for _, c := range list {
		t.add(c.Name, fmt.Sprintf("%.1f%%", 100*c.Utilization), fmt.Sprintf("%.1f", c.CoveredNodes),
			units.Grouped(int(c.EligibleNodes)), fmt.Sprintf("%.1f%%", 100*c.Coverage), dollars(c.SavedPerHour))
	}
	t.write(b, "", s.dim)
}

func (s Style) predictions(b *strings.Builder, p *ledger.Predictions) {
	b.WriteString("\n" + s.bold("predictions") + "\n")
	t := &table{right: map[int]bool{1: true, 2: true, 3: true}}
	t.add("QUANTITY", "COUNT", "MEAN ERROR", "BIAS")
	for _, q := range []string{ledger.QuantityCPU, ledger.QuantityMemory, ledger.QuantityBoot} {
		if e := p.Errors[q]; e != nil {
			t.add(q, units.Grouped(e.Count), fmt.Sprintf("%.2f%%", 100*e.Mean), fmt.Sprintf("%+.2f%%", 100*e.Bias))
		}
	}
	t.write(b, "", s.dim)
	if all := p.Hits + p.Misses; all > 0 {
		fmt.Fprintf(b, "%s of %s on the planned node\n", units.Grouped(p.Hits), units.Counted(all, "pod"))
	}
}

// CostCSV writes the report as lines of kind, cause, the fields of the keys, dollars per hour and dollars.
func CostCSV(w io.Writer, r ledger.Report) error {
	out := csv.NewWriter(w)
	fields := strings.Split(r.By, ",")
	write := func(kind, cause string, values []string, m ledger.Money) {
		line := append([]string{kind, cause}, values...)
		_ = out.Write(append(line, number(m.DollarsPerHour), number(m.Dollars))) // Error returns the error of Write
	}
	_ = out.Write(append(append([]string{"kind", "cause"}, fields...), "dollars_per_hour", "dollars"))
	for _, x := range r.Rows {
		values := x.Values
		if len(values) == 0 {
			values = []string{x.Key}
		}
		write("workload", "", values, x.Money)
	}
	for _, x := range r.Idle {
		write("idle", string(x.Cause), make([]string, len(fields)), x.Money)
	}
	for _, x := range r.Overheads {
		write("overhead", string(x.Cause), make([]string, len(fields)), x.Money)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// CommitmentsCSV writes a line for each commitment: how the nodes use it now and in the period of the report. Cells of a
// period without history are empty.
func CommitmentsCSV(w io.Writer, r ledger.Report) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{ // Error returns the error of Write
		"commitment", "utilization", "covered_nodes", "eligible_nodes", "coverage", "saved_per_hour",
		"since", "utilization_since", "covered_node_hours", "eligible_node_hours", "coverage_since", "saved",
	})
	for _, c := range r.Commitments {
		line := []string{c.Name, number(c.Utilization), number(c.CoveredNodes), number(c.EligibleNodes), number(c.Coverage), number(c.SavedPerHour)}
		if p := c.Since; p == nil {
			line = append(line, "", "", "", "", "", "")
		} else {
			line = append(line, r.Since.UTC().Format(time.RFC3339), number(p.Utilization), number(p.CoveredNodeHours),
				number(p.EligibleNodeHours), number(p.Coverage), number(p.Saved))
		}
		_ = out.Write(line)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
