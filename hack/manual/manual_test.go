package manual

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is a small manual in which ~ stands for a backquote.
const page = `# Page

~~~sh cluster
make up
~~~

says, among other things,

~~~text output
...
  10.0s  10 of 10 Running
~~~

- a list
    with more of it

~~~console exit=1
$ export NAME=a
$ for p in x y; do
    echo $p
  done
x
y
$ cat <<END | grep -q none \
    && true
text
END
~~~

~~~console account
$ FOO=1 aws ec2 create-tags --resources "sg-$NAME" $(karpenter version)
~~~

~~~yaml
a: b
~~~
`

func steps(t *testing.T, text string) []Step {
	t.Helper()
	blocks, err := Parse("page.md", strings.ReplaceAll(text, "~~~", "```"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := Steps(blocks)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestSteps(t *testing.T) {
	type row struct {
		Where, Command string
		Output         []string
		Cluster        bool
		Exit           int
		Account        bool
	}
	var got []row
	for _, s := range steps(t, page) {
		got = append(got, row{s.Where(), s.Command, s.Output, s.Cluster, s.Exit, s.Account})
	}
	want := []row{
		{"page.md:4", "make up\n", []string{"...", "  10.0s  10 of 10 Running"}, true, 0, false},
		{"page.md:18", "export NAME=a\n", nil, false, 0, false},
		{"page.md:19", "for p in x y; do\n    echo $p\n  done\n", []string{"x", "y"}, false, 0, false},
		{"page.md:24", "cat <<END | grep -q none \\\n    && true\ntext\nEND\n", nil, false, 1, false},
		{"page.md:31", "FOO=1 aws ec2 create-tags --resources \"sg-$NAME\" $(karpenter version)\n", nil, false, 0, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestLong(t *testing.T) {
	list := steps(t, "~~~sh long\nmake up\n~~~\n\n~~~sh long=\"A=1 B='x y'\"\nmake up\n~~~\n")
	if !list[0].Long || list[0].Small != nil || !list[1].Long {
		t.Errorf("%+v", list)
	}
	if diff := cmp.Diff([]string{"A=1", "B=x y"}, list[1].Small); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestCalls(t *testing.T) {
	list := steps(t, page)
	got, err := list[len(list)-1].Calls()
	if err != nil {
		t.Fatal(err)
	}
	want := []Call{
		{[]string{"FOO"}, []string{"aws", "ec2", "create-tags", "--resources", "sg-$NAME", "$()"}},
		{nil, []string{"karpenter", "version"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestBadPages(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no language":      {"~~~\na\n~~~\n", `language ""`},
		"strange language": {"~~~bash\na\n~~~\n", `language "bash"`},
		"strange word":     {"~~~sh later\na\n~~~\n", `later=""`},
		"not run":          {"~~~sh skip=\"no time\"\na\n~~~\n", `skip="no time": want cluster`},
		"no variable":      {"~~~sh long=\"PODS\"\na\n~~~\n", "PODS is no variable"},
		"open quote":       {"~~~sh long=\"PODS='\"\na\n~~~\n", "long="},
		"word on yaml":     {"~~~yaml cluster\na\n~~~\n", "means nothing"},
		"open":             {"~~~sh\na\n", "not closed"},
		"indented":         {"text\n\n    make up\n", "page.md:3: indented code"},
		"no prompt":        {"~~~console\nmake up\n~~~\n", `begins with "$ "`},
		"no end":           {"~~~console\n$ for a in b; do\n~~~\n", "has no end"},
		"output of what":   {"~~~text output\na\n~~~\n", "output of what"},
	} {
		t.Run(name, func(t *testing.T) {
			blocks, err := Parse("page.md", strings.ReplaceAll(tt.text, "~~~", "```"))
			if err == nil {
				_, err = Steps(blocks)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestMismatch(t *testing.T) {
	for name, tt := range map[string]struct {
		want, got string
		loose, ok bool
	}{
		"same":                  {"a\nb", "a\nb\n", false, true},
		"other order":           {"a\nb", "b\na\n", false, false},
		"other order, cluster":  {"a\nb", "b\na\n", true, true},
		"more":                  {"a", "a\nb", false, false},
		"progress":              {"a", "planning for 8 pods ...\na", false, true},
		"more, cluster":         {"a", "a\nb", true, false},
		"less":                  {"a\nb", "a", false, false},
		"less, cluster":         {"a\nb", "a", true, false},
		"gap":                   {"a\n...\nc", "a\nb\nb\nc", false, true},
		"gap, wrong end":        {"a\n...\nc", "a\nb\nc\nd", false, false},
		"gap at the end":        {"a\n...", "a\nb", false, true},
		"gap at the beginning":  {"...\nb", "a\nb", false, true},
		"gap, cluster":          {"a\n...", "b\na", true, true},
		"gap, cluster, missing": {"a\n...", "b\nc", true, false},
		"gap in a line":         {"a ... c", "a b c", false, true},
		"other time":            {"took 1.5s", "took 300ms", false, true},
		"other time of day":     {"at 2026-01-01T00:00:00Z", "at 2027-01-01T00:00:00Z", false, true},
		"other width":           {"a  b", "a b", false, false},
		"other width, cluster":  {"a  b", "a b", true, true},
		"other price, cluster":  {"0.4590", "0.4591", true, false},
		"other claim":           {"default-7p7dq up", "default-x4htx up", false, false},
		"other claim, cluster":  {"default-7p7dq up", "default-x4htx up", true, true},
		"other pool, cluster":   {"default-7p7dq up", "batch-x4htx up", true, false},
		"other node, cluster":   {"node/ip-10-0-0-5.ec2", "node/ip-10-0-16-41.ec2", true, true},
		"other type, cluster":   {"i-0851ce93bb3b5afa7 c6a.large", "i-0ed9bc79063fb3a87 c6a.xlarge", true, false},
		"other process":         {"etcd 18902 127.0.0.1:41031", "etcd 333 127.0.0.1:5", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := Mismatch(lines(tt.want), tt.got, tt.loose); (diff == "") != tt.ok {
				t.Errorf("mismatch %q", diff)
			}
		})
	}
}

// Exported variables and the current directory are kept from step to step. Exit codes are checked, and commands with Until are
// stopped.
func TestShell(t *testing.T) {
	shell := &Shell{Dir: t.TempDir(), State: t.TempDir()}
	run := func(text string) []string {
		var said []string
		for _, s := range steps(t, text) {
			out, err := shell.Run(t.Context(), &s)
			if err != nil {
				out += err.Error()
			}
			said = append(said, strings.TrimSpace(out))
		}
		return said
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"lasts":     {"~~~console\n$ export A=1 && mkdir d && cd d\n$ echo $A ${PWD##*/}\n~~~\n", []string{"", "1 d"}},
		"bad":       {"~~~sh\nfalse\n~~~\n", []string{"page.md:2: exit code 1, want 0"}},
		"meant":     {"~~~console exit=3\n$ true\n$ (exit 3)\n~~~\n", []string{"", ""}},
		"not meant": {"~~~sh exit=3\ntrue\n~~~\n", []string{"page.md:2: exit code 0, want 3"}},
		"unset":     {"~~~sh exit=1\necho $NOTHING\n~~~\n", []string{"bash: line 3: NOTHING: unbound variable"}},
		"endless":   {"~~~sh until=\"200\"\nyes | nl\n~~~\n", nil},
		"ended":     {"~~~sh until=\"never\"\necho a\n~~~\n", []string{"a\npage.md:2: it ended and never printed \"never\": <nil>"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(tt.text)
			if tt.want == nil {
				if !strings.Contains(got[0], "200\ty") || strings.Contains(got[0], "page.md") {
					t.Errorf("said %.100q", got)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
