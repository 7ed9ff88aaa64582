package interruption

import (
	"fmt"
	"strings"
	"time"
)

// String returns the action as text: the claim and the kind of notice, then one line for each step.
func (a Action) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	fmt.Fprintf(&b, "%s: %s\n", a.Claim.Name, a.Notice.Kind)
	if a.Unavailable != "" {
		line("record %s capacity as unavailable", a.Unavailable)
	}
	if a.Told.Reason != "" {
		line("tell %s", a.Told)
	}
	if !a.Deadline.IsZero() {
		line("set deadline %s", a.Deadline.UTC().Format(time.RFC3339))
	}
	if a.Delete {
		line("delete the claim")
	}
	if a.Ended.Reason != "" {
		line("tell %s", a.Ended)
	}
	if a.Cordon {
		line("cordon node %s", a.Node.Name)
	}
	return b.String()
}

func (e Event) String() string { return fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message) }
