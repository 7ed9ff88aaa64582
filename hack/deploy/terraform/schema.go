package terraform

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// An argument is what a block takes by name.
type argument struct {
	kind     cty.Type
	required bool
	// holds says what is wrong with a value of the right kind; nil if none of them is.
	holds func(cty.Value) error
}

// A shape is what may stand in a block.
type shape struct {
	arguments map[string]argument
	blocks    map[string]nested
	// conflicts are arguments of which at most one is given, oneOf those of which at least one is.
	conflicts, oneOf []string
}

// A nested block may stand in another, up to so many times; 0 is any number.
type nested struct {
	shape
	most int
}

// A kind of resource, or of data.
type kind struct {
	shape
	// since is the first version of the provider that has it.
	since string
	// attributes are its attributes besides the arguments.
	attributes map[string]cty.Type
	// made returns what is known once it is made, from its arguments.
	made func(f Facts, given map[string]cty.Value) map[string]cty.Value
}

// Facts are what the provider knows of the account that it works in.
type Facts struct {
	Partition, URLSuffix, Region, Account string
}

func need(k cty.Type) argument { return argument{kind: k, required: true} }
func may(k cty.Type) argument  { return argument{kind: k} }

// with returns an argument whose values must hold.
func (a argument) with(holds func(cty.Value) error) argument {
	a.holds = holds
	return a
}

// isJSON holds for objects of JSON.
func isJSON(v cty.Value) error {
	var any map[string]any
	if err := json.Unmarshal([]byte(v.AsString()), &any); err != nil {
		return fmt.Errorf("want an object of JSON: %w", err)
	}
	return nil
}

// between holds for whole numbers in a range.
func between(least, most float64) func(cty.Value) error {
	return func(v cty.Value) error {
		n, _ := v.AsBigFloat().Float64()
		if n < least || n > most || !v.AsBigFloat().IsInt() {
			return fmt.Errorf("want a whole number from %.0f to %.0f, have %g", least, most, n)
		}
		return nil
	}
}

// upTo holds for text of some length.
func upTo(most int) func(cty.Value) error {
	return func(v cty.Value) error {
		if n := len(v.AsString()); n > most {
			return fmt.Errorf("%q has %d characters, at most %d are taken", v.AsString(), n, most)
		}
		return nil
	}
}

// oneOf holds for these words.
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
	// timeouts are how long to wait for the account.
	timeouts = func(names ...string) map[string]nested {
		s := shape{arguments: map[string]argument{}}
		for _, n := range names {
			s.arguments[n] = may(cty.String)
		}
		return map[string]nested{"timeouts": {s, 1}}
	}
)

// text makes values of text.
func text(of map[string]string) map[string]cty.Value {
	out := map[string]cty.Value{}
	for name, s := range of {
		out[name] = cty.StringVal(s)
	}
	return out
}

// named returns the name of what is made: its own, or one that begins as it says, or one of chance.
func named(given map[string]cty.Value) string {
	if v, ok := given["name"]; ok && !v.IsNull() {
		return v.AsString()
	}
	if v, ok := given["name_prefix"]; ok && !v.IsNull() {
		return v.AsString() + "00000000000000000000000001"
	}
	return "terraform-00000000000000000000000001"
}

// arn is how AWS names a thing.
func (f Facts) arn(service, region, thing string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", f.Partition, service, region, f.Account, thing)
}
