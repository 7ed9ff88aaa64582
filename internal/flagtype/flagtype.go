// Package flagtype has the types of flags that are parsed more strictly than pflag does. So a flag has the same meaning
// as its environment variable.
package flagtype

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Bool adds a boolean flag that needs a value. In pflag a bare flag means true, so "--flag false" would also mean
// true.
func Bool(fs *pflag.FlagSet, p *bool, name string, value bool, usage string) {
	*p = value
	fs.Var((*boolean)(p), name, usage)
}

type boolean bool

func (b *boolean) String() string { return strconv.FormatBool(bool(*b)) }
func (b *boolean) Type() string   { return "true|false" }

func (b *boolean) Set(text string) error {
	v, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is not a boolean: use true or false", text)
	}
	*b = boolean(v)
	return nil
}

// CPU adds a flag for an amount of cpu, written as a quantity of Kubernetes and kept in millicores. An amount that does not fit
// is kept as the largest or smallest one, so that a check of the range finds it.
func CPU(fs *pflag.FlagSet, milli *int64, name string, value int64, usage string) {
	*milli = value
	fs.Var((*cpu)(milli), name, usage)
}

type cpu int64

func (c *cpu) String() string {
	return resource.NewMilliQuantity(int64(*c), resource.DecimalSI).String()
}
func (c *cpu) Type() string { return "quantity" }

func (c *cpu) Set(text string) error {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("%q is not a quantity: use for example 64 or 500m", text)
	}
	most := resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)
	least := resource.NewMilliQuantity(math.MinInt64, resource.DecimalSI)
	switch { // MilliValue overflows, or returns 0, if the result does not fit into 64 bits
	case q.Cmp(*most) >= 0:
		*c = math.MaxInt64
	case q.Cmp(*least) <= 0:
		*c = math.MinInt64
	default:
		*c = cpu(q.MilliValue())
	}
	return nil
}

// Mismatch describes a text that a flag of the type does not accept, with an example of a text that it accepts.
func Mismatch(text string, v pflag.Value) error {
	form, example := "a "+v.Type(), ""
	switch v.Type() {
	case "int", "int64":
		form, example = "a whole number", "10"
	case "float64":
		form, example = "a number", "0.05"
	case "duration":
		form, example = "a duration", "1s"
	case "true|false":
		form, example = "a boolean", "true"
	case "quantity":
		form, example = "a quantity", "64"
	}
	if example == "" {
		return fmt.Errorf("%q is not %s", text, form)
	}
	return fmt.Errorf("%q is not %s: use for example %s", text, form, example)
}
