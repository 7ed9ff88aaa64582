package awscli

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// fill sets the field of an input that corresponds to an option.
func fill(input reflect.Value, option string, values []string) error {
	for i := range input.NumField() {
		if same(input.Type().Field(i).Name, option) && input.Field(i).CanSet() {
			return set(input.Field(i), "--"+option, values)
		}
		if no, ok := strings.CutPrefix(option, "no-"); ok && same(input.Type().Field(i).Name, no) && len(values) == 0 {
			return set(input.Field(i), "--"+option, []string{"false"})
		}
	}
	return wrong("%s has no option --%s", strings.TrimSuffix(input.Type().Name(), "Input"), option)
}

// set sets a field from words. A single value has one word. A list has any number of words. A structure is written as
// Key=a,Value=b or JSON.
func set(field reflect.Value, option string, words []string) error {
	if field.Kind() == reflect.Pointer {
		made := reflect.New(field.Type().Elem())
		field.Set(made)
		return set(made.Elem(), option, words)
	}
	if len(words) == 0 && field.Kind() == reflect.Bool {
		words = []string{"true"}
	}
	if len(words) == 0 {
		return wrong("%s has no value", option)
	}
	if first := strings.TrimSpace(words[0]); field.Kind() != reflect.String && (first[0] == '{' || first[0] == '[') {
		decoder := json.NewDecoder(strings.NewReader(strings.Join(words, " ")))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(field.Addr().Interface()); err != nil {
			return wrong("%s: %v", option, err)
		}
		return nil
	}
	if field.Kind() == reflect.Slice {
		for _, word := range words {
			item := reflect.New(field.Type().Elem()).Elem()
			if err := set(item, option, []string{word}); err != nil {
				return err
			}
			field.Set(reflect.Append(field, item))
		}
		return nil
	}
	if len(words) > 1 {
		return wrong("%s takes one value, has %q", option, words)
	}
	return one(field, option, words[0])
}

// one sets a field from one word. The word file://NAME stands for the content of the file.
func one(field reflect.Value, option, word string) error {
	if name, ok := strings.CutPrefix(word, "file://"); ok {
		text, err := os.ReadFile(name)
		if err != nil {
			return usage{err}
		}
		word = string(text)
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(word)
	case reflect.Bool:
		b, err := strconv.ParseBool(word)
		if err != nil {
			return wrong("%s: %q is no boolean", option, word)
		}
		field.SetBool(b)
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return wrong("%s: %q is no number", option, word)
		}
		field.SetInt(n)
	case reflect.Struct:
		return short(field, option, word)
	default:
		return wrong("%s: the stand-in cannot read a %s", option, field.Type())
	}
	return nil
}

// short sets a structure from its short form, such as Key=a,Value=b.
func short(field reflect.Value, option, word string) error {
	for _, part := range strings.Split(word, ",") {
		name, value, ok := strings.Cut(part, "=")
		at := field.FieldByName(name)
		if !ok || !at.IsValid() || !at.CanSet() {
			return wrong("%s: %q is not Name=value with a name that %s has", option, part, field.Type().Name())
		}
		if err := set(at, option, []string{value}); err != nil {
			return err
		}
	}
	return nil
}

// parametersOf parses the parameters of a stack, Name=value.
func parametersOf(words []string) ([]types.Parameter, error) {
	var list []types.Parameter
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, wrong("--parameter-overrides: %q is not Name=value", word)
		}
		list = append(list, types.Parameter{ParameterKey: aws.String(name), ParameterValue: aws.String(value)})
	}
	return list, nil
}

func capabilitiesOf(words []string) []types.Capability {
	list := make([]types.Capability, len(words))
	for i, word := range words {
		list[i] = types.Capability(word)
	}
	return list
}
