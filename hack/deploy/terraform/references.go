package terraform

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A use is a reference and its position.
type use struct {
	traversal hcl.Traversal
	// within is the top-level block that contains the reference.
	within *hclsyntax.Block
}

// checkReferences returns errors for references to undeclared names, for variables, locals and data sources that are not
// used, and for unknown functions. A variable that refers to anything but itself, and an output that refers to nothing but
// variables, are errors, too.
func (m *Module) checkReferences() error {
	var errs []error
	used := map[string]bool{}
	for _, b := range m.blocks {
		errs = append(errs, m.checkCalls(b))
		outside := 0
		for _, u := range usesIn(b) {
			errs = append(errs, m.checkUse(u))
			name := nodeOf(u.traversal)
			if b.Type == "variable" && name != "var."+b.Labels[0] {
				errs = append(errs, at(u.traversal.SourceRange(), "variable %s may refer to itself only", b.Labels[0]))
			}
			if b.Type != "variable" {
				used[name] = true
			}
			if name != "" && !strings.HasPrefix(name, "var.") {
				outside++
			}
		}
		if b.Type == "output" && outside == 0 {
			errs = append(errs, at(b.DefRange(), "output %s refers to nothing that is made", b.Labels[0]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.variables)) {
		if !used["var."+name] {
			errs = append(errs, at(m.variables[name].DefRange(), "variable %s is never used", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.locals)) {
		if !used["local."+name] {
			errs = append(errs, at(m.locals[name].NameRange, "local.%s is never used", name))
		}
	}
	for _, address := range slices.Sorted(maps.Keys(m.resources)) {
		if strings.HasPrefix(address, "data.") && !used[address] {
			errs = append(errs, at(m.resources[address].DefRange(), "%s is never used", address))
		}
	}
	return errors.Join(errs...)
}

// expressions calls the function do for each argument of a block and of its nested blocks. It skips ignore_changes and the
// type of a variable, because their names are not references.
func expressions(top *hclsyntax.Block, do func(a *hclsyntax.Attribute)) {
	var walk func(b *hclsyntax.Body)
	walk = func(b *hclsyntax.Body) {
		for _, a := range sorted(b.Attributes) {
			if a.Name != "ignore_changes" && (top.Type != "variable" || b != top.Body || a.Name != "type") {
				do(a)
			}
		}
		for _, inner := range b.Blocks {
			walk(inner.Body)
		}
	}
	walk(top.Body)
}

// usesIn returns all references in a block and its nested blocks.
func usesIn(top *hclsyntax.Block) []use {
	var uses []use
	expressions(top, func(a *hclsyntax.Attribute) {
		for _, t := range a.Expr.Variables() {
			uses = append(uses, use{t, top})
		}
	})
	return uses
}

// steps returns the names at the start of a reference, up to the first index.
func steps(t hcl.Traversal) []string {
	out := []string{t.RootName()}
	for _, step := range t[1:] {
		attribute, ok := step.(hcl.TraverseAttr)
		if !ok {
			break
		}
		out = append(out, attribute.Name)
	}
	return out
}

// nodeOf returns the object that a reference names, such as "var.x", "local.x", "aws_iam_role.node" or
// "data.aws_region.current". The rest of the reference, such as ".arn", is left out. For a predefined name, such as
// each.key, the result is empty (see given).
func nodeOf(t hcl.Traversal) string {
	names := steps(t)
	count := 2
	switch names[0] {
	case "each", "count", "path", "terraform", "self":
		return ""
	case "data":
		count = 3
	}
	return strings.Join(names[:min(count, len(names))], ".")
}

// given are the predefined names, which need no declaration.
var given = map[string][]string{"each": {"key", "value"}, "count": {"index"}, "path": {"module", "root", "cwd"}}

// checkUse returns an error if a reference is invalid.
func (m *Module) checkUse(u use) error {
	place, names, name := u.traversal.SourceRange(), steps(u.traversal), nodeOf(u.traversal)
	if name == "" {
		if len(names) < 2 || !slices.Contains(given[names[0]], names[1]) {
			return at(place, "%s is nothing: want one of %s", strings.Join(names, "."), strings.Join(given[names[0]], ", "))
		}
		need := map[string]string{"each": "for_each", "count": "count"}[names[0]]
		if need != "" && u.within.Body.Attributes[need] == nil {
			return at(place, "%s without %s", strings.Join(names[:2], "."), need)
		}
		return nil
	}
	switch names[0] {
	case "var":
		if len(names) < 2 || m.variables[names[1]] == nil {
			return at(place, "%s is declared nowhere", name)
		}
		return nil
	case "local":
		if len(names) < 2 || m.locals[names[1]] == nil {
			return at(place, "%s is declared nowhere", name)
		}
		return nil
	}
	b := m.resources[name]
	if b == nil {
		return at(place, "%s is declared nowhere", name)
	}
	return m.checkAttribute(u, b, name)
}

// checkAttribute returns an error if a reference to an attribute of a resource or data source is invalid.
func (m *Module) checkAttribute(u use, b *hclsyntax.Block, name string) error {
	k, ok := kindOf(b)
	rest := u.traversal[strings.Count(name, ".")+1:]
	many := b.Body.Attributes["count"] != nil || b.Body.Attributes["for_each"] != nil
	if many && len(rest) > 0 {
		switch rest[0].(type) {
		case hcl.TraverseIndex, hcl.TraverseSplat:
			rest = rest[1:]
		default:
			return at(u.traversal.SourceRange(), "%s has count or for_each: say which of them is meant", name)
		}
	}
	if !ok || len(rest) == 0 {
		return nil
	}
	attribute, isName := rest[0].(hcl.TraverseAttr)
	if !isName {
		return at(u.traversal.SourceRange(), "%s has neither count nor for_each: it is no list", name)
	}
	if _, ok := k.all()[attribute.Name]; !ok {
		return at(u.traversal.SourceRange(), "%s has no attribute %q: want one of %s", name, attribute.Name, strings.Join(slices.Sorted(maps.Keys(k.all())), ", "))
	}
	return nil
}

// all returns the types of arguments and attributes by name.
func (k kind) all() map[string]cty.Type {
	out := maps.Clone(k.attributes)
	for name, a := range k.arguments {
		out[name] = a.kind
	}
	return out
}

// checkCalls returns errors for calls of unknown functions, and for calls with too few or too many arguments.
func (m *Module) checkCalls(top *hclsyntax.Block) error {
	table := m.functions(func(string, []string, []string) {})
	var errs []error
	expressions(top, func(a *hclsyntax.Attribute) {
		errs = append(errs, told(hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hcl.Diagnostics {
			call, ok := n.(*hclsyntax.FunctionCallExpr)
			if !ok {
				return nil
			}
			detail := ""
			if f, ok := table[call.Name]; !ok {
				detail = "no function that this module may use: want one of " + strings.Join(slices.Sorted(maps.Keys(table)), ", ")
			} else if least := len(f.Params()); len(call.Args) < least || len(call.Args) > least && f.VarParam() == nil {
				detail = fmt.Sprintf("%d arguments, want %d", len(call.Args), least)
			}
			if detail == "" {
				return nil
			}
			return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: call.Name, Detail: detail, Subject: &call.NameRange}}
		})))
	})
	return errors.Join(errs...)
}
