package cli

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/karpenter-go/karpenter/internal/operator"
)

func TestMain(m *testing.M) {
	patience = time.Hour
	testscript.Main(m, map[string]func(){
		"karpenter": func() { os.Exit(Run(os.Args[1:], operator.Version{Number: "dev"})) },
	})
}

// took matches the wall-clock time of a replay.
var took = regexp.MustCompile(`"seconds":[^,}]*`)

// TestScripts runs the program as a user does. The command "exits N karpenter ..." requires the exit code N. The command
// "alike FILE FILE" compares results of backtest, except for the seconds that the replay took.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"alike": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: alike FILE FILE")
				}
				one, other := took.ReplaceAllString(ts.ReadFile(args[0]), ""), took.ReplaceAllString(ts.ReadFile(args[1]), "")
				if one != other {
					ts.Fatalf("%s and %s differ:\n%s%s", args[0], args[1], one, other)
				}
			},
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits CODE COMMAND [ARGUMENTS]")
				}
				code := 0
				err := ts.Exec(args[1], args[2:]...)
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else if err != nil {
					ts.Fatalf("run %s: %v", args[1], err)
				}
				if strconv.Itoa(code) != args[0] {
					ts.Fatalf("exit code is %d, want %s", code, args[0])
				}
			},
		},
	})
}
