package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/karpenter-go/karpenter/hack/upstream"
)

// sectionTitles are the sections of the page in order, with the titles of their columns.
var sectionTitles = []struct {
	section, title string
	columns        []string
}{
	{"metrics", "Metrics", []string{"Metric", "Type", "Labels", "Values"}},
	{"controllers", "Controllers", []string{"Name"}},
	{"events", "Events", []string{"Reason", "Type", "Objects"}},
	{"conditions", "Conditions", []string{"Type", "Objects"}},
	{"flags", "Flags and environment variables", []string{"Flag", "Variable", "Default"}},
	{"gates", "Feature gates", []string{"Gate", "Default"}},
	{"gates of AWS", "Feature gates of the AWS provider", []string{"Gate", "Default"}},
	{"chart", "Chart values", []string{"Value", "Default"}},
	{"annotations", "Annotations", []string{"Annotation", "Objects"}},
	{"labels", "Labels", []string{"Label", "Objects"}},
	{"taints", "Taints", []string{"Taint", "Effect"}},
	{"finalizers", "Finalizers", []string{"Finalizer", "Objects"}},
}

// upstreamPage renders docs/upstream-names.md.
func upstreamPage(names map[string][]upstream.Name) []byte {
	var b bytes.Buffer
	b.WriteString(generated + `
# Names of Karpenter 1.15

For users of upstream Karpenter 1.15 who move dashboards, manifests or values. Each name of core 1.15.1 and of the AWS provider 1.15.1,
and whether it is the same here. A test compares each row with the code. What only this project has: [compatibility](compat.md#only-here).

- NODE stands for the labels ` + "`node_name`, `phase`, `managed`" + ` and one label for each well-known label of nodes.
- KIND stands for ` + "`nodeclaim`, `nodepool`, `node`, `capacitybuffer`" + ` or a node class.
- Values lists the label values that upstream fixes.
- Controllers are values of the label ` + "`controller`" + ` in ` + "`karpenter_*`, `controller_runtime_*` and `workqueue_*`" + `, and of the
  label ` + "`name`" + ` in ` + "`workqueue_*`" + `. A query for an absent one finds nothing; the note says where its work is done.
- *Limited* names are read or written as upstream does, but do not do everything that they do there.
- A dash as default stands for a value that is a list or an object.
`)
	for _, s := range sectionTitles {
		fmt.Fprintf(&b, "\n## %s\n\n| %s | Here |\n|%s\n", s.title, strings.Join(s.columns, " | "), strings.Repeat("---|", len(s.columns)+1))
		for _, n := range names[s.section] {
			cells := make([]string, 0, len(n.Columns)+2)
			cells = append(cells, "`"+n.Name+"`")
			for _, c := range n.Columns {
				cells = append(cells, plainCell(c))
			}
			fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(cells, " | "), stateOf(n))
		}
	}
	return b.Bytes()
}

// plainCell returns the text of a column for the page.
func plainCell(text string) string {
	if text == "" || text == "-" {
		return "–"
	}
	return text
}

// stateOf returns the text of a note for the page.
func stateOf(n upstream.Name) string {
	if n.Note == "" {
		return "same"
	}
	return n.Note
}
