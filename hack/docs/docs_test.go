package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// The generated pages are up to date.
func TestFilesAreFresh(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Error(err)
	}
}

func TestCheckFindsStaleFiles(t *testing.T) {
	root := t.TempDir()
	if err := run(root, true); err == nil {
		t.Error("missing files pass")
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Errorf("fresh files fail: %v", err)
	}
	path := filepath.Join(root, "docs", "events.md")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err == nil || !strings.Contains(err.Error(), "events.md is stale") {
		t.Errorf("error is %v", err)
	}
}

func TestDeclarations(t *testing.T) {
	const source = `package p
var (
	a = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "karpenter", Subsystem: "x", Name: "bytes", Help: "Size " + "of x.", Buckets: f(),
	}, []string{"zone", "type"})
	b = prometheus.NewCounter(prometheus.CounterOpts{Name: "karpenter_y_total", Help: "Ys."})
	c = prometheus.NewRegistry()
	d = other.NewCounter(name)
	e = prometheus.NewDesc("karpenter_z", "Zs.", []string{"zone"}, nil)
)`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got, err := declarations(set, file)
	if err != nil {
		t.Fatal(err)
	}
	want := []telemetry.Declaration{
		{Name: "karpenter_x_bytes", Type: "gauge", Labels: []string{"zone", "type"}, Help: "Size of x."},
		{Name: "karpenter_y_total", Type: "counter", Help: "Ys."},
		{Name: "karpenter_z", Type: "gauge", Labels: []string{"zone"}, Help: "Zs."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadableDeclarations(t *testing.T) {
	for _, source := range []string{
		`prometheus.NewCounter(options)`,
		`prometheus.NewCounter(prometheus.CounterOpts{Name: name})`,
		`prometheus.NewCounterVec(prometheus.CounterOpts{Name: "a"}, labels)`,
		`prometheus.NewCounterVec(prometheus.CounterOpts{Name: "a"}, []string{label})`,
		`prometheus.NewDesc(name, "Zs.", nil, nil)`,
		`prometheus.NewDesc("karpenter_z", help, nil, nil)`,
		`prometheus.NewDesc("karpenter_z", "Zs.", labels, nil)`,
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "p.go", "package p\nvar a = "+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := declarations(set, file); err == nil {
			t.Errorf("%s is read as %v", source, got)
		}
	}
}

func TestSettingsNameFlagVariableAndDefault(t *testing.T) {
	page := string(settingsPage())
	for _, line := range []string{
		"| `--batch-idle-duration` | `BATCH_IDLE_DURATION` | `1s` |",
		"| `--provider` | `KARPENTER_PROVIDER` | `aws` |",
		"| `--cluster-name` | `CLUSTER_NAME` | – |",
		"| `ReservedCapacity` | true |",
	} {
		if !strings.Contains(page, line) {
			t.Errorf("there is no line %s", line)
		}
	}
	if strings.Count(page, "[") != strings.Count(page, "](") {
		t.Error("a variable is left in the meaning of a flag")
	}
}
