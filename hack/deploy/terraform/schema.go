package terraform

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// An argument describes a named argument of a block.
type argument struct {
	kind     cty.Type
	required bool
	// holds returns an error for an invalid value of the right type; nil if all values are valid.
	holds func(cty.Value) error
}

// A shape describes the allowed contents of a block.
type shape struct {
	arguments map[string]argument
	blocks    map[string]nested
	// conflicts are arguments of which at most one may be given. oneOf are arguments of which at least one must be
	// given.
	conflicts, oneOf []string
}

// nested describes a nested block and the maximum number of its occurrences; 0 stands for any number.
type nested struct {
	shape
	most int
}

// A kind describes a type of resource or of data source.
type kind struct {
	shape
	// since is the first version of the provider with this kind.
	since string
	// attributes are the types of the attributes that are not arguments, by name.
	attributes map[string]cty.Type
	// made returns the attributes of a created resource, given its arguments. If it is nil, all attributes are null.
	made func(f Facts, given map[string]cty.Value) map[string]cty.Value
}

// Facts are the properties of the AWS account.
type Facts struct {
	Partition, URLSuffix, Region, Account string
}

func need(k cty.Type) argument { return argument{kind: k, required: true} }
func may(k cty.Type) argument  { return argument{kind: k} }

// with returns the argument with a check of its values.
func (a argument) with(holds func(cty.Value) error) argument {
	a.holds = holds
	return a
}

// isJSON returns an error unless the value is a JSON object.
func isJSON(v cty.Value) error {
	var any map[string]any
	if err := json.Unmarshal([]byte(v.AsString()), &any); err != nil {
		return fmt.Errorf("want an object of JSON: %w", err)
	}
	return nil
}

// between returns a check for whole numbers in a range.
func between(least, most float64) func(cty.Value) error {
	return func(v cty.Value) error {
		n, _ := v.AsBigFloat().Float64()
		if n < least || n > most || !v.AsBigFloat().IsInt() {
			return fmt.Errorf("want a whole number from %.0f to %.0f, have %g", least, most, n)
		}
		return nil
	}
}

// upTo returns a check for the maximum length of text.
func upTo(most int) func(cty.Value) error {
	return func(v cty.Value) error {
		if n := len(v.AsString()); n > most {
			return fmt.Errorf("%q has %d characters, at most %d are taken", v.AsString(), n, most)
		}
		return nil
	}
}

// oneOf returns a check that text is one of the words.
func oneOf(words ...string) func(cty.Value) error {
	return func(v cty.Value) error {
		for _, w := range words {
			if v.AsString() == w {
				return nil
			}
		}
		return fmt.Errorf("%q is none of %q", v.AsString(), words)
	}
}

var (
	tags  = cty.Map(cty.String)
	texts = cty.Set(cty.String)
	// timeouts returns the nested block timeouts, with the given names of operations.
	timeouts = func(names ...string) map[string]nested {
		s := shape{arguments: map[string]argument{}}
		for _, n := range names {
			s.arguments[n] = may(cty.String)
		}
		return map[string]nested{"timeouts": {s, 1}}
	}
)

// text returns the strings as Terraform values.
func text(of map[string]string) map[string]cty.Value {
	out := map[string]cty.Value{}
	for name, s := range of {
		out[name] = cty.StringVal(s)
	}
	return out
}

// named returns the name of a resource: the given name, one with the given prefix, or a generated name.
func named(given map[string]cty.Value) string {
	if v, ok := given["name"]; ok && !v.IsNull() {
		return v.AsString()
	}
	if v, ok := given["name_prefix"]; ok && !v.IsNull() {
		return v.AsString() + "00000000000000000000000001"
	}
	return "terraform-00000000000000000000000001"
}

// arn returns an ARN of the account. thing is its last part, with the kind and name of the resource.
func (f Facts) arn(service, region, thing string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", f.Partition, service, region, f.Account, thing)
}
