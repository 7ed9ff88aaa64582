package e2e

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Up and Down are the headers of the two tables that Rows fills.
const (
	Up = `| Controller | Pods | Made within | First claims | Half run | All run | Planned | Needed | Price / floor | Peak memory | CPU |
|---|---|---|---|---|---|---|---|---|---|---|
`
	Down = `| Controller | Pods | Within 5% of the floor | Last change | Price / floor at the end | Nodes | In the course of time |
|---|---|---|---|---|---|---|
`
)

// Rows returns the result as a row of each table. If no claim was created, as without a controller, the row for the
// scale-in is empty.
func (r Result) Rows() (up, down string) {
	who, made := r.Name, seconds(r.Made)
	if r.MaxCPU > 0 {
		who += fmt.Sprintf(", nodes of up to %d cores", r.MaxCPU)
	}
	if r.FirstClaim == 0 {
		return fmt.Sprintf("| %s | %d | %s | – | %s | %s | – | %d | – | – | – |\n",
			who, r.Pods, made, seconds(r.HalfRun), seconds(r.AllRun), r.Needed), ""
	}
	up = fmt.Sprintf("| %s | %d | %s | %s | %s | %s | %d | %d | %.3f | %d MB | %.1f s |\n", who, r.Pods, made, seconds(r.FirstClaim),
		seconds(r.HalfRun), seconds(r.AllRun), r.Planned, r.Needed, r.OverFloor, r.Usage.PeakMB, r.Usage.CPU.Seconds())
	reached := "never"
	if r.Near >= 0 {
		reached = seconds(r.Near)
	}
	down = fmt.Sprintf("| %s | %d to %d | %s | %s | %.3f | %d | %s |\n", who, r.Pods, r.Left, reached, seconds(r.Settled), r.Finally,
		r.FinalNodes, r.course())
	return up, down
}

// course returns the ratio of price and lower bound at about six moments of the scale-in.
func (r Result) course() string {
	const moments = 6
	var parts []string
	for i, p := range r.Course {
		if i == 0 || i == len(r.Course)-1 || i*moments/len(r.Course) != (i-1)*moments/len(r.Course) {
			parts = append(parts, fmt.Sprintf("%.2f at %.0fs", p.OverFloor, p.At.Seconds()))
		}
	}
	return strings.Join(parts, ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// The marks between which Write replaces the text.
const (
	begin = "<!-- make bench-e2e writes from here -->\n"
	end   = "<!-- to here -->\n"
)

// Write puts text between the marks of a file.
func Write(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the lines %q and %q", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}
