package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/hack/upstream"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Every name of upstream is the same in this project, or has a note about the difference.
func TestUpstreamNames(t *testing.T) {
	names, h := upstreamAndHere(t)
	for section, list := range names {
		if section == "dashboards" {
			continue
		}
		for i, n := range list {
			if wrong := h.mistake(section, n); wrong != "" {
				t.Errorf("names.txt, %s, %s: %s", section, n.Name, wrong)
			}
			if slices.ContainsFunc(list[:i], func(o upstream.Name) bool { return o.Name == n.Name }) {
				t.Errorf("names.txt, %s: %s is listed twice", section, n.Name)
			}
		}
	}
	if len(names["metrics"]) < 80 || len(names["flags"]) < 35 || len(names["chart"]) < 80 {
		t.Errorf("%d metrics, %d flags and %d values of the chart are too few", len(names["metrics"]), len(names["flags"]), len(names["chart"]))
	}
}

func upstreamAndHere(t *testing.T) (map[string][]upstream.Name, here) {
	t.Helper()
	names, err := upstream.Names()
	if err != nil {
		t.Fatal(err)
	}
	h, err := whatIsHere("../..")
	if err != nil {
		t.Fatal(err)
	}
	return names, h
}

// The metrics and labels in queries of public dashboards exist.
func TestDashboardsFindTheirMetrics(t *testing.T) {
	names, h := upstreamAndHere(t)
	var ofNodes []string
	for _, label := range telemetry.MetricLabels(wellKnownLabels()) {
		ofNodes = append(ofNodes, label)
	}
	if len(names["dashboards"]) < 30 {
		t.Errorf("only %d metrics of dashboards", len(names["dashboards"]))
	}
	for _, n := range names["dashboards"] {
		have, there := h["metrics"][n.Name]
		if !there {
			t.Errorf("a dashboard uses %s, which does not exist", n.Name)
			continue
		}
		labels := strings.Fields(have[1])
		switch have[0] {
		case "histogram":
			labels = append(labels, "le")
		case "summary":
			labels = append(labels, "quantile")
		}
		if slices.Contains(labels, "NODE") {
			labels = slices.Concat(labels, []string{"node_name", "phase", "managed"}, ofNodes)
		}
		for _, label := range strings.Fields(n.Columns[0]) {
			if !slices.Contains(labels, label) {
				t.Errorf("a dashboard uses the label %s of %s, which has %s", label, n.Name, have[1])
			}
		}
	}
}

// A wrong note is found: a missing note, an outdated note, and a note that calls a name absent although it only differs.
func TestMistakesInNotes(t *testing.T) {
	h := here{"flags": {"a": {"A", "1m0s"}}, "metrics": {"m": {"counter", "x y"}}, "events": {"E": {"Normal", "Node Pod"}}}
	for _, tt := range []struct{ section, line, want string }{
		{"flags", "a | A | 1m", ""},
		{"flags", "a | A | 2m", "a note is missing: default"},
		{"flags", "a | A | 2m | differs: one minute", ""},
		{"flags", "a | A | 2m | absent: no minute", "does not agree with"},
		{"flags", "a | A | 1m | differs: one minute", "outdated"},
		{"flags", "a | A | 1m | limited: without effect", ""},
		{"flags", "a | A | 2m | limited: without effect", "does not agree with"},
		{"flags", "b | B | 1m | limited: without effect", "does not agree with"},
		{"flags", "b | B | 1m", "a note is missing: it is not in the code"},
		{"flags", "b | B | 1m | absent: no need", ""},
		{"metrics", "m | counter | y x | x: 1 2", ""},
		{"metrics", "m | gauge | y x |", "a note is missing: type"},
		{"metrics", "m | counter | y |", "a note is missing: labels"},
		{"events", "E | - | Pod", ""},
		{"events", "E | Normal | Pod NodePool", "kind NodePool"},
	} {
		n, err := upstream.ParseName(tt.line, upstream.Columns[tt.section])
		if err != nil {
			t.Fatal(err)
		}
		if got := h.mistake(tt.section, n); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: mistake is %q, want %q", tt.line, got, tt.want)
		}
	}
}
