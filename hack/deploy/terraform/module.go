package terraform

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A Module has the declarations in all files of a folder.
type Module struct {
	files  fs.FS
	blocks []*hclsyntax.Block // top-level blocks, in the order of files and lines
	// locals has all local values, by name.
	locals map[string]*hclsyntax.Attribute
	// variables and outputs have blocks by name. resources has the blocks of resources and data sources by address,
	// such as "aws_iam_role.node" or "data.aws_region.current".
	variables, outputs, resources map[string]*hclsyntax.Block
}

// Read parses the files *.tf of a folder. Duplicate declarations and unknown kinds of blocks are errors.
func Read(files fs.FS) (*Module, error) {
	names, err := fs.Glob(files, "*.tf")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("read module: no files *.tf (%v)", err)
	}
	m := &Module{
		files: files, locals: map[string]*hclsyntax.Attribute{}, variables: map[string]*hclsyntax.Block{},
		outputs: map[string]*hclsyntax.Block{}, resources: map[string]*hclsyntax.Block{},
	}
	var errs []error
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read module: %w", err)
		}
		file, problems := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
		if problems.HasErrors() {
			return nil, fmt.Errorf("read module: %w", told(problems))
		}
		body := file.Body.(*hclsyntax.Body)
		for _, a := range sorted(body.Attributes) {
			errs = append(errs, at(a.NameRange, "%s stands outside of any block", a.Name))
		}
		for _, b := range body.Blocks {
			errs = append(errs, m.declare(b))
		}
	}
	return m, errors.Join(errs...)
}

// labels is the number of labels of each kind of top-level block.
var labels = map[string]int{"terraform": 0, "locals": 0, "variable": 1, "output": 1, "resource": 2, "data": 2}

// declare adds a top-level block.
func (m *Module) declare(b *hclsyntax.Block) error {
	count, ok := labels[b.Type]
	if !ok {
		return at(b.DefRange(), "a module has no block %q here: want one of %s", b.Type, strings.Join(slices.Sorted(maps.Keys(labels)), ", "))
	}
	if len(b.Labels) != count {
		return at(b.DefRange(), "%s has %d labels, want %d", b.Type, len(b.Labels), count)
	}
	m.blocks = append(m.blocks, b)
	put := func(into map[string]*hclsyntax.Block, name string) error {
		if before := into[name]; before != nil {
			return at(b.DefRange(), "%s is declared at %s already", name, before.DefRange())
		}
		into[name] = b
		return nil
	}
	switch b.Type {
	case "variable":
		return put(m.variables, b.Labels[0])
	case "output":
		return put(m.outputs, b.Labels[0])
	case "resource", "data":
		return put(m.resources, addressOf(b))
	case "locals":
		for _, a := range sorted(b.Body.Attributes) {
			if before := m.locals[a.Name]; before != nil {
				return at(a.NameRange, "local.%s is declared at %s already", a.Name, before.NameRange)
			}
			m.locals[a.Name] = a
		}
		for _, inner := range b.Body.Blocks {
			return at(inner.DefRange(), "locals have no blocks")
		}
	}
	return nil
}

// addressOf returns the address of a resource or data source in expressions.
func addressOf(b *hclsyntax.Block) string {
	address := strings.Join(b.Labels, ".")
	if b.Type == "data" {
		return "data." + address
	}
	return address
}

// kindOf returns the kind of a resource or data source, and false if it is none that the module may use.
func kindOf(b *hclsyntax.Block) (kind, bool) {
	kinds := resourceKinds
	if b.Type == "data" {
		kinds = dataKinds
	}
	k, ok := kinds[b.Labels[0]]
	return k, ok
}

// sorted returns arguments in the order of the text.
func sorted(attributes hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attributes), func(a, b *hclsyntax.Attribute) int { return a.NameRange.Start.Byte - b.NameRange.Start.Byte })
}

// at returns an error with its position.
func at(place hcl.Range, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", place.Filename, place.Start.Line, fmt.Errorf(format, args...))
}

// told returns the errors of the parser or evaluator with their positions.
func told(problems hcl.Diagnostics) error {
	var errs []error
	for _, p := range problems {
		if p.Severity != hcl.DiagError {
			continue
		}
		if p.Subject == nil {
			errs = append(errs, errors.New(p.Summary+": "+p.Detail))
			continue
		}
		errs = append(errs, at(*p.Subject, "%s: %s", p.Summary, p.Detail))
	}
	return errors.Join(errs...)
}
