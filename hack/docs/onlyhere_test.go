package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/hack/upstream"
)

// The section "Only here" of docs/compat.md names every flag, metric, event and own annotation that upstream does not have.
func TestOnlyHereIsComplete(t *testing.T) {
	names, h := upstreamAndHere(t)
	_, section, found := strings.Cut(page(t, "compat.md"), "\n## Only here\n")
	if !found {
		t.Fatal("docs/compat.md has no section Only here")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	listed := namesIn(section)
	for kind, prefix := range map[string]string{"flags": "--", "metrics": "", "events": ""} {
		seen := 0
		for name := range h[kind] {
			if hasName(names[kind], name) || ofConditions(name) {
				continue
			}
			seen++
			if !listed[prefix+name] {
				t.Errorf("docs/compat.md, Only here: %s%s (%s) is missing", prefix, name, kind)
			}
		}
		if seen == 0 {
			t.Errorf("upstream has all %s, so the comparison is wrong", kind)
		}
	}
	for name := range h["annotations"] {
		short, own := strings.CutPrefix(name, "ext.karpenter.sh/")
		if own && short != "" && !listed[name] && !listed[short] {
			t.Errorf("docs/compat.md, Only here: %s is missing", name)
		}
	}
}

// ofConditions reports whether the name is a metric of status conditions. Each kind has the same set of them.
func ofConditions(name string) bool { return strings.HasPrefix(name, "operator_") }

func hasName(list []upstream.Name, name string) bool {
	return slices.ContainsFunc(list, func(n upstream.Name) bool { return n.Name == name })
}

// namesIn returns the names in backquotes, without effects of taints and the like after a colon.
func namesIn(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		name, _, _ := strings.Cut(m[1], ":")
		out[name] = true
	}
	return out
}
