package disrupt

import (
	"fmt"
	"strings"
)

// String returns the decision as text, in the form that the scenarios expect.
func (d Decision) String() string {
	var b strings.Builder
	for _, n := range d.Launches {
		b.WriteString("launch " + n.Pool.Name + " " + n.Options[0].Name + "\n")
	}
	for _, n := range d.Surplus {
		b.WriteString("surplus " + n.Name + "\n")
	}
	for _, short := range d.Short {
		fmt.Fprintf(&b, "short %s, %d nodes: %s\n", short.Pool.Name, short.Nodes, short.Verdict)
	}
	for _, c := range d.Commands {
		b.WriteString(c.String() + "\n")
	}
	for _, c := range d.Proposed {
		b.WriteString("proposed: " + c.String() + "\n")
	}
	for _, x := range d.Blocked {
		b.WriteString("blocked " + x.Node.Name + ": " + x.Verdict.String() + "\n")
	}
	return b.String()
}
