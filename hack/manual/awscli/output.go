package awscli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jmespath/go-jmespath"
)

// show has the options that affect how a response is printed.
type show struct {
	query *jmespath.JMESPath // nil prints all
	text  bool
}

// shown removes --query and --output from options and returns their values.
func shown(options map[string][]string) (show, error) {
	var s show
	take := func(name string) (string, error) {
		values, ok := options[name]
		delete(options, name)
		if ok && len(values) != 1 {
			return "", wrong("--%s takes one value, has %q", name, values)
		}
		return strings.Join(values, ""), nil
	}
	query, err := take("query")
	if err != nil {
		return s, err
	}
	if query != "" {
		if s.query, err = jmespath.Compile(query); err != nil {
			return s, wrong("--query %s: %v", query, err)
		}
	}
	output, err := take("output")
	if err != nil {
		return s, err
	}
	if !slices.Contains([]string{"", "json", "text"}, output) {
		return s, wrong("--output is %q, and the stand-in knows json and text", output)
	}
	s.text = output == "text"
	return s, nil
}

// print writes a response. It writes nothing if the response is empty. A query that has no result in the response is an
// error.
func (s show) print(w io.Writer, answer any) error {
	if fields, ok := answer.(map[string]any); ok && len(fields) == 0 {
		return nil
	}
	if s.query != nil {
		found, err := s.query.Search(answer)
		if err != nil {
			return fmt.Errorf("query: %w", err)
		}
		if found == nil {
			return fmt.Errorf("the query finds nothing in %v", answer)
		}
		answer = found
	}
	if s.text {
		return text(w, answer)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "    ")
	return encoder.Encode(answer)
}

// text writes a word, or a list of words, on one line.
func text(w io.Writer, answer any) error {
	list, ok := answer.([]any)
	if !ok {
		list = []any{answer}
	}
	words := make([]string, len(list))
	for i, item := range list {
		switch item.(type) {
		case map[string]any, []any:
			return wrong("--output text: the stand-in prints words and lists of words: choose some with --query")
		}
		words[i] = fmt.Sprint(item)
	}
	_, err := fmt.Fprintln(w, strings.Join(words, "\t"))
	return err
}

// tree converts a response of the SDK to the output of the AWS CLI: mappings, lists and words. small is true for
// services whose names begin with a lower-case letter.
func tree(answer any, small bool) any {
	t, _ := branch(reflect.ValueOf(answer), small)
	return t
}

// branch converts a part of a response, and reports whether it is set.
func branch(v reflect.Value, small bool) (any, bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, false
		}
		return branch(v.Elem(), small)
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			return at.UTC().Format(time.RFC3339), true
		}
		fields := map[string]any{}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Name == "ResultMetadata" {
				continue
			}
			name := f.Name
			if small {
				name = strings.ToLower(name[:1]) + name[1:]
			}
			if part, ok := branch(v.Field(i), small); ok {
				fields[name] = part
			}
		}
		return fields, true
	case reflect.Slice:
		list := make([]any, 0, v.Len())
		for i := range v.Len() {
			item, _ := branch(v.Index(i), small)
			list = append(list, item)
		}
		return list, !v.IsNil()
	case reflect.Map:
		fields := map[string]any{}
		for _, key := range v.MapKeys() {
			fields[key.String()], _ = branch(v.MapIndex(key), small)
		}
		return fields, !v.IsNil()
	case reflect.String:
		return v.String(), v.String() != ""
	case reflect.Int32, reflect.Int64:
		return float64(v.Int()), true
	}
	return v.Interface(), true
}
