package report

import (
	"fmt"
	"strings"

	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// narrow is the number of columns below which a timeline omits the kind, the numbers of nodes and the evictions, so
// that the decision has space.
const narrow = 110

// TimelineHead returns the head of a timeline.
func (s Style) TimelineHead(columns int) string {
	if columns < narrow {
		return s.dim("TIME      STATE       SAVES $/H  DECISION") + "\n"
	}
	return s.dim("TIME      KIND          STATE      NODES  EVICTED   SAVES $/H  DECISION") + "\n"
}

// Episode renders an episode in one line of at most columns cells. If wide is set, the line is not cut, and cause,
// refused alternatives and effects follow in lines of their own.
func (s Style) Episode(e decisions.Episode, columns int, wide bool) string {
	saves := e.DollarsBefore - e.DollarsAfter
	evicted := "-"
	if e.EvictionsPlanned > 0 || e.Evictions > 0 {
		evicted = fmt.Sprintf("%d/%d", e.Evictions, max(e.Evictions, e.EvictionsPlanned))
	}
	money := "-"
	if saves != 0 {
		money = fmt.Sprintf("%+.4f", saves)
	}
	state := fmt.Sprintf("%-9s", e.State)
	switch e.State {
	case decisions.StateOpen:
		state = s.yellow(state)
	case decisions.StateDone:
		state = s.green(state)
	default:
		state = s.red(state)
	}
	text := e.Decision
	if e.Action == "refuse" && len(e.Refused) > 0 {
		text = refusal(e.Refused[0])
	}
	head := fmt.Sprintf("%s  %-12s  %s  %5s  %7s  %10s  ", e.Time.UTC().Format("15:04:05"), e.Kind, state,
		nodesOf(e), evicted, money)
	if columns < narrow {
		head = fmt.Sprintf("%s  %s  %10s  ", e.Time.UTC().Format("15:04:05"), state, money)
	}
	if !wide {
		return head + s.fit(text, columns-width(head)) + "\n"
	}
	var b strings.Builder
	b.WriteString(head + text + "\n")
	for _, line := range s.details(e) {
		b.WriteString("          " + line + "\n")
	}
	return b.String()
}

// nodesOf returns the numbers of launched and removed nodes: "+3", "-1" or "+1-2".
func nodesOf(e decisions.Episode) string {
	text := ""
	if e.LaunchedNodes > 0 {
		text = fmt.Sprintf("+%d", e.LaunchedNodes)
	}
	if e.RemovedNodes > 0 && e.Action != "reboot" {
		text += fmt.Sprintf("-%d", e.RemovedNodes)
	}
	if text == "" {
		return "0"
	}
	return text
}

// details returns the cause, the refused alternatives and the effects of an episode.
func (s Style) details(e decisions.Episode) []string {
	lines := []string{s.dim("id: ") + e.ID, s.dim("cause: ") + e.Cause}
	for _, r := range e.Refused[:min(len(e.Refused), most)] {
		lines = append(lines, s.dim("refused: ")+refusal(r))
		if r.Fix != "" {
			lines = append(lines, "  "+s.dim("fix: ")+r.Fix)
		}
	}
	if more := len(e.Refused) - most; more > 0 {
		lines = append(lines, s.dim("refused: ")+units.Counted(more, "other alternative"))
	}
	for _, f := range e.Effects[max(0, len(e.Effects)-most):] {
		lines = append(lines, s.Effect(f))
	}
	return lines
}

// Effect renders an effect in one line, without a line end.
func (s Style) Effect(f decisions.Effect) string {
	kind := string(f.Kind)
	if f.Kind == decisions.EffectFailed || f.Kind == decisions.EffectCancelled {
		kind = s.red(kind)
	}
	text := f.Time.UTC().Format("15:04:05") + " " + kind + " " + f.Object
	if f.Message != "" {
		text += ": " + f.Message
	}
	return text
}

// refusal returns a refused alternative in one line, without its fix.
func refusal(r decisions.Refusal) string {
	text := r.Subject
	if r.Count > 1 {
		text += fmt.Sprintf(" and %d more", r.Count-1)
	}
	text += ": " + r.Reason
	if r.DollarsPerHour > 0.00005 {
		text += fmt.Sprintf(" ($%.4f/h)", r.DollarsPerHour)
	}
	return text
}

// fit cuts the text to at most n cells. The text must not contain colour codes.
func (s Style) fit(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if width(text) <= n {
		return text
	}
	runes := []rune(text)
	return string(runes[:n-1]) + "…"
}
