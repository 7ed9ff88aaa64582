package offline

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/api/admission"
	"github.com/karpenter-go/karpenter/cmd/karpenter/cli"
	"github.com/karpenter-go/karpenter/hack/manual"
	"github.com/karpenter-go/karpenter/hack/manual/awscli"
	"github.com/karpenter-go/karpenter/internal/operator"
)

var update = flag.Bool("update", false, "rewrite what the manual shows of commands that need no cluster")

// TestMain lets this test binary act as the programs that the manual calls: karpenter itself, and replacements of the others.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"karpenter": func() { os.Exit(cli.Run(os.Args[1:], operator.Version{Number: "dev"})) },
		"aws":       awscli.Main, "envsubst": envsubst,
	})
}

// pages returns the pages of the manual.
func pages(t *testing.T) []manual.Page {
	t.Helper()
	all, err := manual.Read("../../..")
	if err != nil {
		t.Error(err)
	}
	return all
}

// eachStep calls do with every step of the manual, in a subtest for its page.
func eachStep(t *testing.T, do func(t *testing.T, s *manual.Step)) {
	for _, page := range pages(t) {
		t.Run(filepath.Base(page.File), func(t *testing.T) {
			for i := range page.Steps {
				do(t, &page.Steps[i])
			}
		})
	}
}

// The shell blocks of a page run one after another in a directory with the examples, and print what the page shows. Blocks that
// need a cluster are run by local/e2e/manual, those that need a release by local/e2e/helm, and those that take minutes by
// hack/manual/long.
func TestManual(t *testing.T) {
	ran := 0
	shells := map[string]*manual.Shell{}
	eachStep(t, func(t *testing.T, s *manual.Step) {
		if s.Cluster || s.Release || s.Long {
			return
		}
		if shells[s.Page] == nil {
			shells[s.Page] = shell(t)
			shells[s.Page].Env = append(shells[s.Page].Env, serveAccount(t)...)
		}
		ran++
		out, err := shells[s.Page].Run(t.Context(), s)
		if err != nil {
			t.Errorf("%v\n%s\n%s", err, s.Command, out)
			return
		}
		if s.Output == nil {
			return
		}
		if diff := manual.Mismatch(s.Output, out, false); diff != "" && *update {
			if err := s.Rewrite(out); err != nil {
				t.Fatal(err)
			}
		} else if diff != "" {
			t.Errorf("%s prints something else (cd hack && go test ./manual/offline -run TestManual -update rewrites the page):\n%s", s.Where(), diff)
		}
	})
	if ran < 10 {
		t.Errorf("ran %d commands", ran)
	}
}

// shell returns a shell in a directory like a clone of the repository. In it, karpenter and bin/karpenter are this test binary
// (see TestMain).
func shell(t *testing.T) *manual.Shell {
	t.Helper()
	dir := t.TempDir()
	self, err := exec.LookPath("karpenter")
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"bin": filepath.Dir(self)}
	for _, name := range []string{"examples", "charts", "deploy"} {
		if links[name], err = filepath.Abs("../../../" + name); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return &manual.Shell{Dir: dir, State: t.TempDir(), Env: append(os.Environ(), "NO_COLOR=1")}
}

// The API server accepts the manifests of this project's kinds that the manual shows.
func TestManualsManifestsAreAccepted(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range pages(t) {
		for _, b := range page.Blocks {
			if b.Language != "yaml" {
				continue
			}
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(b.Text), &o.Object); err != nil && !strings.HasPrefix(b.Text, "- ") {
				t.Errorf("%s: %v", b.Where(), err)
			}
			if !checker.Knows(o.GroupVersionKind()) {
				continue
			}
			checked++
			if _, errs := checker.Create(context.Background(), o); len(errs) > 0 {
				t.Errorf("%s: %v", b.Where(), errs.ToAggregate())
			}
		}
	}
	if checked < 3 {
		t.Errorf("checked %d manifests", checked)
	}
}
