package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/api/admission"
	"github.com/karpenter-go/karpenter/internal/manual"
)

var update = flag.Bool("update", false, "rewrite what the manual shows of commands that need no cluster")

// pages returns the pages of the manual.
func pages(t *testing.T) []manual.Page {
	t.Helper()
	all, err := manual.Read("../..")
	if err != nil {
		t.Error(err)
	}
	return all
}

// eachStep calls do with every step of the manual, as a test of its page.
func eachStep(t *testing.T, do func(t *testing.T, s *manual.Step)) {
	for _, page := range pages(t) {
		t.Run(filepath.Base(page.File), func(t *testing.T) {
			for i := range page.Steps {
				do(t, &page.Steps[i])
			}
		})
	}
}

// What the manual shows of shell runs as it stands, block after block of a page in a directory with the examples, and prints
// what it shows. What needs a cluster is run by local/e2e/manual, releases by local/e2e/helm, what takes
// minutes by internal/manual/long.
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
			t.Errorf("%s prints something else (go test ./cmd/karpenter -run TestManual -update rewrites the page):\n%s", s.Where(), diff)
		}
	})
	if ran < 10 {
		t.Errorf("ran %d commands", ran)
	}
}

// shell returns a shell in a directory like a clone, where karpenter and bin/karpenter are this test, by TestMain.
func shell(t *testing.T) *manual.Shell {
	t.Helper()
	dir := t.TempDir()
	self, err := exec.LookPath("karpenter")
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"bin": filepath.Dir(self)}
	for _, name := range []string{"examples", "charts", "deploy"} {
		if links[name], err = filepath.Abs("../../" + name); err != nil {
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

// programs are what the manual may ask of a reader's machine, beside our own.
var programs = []string{"make", "kubectl", "helm", "aws", "skopeo", "bash", "curl", "grep", "head", "tail", "sed", "basename", "envsubst",
	"go", "set", "export", ".", "cd", "cat", "bin/bench", "bin/karpenter-local"}

// Every program that the manual calls is one that a reader has, and what it calls of ours, of make and of kubectl exists:
// commands, flags, targets, files. This holds for blocks that other tests run, too.
func TestManualCallsWhatIsThere(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	eachStep(t, func(t *testing.T, s *manual.Step) {
		calls, err := s.Calls()
		if err != nil {
			t.Error(err)
		}
		for _, c := range calls {
			program, args := c.Args[0], c.Args[1:]
			switch {
			case program == "karpenter" || program == "bin/karpenter":
				if err := parses(newRoot(), args); err != nil {
					t.Errorf("%s: karpenter %s: %v", s.Where(), strings.Join(args, " "), err)
				}
			case program == "make":
				makes(t, s, string(makefile), args)
			case !slices.Contains(programs, program):
				t.Errorf("%s: %s: no page says that a reader needs it", s.Where(), program)
			}
		}
	})
}

// parses returns an error unless root has the command that args name, with their flags and number of arguments.
func parses(root *cobra.Command, args []string) error {
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	c.InitDefaultHelpFlag()
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if c.Args == nil {
		return nil
	}
	return c.Args(c, c.Flags().Args())
}

// makes checks targets and variables of make.
func makes(t *testing.T, s *manual.Step, makefile string, args []string) {
	for _, arg := range args {
		name, _, variable := strings.Cut(arg, "=")
		want := "\n" + name + ":"
		if variable {
			want = "\n" + name + " "
		}
		if !strings.Contains(makefile, want) {
			t.Errorf("%s: make %s: the Makefile has no %s", s.Where(), arg, name)
		}
	}
}

// The manifests of our kinds that the manual shows are accepted by the API server.
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

// Every command shows by example how it is called, and each example is one that it takes.
func TestHelpHasExamples(t *testing.T) {
	seen := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if c.Runnable() && c.HasParent() && c.Name() != "help" && c.Name() != "completion" {
			seen++
			exampled(t, c)
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(newRoot())
	if seen < 10 {
		t.Errorf("looked at %d commands", seen)
	}
}

// exampled checks the examples of a command.
func exampled(t *testing.T, c *cobra.Command) {
	if c.Example == "" {
		t.Errorf("%s --help has no examples", c.CommandPath())
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" {
			t.Errorf("%s --%s says nothing", c.CommandPath(), f.Name)
		}
	})
	block := &manual.Block{Page: c.CommandPath() + " --help", Language: "sh", Text: c.Example}
	calls, err := (&manual.Step{Block: block, Command: c.Example}).Calls()
	if err != nil {
		t.Error(err)
	}
	own := false
	for _, call := range calls {
		if call.Args[0] != "karpenter" {
			continue
		}
		own = own || strings.HasPrefix(strings.Join(call.Args, " ")+" ", c.CommandPath()+" ")
		if err := parses(newRoot(), call.Args[1:]); err != nil {
			t.Errorf("%s --help shows %v: %v", c.CommandPath(), call.Args, err)
		}
	}
	if c.Example != "" && !own {
		t.Errorf("%s --help has no example of it", c.CommandPath())
	}
}
