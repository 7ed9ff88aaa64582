package top

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/karpenter-go/karpenter/engine/units"
)

// A highlight is how a cell is shown.
type highlight int

const (
	plain highlight = iota
	dim
	good
	middling
	bad
	strong
	selected
)

// paint highlights a text. The terminal library leaves colours out if NO_COLOR is set or the terminal has none.
func paint(text string, as highlight) string {
	if as == plain || strings.TrimSpace(text) == "" {
		return text
	}
	style := lipgloss.NewStyle()
	switch as {
	case dim:
		style = style.Faint(true)
	case good:
		style = style.Foreground(lipgloss.Green)
	case middling:
		style = style.Foreground(lipgloss.Yellow)
	case bad:
		style = style.Foreground(lipgloss.Red)
	case strong:
		style = style.Bold(true)
	case selected:
		style = style.Reverse(true)
	}
	return style.Render(text)
}

// The number of lines of the screen that are not rows: two of the head, the tabs, the column heads, the detail, and
// the keys.
const (
	detailLines = 6
	otherLines  = 5 + detailLines
)

// visible returns how many rows are visible.
func (m *Model) visible() int { return max(m.height-otherLines, 1) }

// View returns the screen.
func (m *Model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = "karpenter top"
	return v
}

func (m *Model) screen() string {
	var b strings.Builder
	line := func(text string) { b.WriteString(text + "\n") }
	for _, text := range m.head() {
		line(text)
	}
	line(m.tabs())
	p, v := m.pages[m.page], &m.views[m.page]
	line(m.columnHeads(p, v))
	last := min(v.offset+m.visible(), len(v.rows))
	for i := v.offset; i < last; i++ {
		line(m.row(p, v.rows[i], v.rows[i].key == v.selected))
	}
	for i := last - v.offset; i < m.visible(); i++ {
		line("")
	}
	for _, text := range m.detail(v) {
		line(text)
	}
	b.WriteString(m.keys())
	return b.String()
}

// head returns the two lines about the whole cluster.
func (m *Model) head() []string {
	if !m.loaded {
		text := "reading the cluster ..."
		if m.err != nil {
			text = "error: " + m.err.Error()
		}
		return []string{fit(text, m.width), ""}
	}
	return headOf(m.data, m.width)
}

func headOf(d Data, width int) []string {
	pending, refused := 0, 0
	for _, p := range d.Pending {
		pending += p.Count
		if p.Outcome == "refused" {
			refused += p.Count
		}
	}
	money := fmt.Sprintf("$%.4f/h  lower bound $%.4f/h  $%s/month", d.DollarsPerHour, d.FloorPerHour,
		units.Grouped(int(d.DollarsPerHour*hoursPerMonth+0.5)))
	if d.Unpriced > 0 {
		money += fmt.Sprintf("  (%s of unknown price)", units.Counted(d.Unpriced, "node"))
	}
	return []string{
		fit(fmt.Sprintf("%s  cpu %s  memory %s  %s", units.Counted(len(d.Nodes), "node"), bar(d.CPU).text, bar(d.Memory).text, money), width),
		fit(fmt.Sprintf("%s running, %s pending (%s without a node)  %s UTC", units.Counted(d.RunningPods, "pod"), units.Grouped(pending),
			units.Grouped(refused), d.Time.Format("15:04:05")), width),
	}
}

// hoursPerMonth is the number of hours in a month of 365.25/12 days, rounded as cloud price lists do.
const hoursPerMonth = 730

// tabs returns the line with the names of the pages.
func (m *Model) tabs() string {
	var parts []string
	for i, p := range m.pages {
		text := fmt.Sprintf("%d %s", i+1, p.name)
		if i == m.page {
			text = paint("["+text+"]", strong)
		} else {
			text = " " + text + " "
		}
		parts = append(parts, text)
	}
	line := strings.Join(parts, " ")
	switch {
	case m.typing:
		line += "  search: " + m.search + "_"
	case m.search != "":
		line += "  search: " + m.search
	}
	if m.paused {
		line += "  " + paint("paused", middling)
	}
	if m.err != nil && m.loaded {
		line += "  " + paint("not current: "+fit(m.err.Error(), 40), bad)
	}
	return cutLine(line, m.width)
}

func (m *Model) columnHeads(p page, v *view) string {
	cells := make([]cell, len(p.columns))
	for i, c := range p.columns {
		title := c.title
		if i == v.sort {
			arrow := "↑"
			if v.reverse {
				arrow = "↓"
			}
			title += arrow
		}
		cells[i] = cell{text: title, as: strong}
	}
	return assemble(p.columns, cells, m.width, plain)
}

