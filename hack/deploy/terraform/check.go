package terraform

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// conditions returns the schemas of nested blocks with a condition, by name of block. Variables, resources and outputs
// have such blocks.
func conditions(names ...string) map[string]nested {
	out := map[string]nested{}
	for _, n := range names {
		out[n] = nested{shape: shape{arguments: map[string]argument{"condition": need(cty.Bool), "error_message": need(cty.String)}}}
	}
	return out
}

var (
	lifecycle = nested{shape{
		arguments: map[string]argument{"create_before_destroy": may(cty.Bool), "prevent_destroy": may(cty.Bool),
			"ignore_changes": may(cty.DynamicPseudoType), "replace_triggered_by": may(cty.DynamicPseudoType)},
		blocks: conditions("precondition", "postcondition"),
	}, 1}
	// meta are the arguments of every resource that Terraform itself evaluates.
	meta = map[string]argument{"count": may(cty.Number), "for_each": may(cty.DynamicPseudoType), "depends_on": may(cty.DynamicPseudoType)}

	variableShape = shape{
		arguments: map[string]argument{"type": need(cty.DynamicPseudoType), "description": need(cty.String), "default": may(cty.DynamicPseudoType),
			"sensitive": may(cty.Bool), "nullable": may(cty.Bool)},
		blocks: conditions("validation"),
	}
	outputShape = shape{
		arguments: map[string]argument{"value": need(cty.DynamicPseudoType), "description": need(cty.String), "sensitive": may(cty.Bool),
			"depends_on": may(cty.DynamicPseudoType)},
		blocks: conditions("precondition"),
	}
	terraformShape = shape{
		arguments: map[string]argument{"required_version": need(cty.String)},
		blocks:    map[string]nested{"required_providers": {shape{arguments: map[string]argument{"aws": need(cty.DynamicPseudoType)}}, 1}},
	}
)

// Check returns all mistakes in the text of the module, except wrong types of values, which Plan returns.
func (m *Module) Check() error {
	var errs []error
	versions := 0
	for _, b := range m.blocks {
		switch b.Type {
		case "terraform":
			versions++
			errs = append(errs, checkBody(b.Type, b.Body, terraformShape), m.checkVersions(b))
		case "variable":
			errs = append(errs, checkBody("variable "+b.Labels[0], b.Body, variableShape))
			if a := b.Body.Attributes["type"]; a != nil {
				_, problems := typeexpr.TypeConstraint(a.Expr)
				errs = append(errs, told(problems))
			}
		case "output":
			errs = append(errs, checkBody("output "+b.Labels[0], b.Body, outputShape))
		case "resource", "data":
			errs = append(errs, m.checkResource(b))
		}
	}
	if versions != 1 {
		errs = append(errs, errors.New("want one block terraform that says which versions the module works with"))
	}
	return errors.Join(append(errs, m.checkReferences())...)
}

// checkResource checks a resource or data source against its kind.
func (m *Module) checkResource(b *hclsyntax.Block) error {
	k, ok := kindOf(b)
	if !ok {
		return at(b.LabelRanges[0], "%s %q is no kind that this module may use: add it to provider.go, from the provider's documentation", b.Type, b.Labels[0])
	}
	s := k.shape
	s.arguments, s.blocks = maps.Clone(meta), map[string]nested{"lifecycle": lifecycle}
	maps.Copy(s.arguments, k.arguments)
	maps.Copy(s.blocks, k.blocks)
	var both error
	if count, each := b.Body.Attributes["count"], b.Body.Attributes["for_each"]; count != nil && each != nil {
		both = at(each.NameRange, "%s has count and for_each", addressOf(b))
	}
	return errors.Join(both, checkBody(addressOf(b), b.Body, s))
}

