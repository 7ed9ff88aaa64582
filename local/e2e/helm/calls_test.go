package helm

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helmcmd "helm.sh/helm/v4/pkg/cmd"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"

	"github.com/karpenter-go/karpenter/hack/manual"
)

// The commands and flags of helm and kubectl in the manual exist, and the values that they set are values of the chart. This is
// also checked for blocks that are not run.
func TestManualCallsWhatIsThere(t *testing.T) {
	pages, err := manual.Read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range pages {
		for i := range page.Steps {
			calls, err := page.Steps[i].Calls()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				if root := programOf(t, c.Args); root != nil {
					seen++
					parse(t, page.Steps[i].Where(), root, c.Args[1:])
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("saw %d calls", seen)
	}
}

// programOf returns the command of a program that the test supports.
func programOf(t *testing.T, args []string) *cobra.Command {
	t.Helper()
	switch args[0] {
	case "helm":
		root, err := helmcmd.NewRootCmd(io.Discard, args[1:], func(bool) {})
		if err != nil {
			t.Fatal(err)
		}
		return root
	case "kubectl":
		return kubectl.NewKubectlCommand(kubectl.KubectlOptions{IOStreams: genericiooptions.NewTestIOStreamsDiscard()})
	}
	return nil
}

// parse checks the command, the flags and the values of one call.
func parse(t *testing.T, where string, root *cobra.Command, args []string) {
	c, rest, err := root.Find(args)
	if err == nil && c == root {
		err = cobra.NoArgs(c, rest[:min(1, len(rest))])
	}
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		t.Errorf("%s: %s %s: %v", where, root.Name(), strings.Join(args, " "), err)
		return
	}
	set := c.Flags().Lookup("set")
	if root.Name() != "helm" || set == nil {
		return
	}
	chart, err := loader.LoadDir("../../../charts/karpenter")
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range strings.Split(strings.Trim(set.Value.String(), "[]"), ",") {
		key, _, assigned := strings.Cut(pair, "=")
		var at any = map[string]any(chart.Values)
		for name := range strings.SplitSeq(key, ".") {
			inside, ok := at.(map[string]any)
			if at = inside[name]; assigned && (!ok || !has(inside, name)) {
				t.Errorf("%s: the chart has no value %s", where, key)
			}
		}
	}
}

func has(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok
}
