package terraform

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// A Plan has the resources and outputs that a module would create.
type Plan struct {
	// Resources are all resources by address, with an index in brackets if there is count or for_each.
	Resources map[string]Resource
	// Outputs are the outputs by name.
	Outputs map[string]cty.Value
}

// A Resource is a resource that would be created.
type Resource struct {
	Kind string
	// Values are the arguments and attributes by name. A value that cannot be known without AWS is null.
	Values map[string]cty.Value
}

// Text returns the value with a name if it is text, else "".
func (r Resource) Text(name string) string {
	v, ok := r.Values[name]
	if !ok || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// A world is the state of the evaluation of a module.
type world struct {
	*Module
	facts  Facts
	inputs map[string]cty.Value
	// values are the evaluated values, by the names that nodeOf returns. doing has the names that are being evaluated.
	values map[string]cty.Value
	doing  map[string]bool
	plan   Plan
	// given are the names of the values passed to templates. used are the names that some template uses.
	given, used map[string]bool
}

// Plan returns the resources that the module would create with these variables.
func (m *Module) Plan(f Facts, inputs map[string]cty.Value) (Plan, error) {
	w := &world{
		Module: m, facts: f, inputs: inputs, values: map[string]cty.Value{}, doing: map[string]bool{},
		plan: Plan{Resources: map[string]Resource{}, Outputs: map[string]cty.Value{}}, given: map[string]bool{}, used: map[string]bool{},
	}
	var errs []error
	for name := range inputs {
		if m.variables[name] == nil {
			errs = append(errs, fmt.Errorf("the module has no variable %s", name))
		}
	}
	for _, b := range m.blocks {
		switch b.Type {
		case "variable":
			_, err := w.value("var."+b.Labels[0], b.DefRange())
			errs = append(errs, err)
		case "resource", "data":
			_, err := w.value(addressOf(b), b.DefRange())
			errs = append(errs, err)
		case "output":
			if a := b.Body.Attributes["value"]; a != nil {
				v, err := w.evaluate(a.Expr, nil)
				errs, w.plan.Outputs[b.Labels[0]] = append(errs, err), v
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.given)) {
		if !w.used[name] {
			errs = append(errs, fmt.Errorf("templates are given %q, and none has a place for it", name))
		}
	}
	return w.plan, unique(errs)
}

// unique joins errors and drops duplicates.
func unique(errs []error) error {
	var out []error
	seen := map[string]bool{}
	for _, err := range errs {
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	return errors.Join(out...)
}

// value returns the value of a name, and evaluates it if necessary.
func (w *world) value(name string, place hcl.Range) (cty.Value, error) {
	if v, ok := w.values[name]; ok {
		return v, nil
	}
	if w.doing[name] {
		return cty.NilVal, at(place, "%s depends on itself", name)
	}
	w.doing[name] = true
	defer delete(w.doing, name)
	v, err := w.compute(name, place)
	if err != nil {
		return cty.NilVal, err
	}
	w.values[name] = v
	return v, nil
}

func (w *world) compute(name string, place hcl.Range) (cty.Value, error) {
	root, rest, _ := strings.Cut(name, ".")
	switch {
	case root == "var" && w.variables[rest] != nil:
		return w.variable(w.variables[rest])
	case root == "local" && w.locals[rest] != nil:
		return w.evaluate(w.locals[rest].Expr, nil)
	case w.resources[name] != nil:
		return w.resource(w.resources[name])
	}
	return cty.NilVal, at(place, "%s is declared nowhere", name)
}

// variable returns the value of a variable: the given one or its default. It checks the type and the conditions.
func (w *world) variable(b *hclsyntax.Block) (cty.Value, error) {
	name := b.Labels[0]
	v, ok := w.inputs[name]
	if a := b.Body.Attributes["default"]; !ok && a != nil {
		var err error
		if v, err = w.evaluate(a.Expr, nil); err != nil {
			return v, err
		}
	} else if !ok {
		return v, at(b.DefRange(), "variable %s has no default: it must be given", name)
	}
	if a := b.Body.Attributes["type"]; a != nil {
		kind, problems := typeexpr.TypeConstraint(a.Expr)
		if problems.HasErrors() {
			return v, told(problems)
		}
		converted, err := convert.Convert(v, kind)
		if err != nil {
			return v, at(b.DefRange(), "variable %s: %w", name, err)
		}
		v = converted
	}
	w.values["var."+name] = v // its conditions refer to its value
	if err := w.holds(b.Body, "validation", nil); err != nil {
		delete(w.values, "var."+name)
		return v, err
	}
	return v, nil
}

// holds evaluates the conditions in the blocks of body of type blockType, such as precondition. The error joins the messages of
// the conditions that are false, and the errors of blocks that cannot be evaluated.
func (w *world) holds(body *hclsyntax.Body, blockType string, extra map[string]cty.Value) error {
	var errs []error
	for _, b := range body.Blocks {
		c, message := b.Body.Attributes["condition"], b.Body.Attributes["error_message"]
		if b.Type != blockType || c == nil || message == nil {
			continue
		}
		v, err := w.evaluate(c.Expr, extra)
		said, wrong := w.evaluate(message.Expr, extra)
		switch {
		case err != nil || wrong != nil:
			errs = append(errs, err, wrong)
		case v.Type() != cty.Bool || v.IsNull() || said.Type() != cty.String:
			errs = append(errs, at(c.NameRange, "a condition is true or false, and its message text"))
		case v.False():
			errs = append(errs, at(c.NameRange, "%s", said.AsString()))
		}
	}
	return errors.Join(errs...)
}

// evaluate returns the value of an expression. extra has additional names, such as each.
func (w *world) evaluate(e hclsyntax.Expression, extra map[string]cty.Value) (cty.Value, error) {
	tree := map[string]any{}
	for _, t := range e.Variables() {
		name := nodeOf(t)
		if name == "" {
			continue
		}
		v, err := w.value(name, t.SourceRange())
		if err != nil {
			return cty.NilVal, err
		}
		branch := tree
		names := strings.Split(name, ".")
		for _, n := range names[:len(names)-1] {
			if branch[n] == nil {
				branch[n] = map[string]any{}
			}
			branch = branch[n].(map[string]any)
		}
		branch[names[len(names)-1]] = v
	}
	variables := map[string]cty.Value{"path": cty.ObjectVal(text(map[string]string{"module": modulePath, "root": modulePath, "cwd": modulePath}))}
	for root, branch := range tree {
		variables[root] = object(branch)
	}
	maps.Copy(variables, extra)
	v, problems := e.Value(&hcl.EvalContext{Variables: variables, Functions: w.functions(w.filled)})
	if problems.HasErrors() {
		return cty.NilVal, told(problems)
	}
	return v, nil
}

// filled adds the names of values that a template was given, and of those that it uses.
func (w *world) filled(_ string, given, used []string) {
	for _, name := range given {
		w.given[name] = true
	}
	for _, name := range used {
		w.used[name] = true
	}
}

// object converts a tree of maps to a Terraform value.
func object(tree any) cty.Value {
	branch, ok := tree.(map[string]any)
	if !ok {
		return tree.(cty.Value)
	}
	values := map[string]cty.Value{}
	for name, inner := range branch {
		values[name] = object(inner)
	}
	return cty.ObjectVal(values)
}
