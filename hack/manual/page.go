package manual

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/shell"
)

// A Block is a fenced block of a page.
type Block struct {
	// Page is the file of the page. Line is the line of the opening fence, counted from 1.
	Page string
	Line int
	// Language is the first word after the fence. Text is the content of the block.
	Language, Text string
	// Output is true if the block is the output of the one before it.
	Output bool

	Run
}

// A Run describes how to run a shell block.
type Run struct {
	// Cluster is true if the block needs a local cluster, Account if it needs an AWS account, Release if it needs helm,
	// a registry and a cluster for releases.
	Cluster, Account, Release bool
	// Long is true if the block takes minutes: it is run by long tests only, in a copy of the repository. Small are
	// environment variables for this run, which reduce the work.
	Long  bool
	Small []string
	// Exit is the exit code of the last command.
	Exit int
	// Until is the output after which a command that does not end by itself is stopped. It is empty if the command
	// ends by itself.
	Until string
}

// Where returns the position of a block, for errors.
func (b *Block) Where() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Shell reports whether the block has commands.
func (b *Block) Shell() bool { return b.Language == "sh" || b.Language == "console" }

// A Page is a file of the manual.
type Page struct {
	File   string
	Blocks []Block
	Steps  []Step
}

// Read returns the Markdown pages below root that are for readers: README.md, CONTRIBUTING.md and docs. The error has
// the mistakes of all pages.
func Read(root string) ([]Page, error) {
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, fmt.Errorf("list pages: %w", err)
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("list pages: none in %s", filepath.Join(root, "docs"))
	}
	var pages []Page
	var errs []error
	for _, file := range append([]string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}, docs...) {
		p, err := readPage(file)
		pages, errs = append(pages, p), append(errs, err)
	}
	return pages, errors.Join(errs...)
}

func readPage(file string) (Page, error) {
	p := Page{File: file}
	text, err := os.ReadFile(file)
	if err != nil {
		return p, fmt.Errorf("read page: %w", err)
	}
	if p.Blocks, err = Parse(file, string(text)); err != nil {
		return p, err
	}
	p.Steps, err = Steps(p.Blocks)
	return p, err
}

// Parse returns the blocks of a page's text. Indented code blocks, unknown words after a fence and a fence that is not
// closed are errors.
func Parse(page, text string) ([]Block, error) {
	var blocks []Block
	var open *Block
	before := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && strings.TrimSpace(line) == "```":
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.Text += line + "\n"
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			open = &Block{Page: page, Line: i + 1}
			if err := open.head(strings.TrimSpace(line)[3:]); err != nil {
				return nil, fmt.Errorf("%s: %w", open.Where(), err)
			}
		case strings.HasPrefix(line, "    ") && before == "":
			return nil, fmt.Errorf("%s:%d: indented code says no language: put it between fences", page, i+1)
		}
		before = line
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the fence is not closed", open.Where())
	}
	return blocks, nil
}

// languages are the languages of blocks that are not shell.
var languages = []string{"yaml", "json", "go", "hcl", "text"}

// word matches one word after a fence, with its value if it has one.
var word = regexp.MustCompile(`^([a-z]+)(?:=("[^"]*"|\S+))?(?:\s+|$)`)

// head parses the words after a fence.
func (b *Block) head(info string) error {
	rest := strings.TrimSpace(info)
	for rest != "" {
		m := word.FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("words after the fence: cannot read %q", rest)
		}
		rest = rest[len(m[0]):]
		value := strings.Trim(m[2], `"`)
		switch {
		case b.Language == "":
			b.Language = m[1]
		case m[1] == "output" && b.Language == "text":
			b.Output = true
		case !b.Shell():
			return fmt.Errorf("%s: %s means nothing", b.Language, m[0])
		default:
			if err := b.set(m[1], value); err != nil {
				return err
			}
		}
	}
	if !b.Shell() && !slices.Contains(languages, b.Language) {
		return fmt.Errorf("language %q: want sh, console, %s", b.Language, strings.Join(languages, ", "))
	}
	return nil
}

// set parses one word about how a block runs.
func (r *Run) set(key, value string) error {
	switch {
	case key == "cluster" && value == "":
		r.Cluster = true
	case key == "account" && value == "":
		r.Account = true
	case key == "release" && value == "":
		r.Release = true
	case key == "long":
		small, err := shell.Fields(value, nil)
		if err != nil {
			return fmt.Errorf("long=%q: %w", value, err)
		}
		if i := slices.IndexFunc(small, func(v string) bool { return !strings.Contains(v, "=") }); i >= 0 {
			return fmt.Errorf("long=%q: %s is no variable: want long or long=\"NAME=value ...\"", value, small[i])
		}
		r.Long, r.Small = true, small
	case key == "until" && value != "":
		r.Until = value
	case key == "exit":
		code, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("exit=%s: want a number", value)
		}
		r.Exit = code
	default:
		return fmt.Errorf("%s=%q: want cluster, account, release, long=\"NAME=value\", exit=CODE or until=\"text\"", key, value)
	}
	return nil
}
