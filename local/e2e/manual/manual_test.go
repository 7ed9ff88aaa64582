package manual

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/karpenter-go/karpenter/hack/manual"
)

// root is the root directory of the repository.
const root = "../../.."

var binaries = flag.String("binaries", root+"/bin", "where karpenter-local and karpenter are")

// first has the pages that short runs test. Long runs test all pages.
var first = []string{"README.md"}

func TestManual(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no cluster, no end-to-end tests")
	}
	pages, err := manual.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages {
		steps := slices.DeleteFunc(page.Steps, func(s manual.Step) bool { return !s.Cluster })
		if len(steps) == 0 {
			continue
		}
		t.Run(filepath.Base(page.File), func(t *testing.T) {
			if os.Getenv("KARPENTER_LONG") == "" && !slices.Contains(first, filepath.Base(page.File)) {
				t.Skip("set KARPENTER_LONG=1 to follow all pages")
			}
			follow(t, steps)
			ran++
		})
	}
	if ran < len(first) {
		t.Errorf("followed %d pages", ran)
	}
}

// starts matches commands that start a cluster.
var starts = regexp.MustCompile(`\bmake up\b|karpenter-local up\b`)

// follow runs the steps of a page in order.
func follow(t *testing.T, steps []manual.Step) {
	dir := clone(t)
	shell := &manual.Shell{Dir: dir, State: t.TempDir(), Env: environment(t, dir)}
	t.Cleanup(func() { say(t, shell, "bin/karpenter-local down") })
	if !starts.MatchString(steps[0].Command) {
		say(t, shell, "bin/karpenter-local up")
	}
	for i := range steps {
		s := &steps[i]
		t.Logf("%s: %s", s.Where(), strings.TrimSpace(s.Command))
		if problem := try(t.Context(), shell, s); problem != "" {
			t.Fatalf("%s\n%s", s.Where(), problem)
		}
	}
}

// looks matches commands that change nothing. They may be repeated until they print the output of the page.
var looks = regexp.MustCompile(`^(KUBECONFIG=\S+ )?(bin/karpenter-local )?(kubectl (get|describe|wait)|aws (instances|calls)|logs|status|(bin/)?karpenter (plan|explain|doctor)) ?`)

// patience bounds the time after which such a command must print the output of the page, on a busy machine.
const patience = 5 * time.Minute

// try runs a step and returns what is wrong, "" if nothing is. A command that changes nothing is repeated until it prints the
// expected output, as a reader would repeat it.
func try(ctx context.Context, shell *manual.Shell, s *manual.Step) string {
	problem := ""
	once := func(ctx context.Context) (bool, error) {
		out, err := shell.Run(ctx, s)
		problem = ""
		if err != nil {
			problem = fmt.Sprintf("%v\n%s", err, out)
		} else if s.Output != nil {
			if diff := manual.Mismatch(s.Output, out, true); diff != "" {
				problem = fmt.Sprintf("%s\nit printed\n%s", diff, out)
			}
		}
		return problem == "" || !looks.MatchString(s.Command), nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := wait.PollUntilContextCancel(ctx, time.Second, true, once); err != nil && problem == "" {
		return err.Error()
	}
	return problem
}

// say runs a command that is not part of a page.
func say(t *testing.T, shell *manual.Shell, command string) {
	t.Helper()
	s := &manual.Step{Block: &manual.Block{Page: "(the test)", Language: "sh", Text: command}, Command: command}
	if out, err := shell.Run(context.WithoutCancel(t.Context()), s); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

// clone creates a directory that looks like a clone in which everything is built. Its files are links. Files that the commands
// create belong to the directory alone.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := manual.Clone(root, dir); err != nil {
		t.Fatal(err)
	}
	link(t, *binaries, filepath.Join(dir, "bin"))
	return dir
}

func link(t *testing.T, from, to string) {
	t.Helper()
	from, err := filepath.Abs(from)
	if err == nil {
		err = os.Symlink(from, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// environment returns an environment with the programs that pages call by name, in which kubectl uses the cluster. The cluster
// and AWS account of the machine's user are removed from it.
func environment(t *testing.T, dir string) []string {
	t.Helper()
	tools := t.TempDir()
	for name, script := range map[string]string{
		"karpenter": `exec ` + dir + `/bin/karpenter "$@"`,
		"kubectl":   `exec ` + dir + `/bin/karpenter-local --dir ` + dir + `/.local kubectl "$@"`,
	} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "KUBECONFIG=") || strings.HasPrefix(v, "AWS_")
	})
	return append(env, "KUBECONFIG="+dir+"/.local/kubeconfig", "PATH="+tools+":"+os.Getenv("PATH"), "NO_COLOR=1")
}
