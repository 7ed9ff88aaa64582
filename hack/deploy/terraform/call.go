package terraform

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Call parses text, which must be one block that calls the module at source, and returns the variables that the block
// sets.
func Call(text, source string) (map[string]cty.Value, error) {
	file, problems := hclsyntax.ParseConfig([]byte(text), "call", hcl.InitialPos)
	if problems.HasErrors() {
		return nil, told(problems)
	}
	body := file.Body.(*hclsyntax.Body)
	if len(body.Blocks) != 1 || body.Blocks[0].Type != "module" || len(body.Blocks[0].Labels) != 1 || len(body.Attributes) > 0 {
		return nil, fmt.Errorf("want one block: module \"name\" {...}")
	}
	inputs := map[string]cty.Value{}
	for _, a := range sorted(body.Blocks[0].Body.Attributes) {
		v, problems := a.Expr.Value(nil)
		if problems.HasErrors() {
			return nil, told(problems)
		}
		inputs[a.Name] = v
	}
	if v, ok := inputs["source"]; !ok || !v.RawEquals(cty.StringVal(source)) {
		return nil, fmt.Errorf("want source = %q", source)
	}
	delete(inputs, "source")
	return inputs, nil
}
