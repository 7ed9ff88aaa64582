package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenter-go/karpenter/internal/finding"
	"github.com/karpenter-go/karpenter/internal/lint"
)

// lintPage renders docs/lint.md. Its table has every rule, errors first.
func lintPage() []byte {
	var b bytes.Buffer
	b.WriteString(generated + `
# Lint: mistakes before they cost something

` + "`karpenter lint -f FILE|DIR|-`" + ` finds mistakes in manifests. The API server or the controller rejects some of them, no instance type
can meet others, and others work otherwise than they seem to. Each finding has a line and a fix. Nothing is sent over the network.

` + "```" + `sh
karpenter lint -f examples/quickstart
karpenter lint -f examples -o json | head -20
karpenter lint -f examples/quickstart -o sarif > karpenter.sarif
` + "```" + `

The exit code is 1 if there are errors, also if the input has no manifest; with warnings and notes alone it is 0. ` + "`-o sarif`" + ` writes
SARIF for code scanning, which shows the findings beside the lines.

## Rules

| Rule | Level | Finds |
|---|---|---|
`)
	level := func(r lint.Rule) int {
		return slices.Index([]finding.Level{finding.Error, finding.Warning, finding.Note}, r.Severity)
	}
	rules := slices.SortedStableFunc(slices.Values(lint.Rules), func(a, b lint.Rule) int { return cmp.Compare(level(a), level(b)) })
	for _, r := range rules {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Severity, r.About)
	}
	b.WriteString(`
## Instance types and zones

They are those of the built-in catalog, for the region of the zones that a NodePool requires, or ` + "`--region`" + `. Where the files have the
node class, its image family and disks count.

The catalog is [older than AWS](emulator.md#the-catalogue-and-how-old-it-is). So a zone that it lacks in a region that it has is a note.
So is an instance type or family that the AWS SDK names, or of a generation that the catalog lacks. If the instance types of a NodePool
depend on such a value, the rules about its types are not applied.
`)
	return b.Bytes()
}
