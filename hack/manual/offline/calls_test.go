package offline

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/cmd/karpenter/cli"
	"github.com/karpenter-go/karpenter/hack/manual"
	"github.com/karpenter-go/karpenter/internal/operator"
)

// programs are the programs, besides those of this project, that commands of the manual may run on a reader's
// machine.
var programs = []string{"make", "kubectl", "helm", "aws", "skopeo", "bash", "curl", "grep", "head", "tail", "sed", "basename", "envsubst",
	"go", "set", "export", ".", "cd", "cat", "bin/bench", "bin/karpenter-local"}

// The manual uses only programs that a reader has. Commands, flags, targets and files of this project, of make and of kubectl
// that it names exist. This is also checked for blocks that other tests run.
func TestManualCallsWhatIsThere(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
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
				if err := parses(cli.New(operator.Version{}), args); err != nil {
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

// parses returns an error unless root has the command that args name, and accepts its flags and number of arguments.
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

// makes checks that the Makefile has the targets and variables in args.
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

// contractTargets are the targets of make that scripts outside the project use. Their names are fixed.
var contractTargets = []string{"build", "bin/karpenter", "up", "down", "check", "unit", "test", "test-all", "bench-e2e", "bench", "bench-peers",
	"sim", "sim-score", "dashboard-shots"}

func TestMakefileHasTargetsOfScripts(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range contractTargets {
		if !strings.Contains(string(makefile), "\n"+target+":") {
			t.Errorf("the Makefile has no target %s", target)
		}
	}
}

// The help of every command has an example, and the command accepts each of its examples.
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
	look(cli.New(operator.Version{}))
	if seen < 10 {
		t.Errorf("looked at %d commands", seen)
	}
}

// exampled reports mistakes in the examples of a command.
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
		if err := parses(cli.New(operator.Version{}), call.Args[1:]); err != nil {
			t.Errorf("%s --help shows %v: %v", c.CommandPath(), call.Args, err)
		}
	}
	if c.Example != "" && !own {
		t.Errorf("%s --help has no example of it", c.CommandPath())
	}
}
