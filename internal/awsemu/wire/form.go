package wire

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Form has the parameters of a request, or those below a prefix.
type Form struct {
	values url.Values
	prefix string
	errs   *[]*Error // shared by all parts of a request
}

// NewForm returns the form of a complete request.
func NewForm(values url.Values) Form {
	return Form{values: values, errs: new([]*Error)}
}

// Err returns the error for the first malformed value that was read so far, nil if there is none.
func (f Form) Err() *Error {
	if len(*f.errs) == 0 {
		return nil
	}
	return (*f.errs)[0]
}

// Has reports whether the request has a value for key or for a key below it.
func (f Form) Has(key string) bool {
	full := f.prefix + key
	if _, ok := f.values[full]; ok {
		return true
	}
	for k := range f.values {
		if strings.HasPrefix(k, full+".") {
			return true
		}
	}
	return false
}

// String returns the value of key, empty if it is not set.
func (f Form) String(key string) string { return f.values.Get(f.prefix + key) }

// Int returns the integer value of key, 0 if it is not set.
func (f Form) Int(key string) int {
	text := f.String(key)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		f.malformed(key, text)
	}
	return n
}

// Float returns the decimal value of key, 0 if it is not set.
func (f Form) Float(key string) float64 {
	text := f.String(key)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		f.malformed(key, text)
	}
	return n
}

// Bool returns the boolean value of key, false if it is not set.
func (f Form) Bool(key string) bool {
	text := f.String(key)
	if text == "" {
		return false
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		f.malformed(key, text)
	}
	return b
}

// Time returns the value of key as a time, the zero time if it is not set.
func (f Form) Time(key string) time.Time {
	text := f.String(key)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		f.malformed(key, text)
	}
	return t
}

// Sub returns the part of the form below key.
func (f Form) Sub(key string) Form {
	return Form{values: f.values, prefix: f.prefix + key + ".", errs: f.errs}
}

// List returns the values of key.1, key.2 and so on, in ascending order of the numbers. Numbers may be missing. In awsQuery, key
// ends in ".member".
func (f Form) List(key string) []string {
	var out []string
	for _, n := range f.indexes(key) {
		if v, ok := f.values[f.prefix+key+"."+strconv.Itoa(n)]; ok && len(v) > 0 {
			out = append(out, v[0])
		}
	}
	return out
}

// Each returns the structures below key.1, key.2 and so on, in ascending order of the numbers.
func (f Form) Each(key string) []Form {
	var out []Form
	for _, n := range f.indexes(key) {
		out = append(out, f.Sub(key+"."+strconv.Itoa(n)))
	}
	return out
}

// indexes returns the numbers that follow key, in ascending order.
func (f Form) indexes(key string) []int {
	start := f.prefix + key + "."
	var out []int
	for k := range f.values {
		rest, ok := strings.CutPrefix(k, start)
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			continue
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// malformed records a value of the wrong type.
func (f Form) malformed(key, text string) {
	*f.errs = append(*f.errs, Errorf("InvalidParameterValue",
		"Value (%s) for parameter %s is invalid.", text, f.prefix+key))
}
