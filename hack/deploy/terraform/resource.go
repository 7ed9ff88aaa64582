package terraform

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// resource evaluates a resource, with all its instances if it has count or for_each, and returns its value in
// expressions.
func (w *world) resource(b *hclsyntax.Block) (cty.Value, error) {
	address := addressOf(b)
	if a := b.Body.Attributes["count"]; a != nil {
		v, err := w.number(a)
		if err != nil {
			return cty.NilVal, err
		}
		made := make([]cty.Value, v)
		for i := range made {
			extra := map[string]cty.Value{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(int64(i))})}
			if made[i], err = w.one(b, fmt.Sprintf("%s[%d]", address, i), extra); err != nil {
				return cty.NilVal, err
			}
		}
		return cty.TupleVal(made), nil
	}
	a := b.Body.Attributes["for_each"]
	if a == nil {
		return w.one(b, address, nil)
	}
	v, err := w.evaluate(a.Expr, nil)
	if err != nil {
		return v, err
	}
	if t := v.Type(); v.IsNull() || !t.IsMapType() && !t.IsObjectType() && !t.Equals(cty.Set(cty.String)) {
		return v, at(a.NameRange, "%s: for_each is a map or a set of text, not %s", address, t.FriendlyName())
	}
	made := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		extra := map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		if v.Type().IsSetType() {
			extra["each"] = cty.ObjectVal(map[string]cty.Value{"key": value, "value": value})
			key = value
		}
		if made[key.AsString()], err = w.one(b, fmt.Sprintf("%s[%q]", address, key.AsString()), extra); err != nil {
			return cty.NilVal, err
		}
	}
	return cty.ObjectVal(made), nil
}

// number evaluates count, which must be a number.
func (w *world) number(a *hclsyntax.Attribute) (int, error) {
	v, err := w.evaluate(a.Expr, nil)
	if err != nil {
		return 0, err
	}
	if v, err = convert.Convert(v, cty.Number); err != nil || v.IsNull() {
		return 0, at(a.NameRange, "count is a number (%v)", err)
	}
	n, _ := v.AsBigFloat().Int64()
	return int(n), nil
}

// one evaluates one resource: it checks the arguments against the kind and the conditions of its lifecycle, and adds
// the attributes of a created resource.
func (w *world) one(b *hclsyntax.Block, address string, extra map[string]cty.Value) (cty.Value, error) {
	k, ok := kindOf(b)
	if !ok {
		return cty.NilVal, at(b.LabelRanges[0], "%s is of no known kind", address)
	}
	values, err := w.arguments(address, b.Body, k.shape, extra)
	if err != nil {
		return cty.NilVal, err
	}
	for _, inner := range b.Body.Blocks {
		if inner.Type == "lifecycle" {
			err = errors.Join(err, w.holds(inner.Body, "precondition", extra), w.holds(inner.Body, "postcondition", extra))
		}
	}
	if err != nil {
		return cty.NilVal, err
	}
	all := map[string]cty.Value{}
	for name, t := range k.all() {
		all[name] = cty.NullVal(t)
	}
	if k.made != nil {
		maps.Copy(all, k.made(w.facts, values))
	}
	maps.Copy(all, values)
	if b.Type == "resource" {
		w.plan.Resources[address] = Resource{b.Labels[0], all}
	}
	return cty.ObjectVal(all), nil
}

// arguments evaluates a block and its nested blocks, and returns the values of the block. Nested blocks are only
// checked, because nothing refers to their values.
func (w *world) arguments(address string, body *hclsyntax.Body, s shape, extra map[string]cty.Value) (map[string]cty.Value, error) {
	values := map[string]cty.Value{}
	var errs []error
	for _, a := range sorted(body.Attributes) {
		want, ok := s.arguments[a.Name]
		if !ok {
			continue // Check reports it, or it is a meta-argument of Terraform
		}
		v, err := w.evaluate(a.Expr, extra)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if v, err = fits(want, v); err != nil {
			errs = append(errs, at(a.NameRange, "%s: %s: %w", address, a.Name, err))
		}
		if !v.IsNull() {
			values[a.Name] = v
		}
	}
	for _, inner := range body.Blocks {
		if known, ok := s.blocks[inner.Type]; ok {
			_, err := w.arguments(address+": "+inner.Type, inner.Body, known.shape, extra)
			errs = append(errs, err)
		}
	}
	return values, unique(errs)
}

// fits returns a value converted to the type of an argument. Terraform would convert a number to text. Here such a
// conversion is an error, because it is almost always a mistake.
func fits(want argument, v cty.Value) (cty.Value, error) {
	have := v.Type()
	if want.kind.IsPrimitiveType() && have.IsPrimitiveType() && !have.Equals(want.kind) {
		return cty.NullVal(want.kind), fmt.Errorf("want %s, have %s", want.kind.FriendlyName(), have.FriendlyName())
	}
	converted, err := convert.Convert(v, want.kind)
	if err != nil {
		return cty.NullVal(want.kind), fmt.Errorf("want %s, have %s: %w", want.kind.FriendlyName(), have.FriendlyName(), err)
	}
	if want.required && converted.IsNull() {
		return converted, errors.New("it is needed, and null")
	}
	if want.holds != nil && !converted.IsNull() {
		return converted, want.holds(converted)
	}
	return converted, nil
}

// Of returns the addresses of the resources of a kind, sorted.
func (p Plan) Of(kind string) []string {
	var out []string
	for _, address := range slices.Sorted(maps.Keys(p.Resources)) {
		if p.Resources[address].Kind == kind {
			out = append(out, address)
		}
	}
	return out
}