// checkBody checks the names and the numbers of arguments and blocks in a block, and in its nested blocks, against a
// shape.
func checkBody(name string, body *hclsyntax.Body, s shape) error {
	var errs []error
	for _, a := range sorted(body.Attributes) {
		if _, ok := s.arguments[a.Name]; !ok {
			errs = append(errs, at(a.NameRange, "%s has no argument %q: want one of %s", name, a.Name, strings.Join(slices.Sorted(maps.Keys(s.arguments)), ", ")))
		}
	}
	place := body.MissingItemRange()
	for _, want := range slices.Sorted(maps.Keys(s.arguments)) {
		if s.arguments[want].required && body.Attributes[want] == nil {
			errs = append(errs, at(place, "%s needs the argument %q", name, want))
		}
	}
	given := func(names []string) (n int) {
		for _, name := range names {
			if body.Attributes[name] != nil {
				n++
			}
		}
		return n
	}
	if given(s.conflicts) > 1 {
		errs = append(errs, at(place, "%s takes only one of %s", name, strings.Join(s.conflicts, ", ")))
	}
	if len(s.oneOf) > 0 && given(s.oneOf) == 0 {
		errs = append(errs, at(place, "%s needs one of %s", name, strings.Join(s.oneOf, ", ")))
	}
	seen := map[string]int{}
	for _, b := range body.Blocks {
		inner, ok := s.blocks[b.Type]
		seen[b.Type]++
		switch {
		case !ok:
			errs = append(errs, at(b.DefRange(), "%s has no block %q: want one of %s", name, b.Type, strings.Join(slices.Sorted(maps.Keys(s.blocks)), ", ")))
		case len(b.Labels) > 0:
			errs = append(errs, at(b.DefRange(), "%s: block %s has no labels", name, b.Type))
		case inner.most > 0 && seen[b.Type] > inner.most:
			errs = append(errs, at(b.DefRange(), "%s: more than %d blocks %s", name, inner.most, b.Type))
		default:
			errs = append(errs, checkBody(name+": "+b.Type, b.Body, inner.shape))
		}
	}
	return errors.Join(errs...)
}

// checkVersions checks the version constraints, and that every allowed version of the provider has all kinds that the
// module uses.
func (m *Module) checkVersions(b *hclsyntax.Block) error {
	var errs []error
	if a := b.Body.Attributes["required_version"]; a != nil {
		v, problems := a.Expr.Value(nil)
		errs = append(errs, told(problems))
		if !problems.HasErrors() && v.Type() == cty.String {
			if _, err := version.NewConstraint(v.AsString()); err != nil {
				errs = append(errs, at(a.NameRange, "%w", err))
			}
		}
	}
	for _, inner := range b.Body.Blocks {
		a := inner.Body.Attributes["aws"]
		if inner.Type != "required_providers" || a == nil {
			continue
		}
		v, problems := a.Expr.Value(nil)
		if problems.HasErrors() || !v.Type().Equals(cty.Object(map[string]cty.Type{"source": cty.String, "version": cty.String})) {
			errs = append(errs, told(problems), at(a.NameRange, "want {source = \"...\", version = \"...\"}"))
			continue
		}
		if source := v.GetAttr("source").AsString(); source != provider {
			errs = append(errs, at(a.NameRange, "the source is %q, the schema is of %s", source, provider))
		}
		allowed, err := version.NewConstraint(v.GetAttr("version").AsString())
		if err != nil {
			errs = append(errs, at(a.NameRange, "%w", err))
			continue
		}
		errs = append(errs, m.tooOld(a, allowed))
	}
	return errors.Join(errs...)
}

// tooOld returns an error for each kind that some allowed version of the provider does not have.
func (m *Module) tooOld(a *hclsyntax.Attribute, allowed version.Constraints) error {
	var errs []error
	for _, address := range slices.Sorted(maps.Keys(m.resources)) {
		k, ok := kindOf(m.resources[address])
		if !ok {
			continue
		}
		if first := version.Must(version.NewVersion(k.since)); allowed.Check(before(first)) {
			errs = append(errs, at(a.NameRange, "the provider has %s since %s only, and older ones are allowed", address, first))
		}
	}
	return errors.Join(errs...)
}

// before returns a version older than v. No version between the two was ever released.
func before(v *version.Version) *version.Version {
	s := v.Segments()
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] > 0 {
			s[i]--
			break
		}
		s[i] = 999
	}
	return version.Must(version.NewVersion(fmt.Sprintf("%d.%d.%d", s[0], s[1], s[2])))
}
