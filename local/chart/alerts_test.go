package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/local/prometheus"
)

// Every alert fires in an incident of testdata/alerts.yaml, with its labels and texts, and does not fire in a quiet time.
// promtool evaluates the alerts as Prometheus does.
func TestAlertsFire(t *testing.T) {
	promtool, err := prometheus.Find("promtool")
	if err != nil {
		t.Skip("alerts were not evaluated:", err)
	}
	dir := t.TempDir()
	rules := read(t, charts+"karpenter/alerts/rules.yaml")
	for name, text := range map[string][]byte{"rules.yaml": rules, "alerts.yaml": read(t, "testdata/alerts.yaml")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "alerts.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// alertsOf returns the expressions of the alerts by name.
func alertsOf(t *testing.T) map[string]string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(read(t, charts+"karpenter/alerts/rules.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			out[r.Alert] = r.Expr
		}
	}
	return out
}

// Each alert has an incident and a quiet time in the test data. The manual describes it with its expression.
func TestAlertsAreDescribed(t *testing.T) {
	staged, manual := string(read(t, "testdata/alerts.yaml")), string(read(t, "../../docs/alerts.md"))
	for name, expr := range alertsOf(t) {
		for _, kind := range []string{" incident\n", " quiet\n"} {
			if !strings.Contains(staged, "- name: "+name+kind) {
				t.Errorf("testdata/alerts.yaml has no%sof %s", kind, name)
			}
		}
		if !strings.Contains(manual, "`"+name+"`") {
			t.Errorf("docs/alerts.md does not describe %s", name)
		}
		if !strings.Contains(manual, "`"+strings.ReplaceAll(expr, "|", `\|`)+"`") {
			t.Errorf("docs/alerts.md does not have the expression of %s: %s", name, expr)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The runbook of each alert is a page of the manual. Its address begins with the home page of the chart.
func TestRunbooks(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(read(t, charts+"karpenter/alerts/rules.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	home := load(t, "karpenter").Metadata.Home
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			page := r.Annotations["runbook"]
			if _, err := os.Stat("../../" + page); err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			}
			if got, want := r.Annotations["runbook_url"], home+"/blob/main/"+page; got != want {
				t.Errorf("%s: runbook_url is %s, want %s", r.Alert, got, want)
			}
		}
	}
}
