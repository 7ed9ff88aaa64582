package manual

import (
	"fmt"
	"os"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Step is a command on a page, and its expected output.
type Step struct {
	*Block
	// Line is the line of the command.
	Line int
	// Command is the shell command, of one or more lines.
	Command string
	// Output is the output on the page; nil if there is none.
	Output []string
	// Exit is the exit code.
	Exit int
}

// Where returns the position of a step, for errors.
func (s *Step) Where() string { return fmt.Sprintf("%s:%d", s.Page, s.Line) }

// Steps returns the steps in the blocks of a page, in order. A block of sh is one step. A console session has one step
// for each prompt.
func Steps(blocks []Block) ([]Step, error) {
	var steps []Step
	for i := range blocks {
		b := &blocks[i]
		switch {
		case b.Output && (len(steps) == 0 || steps[len(steps)-1].Output != nil):
			return nil, fmt.Errorf("%s: output of what? no block of sh is before it", b.Where())
		case b.Output:
			steps[len(steps)-1].Output = lines(b.Text)
		case b.Language == "sh":
			steps = append(steps, Step{Block: b, Line: b.Line + 1, Command: b.Text, Exit: b.Exit})
		case b.Language == "console":
			session, err := session(b)
			if err != nil {
				return nil, err
			}
			steps = append(steps, session...)
		}
	}
	return steps, nil
}

// session splits a console session into steps.
func session(b *Block) ([]Step, error) {
	var steps []Step
	open := false // the last command continues on the next line
	for i, line := range lines(b.Text) {
		typed, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case open:
			last := &steps[len(steps)-1]
			last.Command += line + "\n"
			open = incomplete(last.Command)
		case prompt:
			steps = append(steps, Step{Block: b, Line: b.Line + 1 + i, Command: typed + "\n"})
			open = incomplete(typed + "\n")
		case len(steps) == 0:
			return nil, fmt.Errorf("%s: a console session begins with \"$ \"", b.Where())
		default:
			steps[len(steps)-1].Output = append(steps[len(steps)-1].Output, line)
		}
	}
	if open {
		return nil, fmt.Errorf("%s: the command has no end", b.Where())
	}
	steps[len(steps)-1].Exit = b.Exit
	return steps, nil
}

// incomplete reports whether a command continues on the next line.
func incomplete(command string) bool {
	if strings.HasSuffix(command, "\\\n") {
		return true
	}
	_, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	return err != nil && (syntax.IsIncomplete(err) || strings.Contains(err.Error(), "unclosed here-document"))
}

// lines splits text, without the empty last line.
func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// A Call is one program that a step runs, with its arguments. Expansions such as $NAME are kept unchanged.
type Call struct {
	Assigns []string
	Args    []string
}

// Calls returns the programs that a step runs, including those in loops and substitutions.
func (s *Step) Calls() ([]Call, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(s.Command), "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Where(), err)
	}
	var calls []Call
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var c Call
		for _, a := range call.Assigns {
			c.Assigns = append(c.Assigns, a.Name.Value)
		}
		for _, w := range call.Args {
			c.Args = append(c.Args, literal(w))
		}
		if len(c.Args) > 0 {
			calls = append(calls, c)
		}
		return true
	})
	return calls, nil
}

// literal returns a word without its quotes. A parameter expansion becomes $NAME, without operators such as :-. Any other
// expansion, such as a command substitution, becomes $().
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(&syntax.Word{Parts: p.Parts}))
		case *syntax.ParamExp:
			b.WriteString("$" + p.Param.Value)
		default:
			b.WriteString("$()")
		}
	}
	return b.String()
}

// Rewrite replaces the output on a step's page by the printed output. It does not change output with "...".
func (s *Step) Rewrite(printed string) error {
	for _, line := range s.Output {
		if strings.Contains(line, "...") {
			return fmt.Errorf("%s: the page leaves things out: edit it by hand", s.Where())
		}
	}
	page, err := os.ReadFile(s.Page)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	before := strings.Join(s.Output, "\n") + "\n"
	at := 0
	for range s.Line {
		at += strings.IndexByte(string(page[at:]), '\n') + 1
	}
	from := strings.Index(string(page[at:]), before)
	if from < 0 {
		return fmt.Errorf("%s: the page has changed since it was read: run again", s.Where())
	}
	from += at
	text := string(page[:from]) + strings.TrimRight(printed, "\n") + "\n" + string(page[from+len(before):])
	if err := os.WriteFile(s.Page, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
