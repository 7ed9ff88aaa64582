package wire

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Form is a request, or a part of one below a prefix.
type Form struct {
	values url.Values
	prefix string
	errs   *[]*Error // shared by all parts of a request
}

// NewForm returns the form of a whole request.
func NewForm(values url.Values) Form {
	return Form{values: values, errs: new([]*Error)}
}

// Err returns the first malformed value that was read so far, or nil.
func (f Form) Err() *Error {
	if len(*f.errs) == 0 {
		return nil
	}
	return (*f.errs)[0]
}

// Has reports whether the request sets key or anything below it.
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

// List returns the values key.1, key.2 and so on, in order of their numbers.
// Gaps are allowed. In awsQuery the key ends in ".member".
func (f Form) List(key string) []string {
	var out []string
	for _, n := range f.indexes(key) {
		if v, ok := f.values[f.prefix+key+"."+strconv.Itoa(n)]; ok && len(v) > 0 {
			out = append(out, v[0])
		}
	}
	return out
}

// Each returns the structures key.1.*, key.2.* and so on, in order of their
// numbers.
func (f Form) Each(key string) []Form {
	var out []Form
	for _, n := range f.indexes(key) {
		out = append(out, f.Sub(key+"."+strconv.Itoa(n)))
	}
	return out
}

// indexes returns the numbers that follow key, sorted.
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

// malformed notes a value that has the wrong type.
func (f Form) malformed(key, text string) {
	*f.errs = append(*f.errs, Errorf("InvalidParameterValue",
		"Value (%s) for parameter %s is invalid.", text, f.prefix+key))
}