func (m *Model) row(p page, r row, chosen bool) string {
	as := plain
	if chosen {
		as = selected
	}
	return assemble(p.columns, r.cells, m.width, as)
}

// narrowCells is the width of a column below which a cell whose text does not fit shows its short text.
const narrowCells = 30

// assemble returns a line of cells in their columns, at most width cells wide. If as is selected, the whole line is
// highlighted.
func assemble(columns []column, cells []cell, width int, as highlight) string {
	var b strings.Builder
	left := width
	for i, c := range columns {
		if c.from > width || left <= 0 {
			continue
		}
		size := c.width
		if size == 0 || size > left {
			size = left
		}
		text := cells[i].text
		if size < narrowCells && cells[i].short != "" && utf8.RuneCountInString(text) > size {
			text = cells[i].short
		}
		text = fit(text, size)
		space := strings.Repeat(" ", size-utf8.RuneCountInString(text))
		switch {
		case as == selected && c.right:
			b.WriteString(space + text)
		case as == selected:
			b.WriteString(text + space)
		case c.right:
			b.WriteString(space + paint(text, cells[i].as))
		default:
			b.WriteString(paint(text, cells[i].as) + space)
		}
		left -= size
		if left > 0 {
			b.WriteString(" ")
			left--
		}
	}
	line := strings.TrimRight(b.String(), " ")
	if as == selected {
		return paint(line, selected)
	}
	return line
}

// detail returns detailLines lines: the help if it is switched on, otherwise the detail of the selected row.
func (m *Model) detail(v *view) []string {
	lines := make([]string, 0, detailLines)
	if m.help {
		lines = append(lines, fit("The column STAYS BECAUSE begins with the rule of the metric", m.width),
			fit("karpenter_voluntary_disruption_unrealized_savings_dollars_per_hour.", m.width),
			fit("Decisions are those that the controller has published. All else is computed here.", m.width))
	} else if len(v.rows) > 0 {
		for i, text := range v.rows[v.index()].detail {
			most := 3
			if i == 0 {
				most = 1
			}
			for _, part := range wrap(text, m.width, most) {
				as := plain
				if i == 0 {
					as = strong
				}
				lines = append(lines, paint(part, as))
			}
		}
	}
	for len(lines) < detailLines {
		lines = append(lines, "")
	}
	return lines[:detailLines]
}

func (m *Model) keys() string {
	v := &m.views[m.page]
	place := "0/0"
	if len(v.rows) > 0 {
		place = fmt.Sprintf("%d/%d", v.index()+1, len(v.rows))
	}
	return paint(fit(place+"  tab page  ↑↓ select  s sort  r reverse  / search  p pause  ? help  q quit", m.width), dim)
}

// fit cuts a text without colours to at most n cells.
func fit(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// cutLine cuts a text with colours to at most n cells.
func cutLine(text string, n int) string {
	return lipgloss.NewStyle().MaxWidth(n).Render(text)
}

// wrap breaks a text into at most most lines of n cells, at spaces if possible.
func wrap(text string, n, most int) []string {
	var out []string
	for len(out) < most-1 && utf8.RuneCountInString(text) > n && n > 0 {
		runes := []rune(text)
		at := n
		for at > n/2 && runes[at] != ' ' {
			at--
		}
		if at == n/2 {
			at = n
		}
		out = append(out, strings.TrimRight(string(runes[:at]), " "))
		text = strings.TrimLeft(string(runes[at:]), " ")
	}
	return append(out, fit(text, n))
}

// Text returns the head and the pages that have rows, without colours, in lines of at most width cells, for scripts.
func Text(d Data, width int) string {
	var b strings.Builder
	for _, line := range headOf(d, width) {
		b.WriteString(line + "\n")
	}
	for _, p := range pages() {
		rows := p.rows(d)
		if len(rows) == 0 {
			continue
		}
		heads := make([]cell, len(p.columns))
		for i, c := range p.columns {
			heads[i] = text(c.title)
		}
		b.WriteString("\n" + assemble(p.columns, heads, width, plain) + "\n")
		for _, r := range rows {
			for i := range r.cells {
				r.cells[i].as = plain
			}
			b.WriteString(assemble(p.columns, r.cells, width, plain) + "\n")
		}
	}
	return b.String()
}
