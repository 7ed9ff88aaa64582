package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// maxCost bounds the evaluation of an expression, in the cost units of CEL. Arithmetic over the variables costs less
// than a hundred. Nested loops over lists could otherwise run for any time.
const maxCost = 100_000

// A Subject has the values of the variables of expressions for one instance type.
type Subject struct {
	Type             string // instance_type
	VCPUs, MemoryMiB int64  // vcpus, memory_mib
	ENIs, IPsPerENI  int64  // default_enis, ips_per_eni
	// MaxPods is the variable max_pods. In the expression for maxPods it is the default of the image family. In the
	// other expressions it is the value of maxPods. podsPerCore does not bound it.
	MaxPods int64
}

func (s Subject) variables() map[string]any {
	return map[string]any{
		"instance_type": s.Type, "vcpus": s.VCPUs, "memory_mib": s.MemoryMiB, "default_enis": s.ENIs,
		"ips_per_eni": s.IPsPerENI, "max_pods": s.MaxPods,
	}
}

// environment returns the CEL environment with the variables and functions of expressions. It is created once, because
// that costs more than compiling an expression.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	var options []cel.EnvOption
	for _, name := range []string{"vcpus", "memory_mib", "default_enis", "ips_per_eni", "max_pods"} {
		options = append(options, cel.Variable(name, cel.IntType))
	}
	options = append(options, cel.Variable("instance_type", cel.StringType))
	options = append(options,
		choice("max", func(a, b float64) bool { return a >= b }), choice("min", func(a, b float64) bool { return a <= b }))
	return cel.NewEnv(options...)
})

// choice returns the declaration of a CEL function of two numbers that returns one of them, such as min. first
// reports whether a is returned. The result of two integers is an integer.
func choice(name string, first func(a, b float64) bool) cel.EnvOption {
	pick := func(whole bool) cel.OverloadOpt {
		return cel.BinaryBinding(func(a, b ref.Val) ref.Val {
			x, okX := number(a)
			y, okY := number(b)
			if !okX || !okY {
				return types.NewErr("%s takes two numbers", name)
			}
			if !first(x, y) {
				a, x = b, y
			}
			if whole {
				return a
			}
			return types.Double(x)
		})
	}
	var overloads []cel.FunctionOpt
	for _, a := range []*cel.Type{cel.IntType, cel.DoubleType} {
		for _, b := range []*cel.Type{cel.IntType, cel.DoubleType} {
			whole, result := a == cel.IntType && b == cel.IntType, cel.DoubleType
			if whole {
				result = cel.IntType
			}
			overloads = append(overloads,
				cel.Overload(fmt.Sprintf("%s_%s_%s", name, a, b), []*cel.Type{a, b}, result, pick(whole)))
		}
	}
	return cel.Function(name, overloads...)
}

func number(v ref.Val) (float64, bool) {
	switch x := v.Value().(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// An expression is a field of the kubelet section that is computed for each instance type.
type expression struct {
	field   string // maxPods, or kubeReserved.cpu and the like
	text    string
	program cel.Program
}

// compile compiles an expression. Its result must be a number.
func compile(field, text string) (expression, error) {
	env, err := environment()
	if err != nil {
		return expression{}, fmt.Errorf("prepare expressions: %w", err)
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return expression{}, fmt.Errorf("%s: %q is neither a value nor an expression: %s", field, text,
			strings.Join(strings.Fields(issues.Err().Error()), " "))
	}
	if out := ast.OutputType(); out != cel.IntType && out != cel.DoubleType {
		return expression{}, fmt.Errorf("%s: %q evaluates to a %s, want a number", field, text, out)
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost))
	if err != nil {
		return expression{}, fmt.Errorf("%s: %q: %w", field, text, err)
	}
	return expression{field: field, text: text, program: program}, nil
}

// value evaluates the expression for s and truncates the result to an integer. A negative result is an error.
func (e expression) value(s Subject) (int64, error) {
	out, _, err := e.program.Eval(s.variables())
	if err != nil {
		return 0, fmt.Errorf("%s: %q for %s: %w", e.field, e.text, s.Type, err)
	}
	x, ok := number(out)
	switch {
	case !ok || math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) > math.MaxInt64/2:
		return 0, fmt.Errorf("%s: %q for %s: %v is no number", e.field, e.text, s.Type, out.Value())
	case x < 0:
		return 0, fmt.Errorf("%s: %q for %s: %v is negative", e.field, e.text, s.Type, out.Value())
	}
	return int64(x), nil
}

// Resolve returns c with its expressions replaced by their values for s. maxPods is evaluated first, because the others
// may use it. If an expression fails, its field keeps the default and the error names it.
func (c Config) Resolve(s Subject) (Config, error) {
	if len(c.expressions) == 0 {
		return c, nil
	}
	c.KubeReserved, c.SystemReserved = maps.Clone(c.KubeReserved), maps.Clone(c.SystemReserved)
	var errs []error
	if c.MaxPods != nil {
		s.MaxPods = int64(*c.MaxPods)
	}
	for _, e := range c.expressions { // maxPods comes first
		n, err := e.value(s)
		switch {
		case err != nil:
			errs = append(errs, err)
		case e.field != "maxPods":
			c.reserve(e.field, n)
		case n > math.MaxInt32:
			errs = append(errs, fmt.Errorf("maxPods: %q for %s: %d is too many", e.text, s.Type, n))
		default:
			pods := int32(n)
			c.MaxPods, s.MaxPods = &pods, n
		}
	}
	return c, errors.Join(errs...)
}

// reserve sets a reserved amount to n: millicores of cpu, MiB of memory, GiB of ephemeral storage, or a number of another
// resource. cpu is rounded up to a multiple of 10 millicores, memory to a multiple of 16 MiB.
func (c *Config) reserve(field string, n int64) {
	section, name, _ := strings.Cut(field, ".")
	into := &c.KubeReserved
	if section == "systemReserved" {
		into = &c.SystemReserved
	}
	if *into == nil {
		*into = map[string]string{}
	}
	up := func(step int64) int64 { return (n + step - 1) / step * step }
	switch name {
	case "cpu":
		(*into)[name] = fmt.Sprintf("%dm", up(10))
	case "memory":
		(*into)[name] = fmt.Sprintf("%dMi", up(16))
	case "ephemeral-storage":
		(*into)[name] = fmt.Sprintf("%dGi", n)
	default:
		(*into)[name] = fmt.Sprint(n)
	}
}

// addExpressions compiles the expressions in texts and adds them to c, maxPods first. The keys of
// texts are fields. It returns an error for each expression that does not compile. The field of
// such an expression is in c.Expressions, but is never evaluated.
func (c *Config) addExpressions(texts map[string]string) []error {
	var errs []error
	fields := slices.Sorted(maps.Keys(texts))
	slices.SortStableFunc(fields, func(a, b string) int { return rank(a) - rank(b) })
	for _, field := range fields {
		c.Expressions = append(c.Expressions, field)
		e, err := compile(field, texts[field])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.expressions = append(c.expressions, e)
	}
	return errs
}

func rank(field string) int {
	if field == "maxPods" {
		return 0
	}
	return 1
}
