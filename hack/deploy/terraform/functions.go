package terraform

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// modulePath is the value of path.module.
const modulePath = "."

// functions returns the functions of Terraform that the module may use. Whenever a template is rendered, the function filled
// is called with the names of the values given to the template and of those that it uses.
func (m *Module) functions(filled func(file string, given, used []string)) map[string]function.Function {
	return map[string]function.Function{
		"concat":     stdlib.ConcatFunc,
		"contains":   stdlib.ContainsFunc,
		"jsonencode": stdlib.JSONEncodeFunc,
		"replace":    stdlib.ReplaceFunc,
		"toset":      stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"templatefile": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
			Type:   function.StaticReturnType(cty.String),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return m.fill(path.Clean(args[0].AsString()), args[1], filled)
			},
		}),
	}
}

// fill renders a template of the module.
func (m *Module) fill(file string, values cty.Value, filled func(file string, given, used []string)) (cty.Value, error) {
	text, err := fs.ReadFile(m.files, file)
	if err != nil {
		return cty.NilVal, fmt.Errorf("read template: %w", err)
	}
	template, problems := hclsyntax.ParseTemplate(text, file, hcl.InitialPos)
	if problems.HasErrors() {
		return cty.NilVal, told(problems)
	}
	if !values.Type().IsObjectType() && !values.Type().IsMapType() {
		return cty.NilVal, fmt.Errorf("the values of a template are an object, not %s", values.Type().FriendlyName())
	}
	var used []string
	for _, t := range template.Variables() {
		used = append(used, t.RootName())
	}
	named := values.AsValueMap()
	filled(file, slices.Sorted(maps.Keys(named)), used)
	v, problems := template.Value(&hcl.EvalContext{Variables: named})
	return v, told(problems)
}
