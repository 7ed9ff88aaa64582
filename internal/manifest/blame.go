package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// blame returns the path of the field because of which data cannot be decoded into t, and the reason. The error of the
// decoder lacks indices of lists and keys of maps, and names no field of types with their own decoder, such as quantities.
// So blame decodes each field alone, and recurses into the one that fails. why is "" if data can be decoded.
func blame(data []byte, t reflect.Type) (at path, why string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	err := utiljson.Unmarshal(data, reflect.New(t).Interface())
	if err == nil {
		return nil, ""
	}
	why = complaint(data, t, err)
	if _, own := reflect.New(t).Interface().(json.Unmarshaler); own {
		return nil, why
	}
	found := func(step any, value []byte, t reflect.Type) bool {
		inner, w := blame(value, t)
		if w != "" {
			at, why = append(path{step}, inner...), w
		}
		return w != ""
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		_ = eachField(data, func(key string, value []byte) bool { // if data cannot be split, why has the error of the whole
			ft := fieldType(t, key)
			return ft == nil || !found(key, value, ft)
		})
	case reflect.Slice, reflect.Array:
		done := false
		_ = eachItem(data, func(i int, item []byte) { // as above
			done = done || found(i, item, t.Elem())
		})
	}
	return at, why
}

// fieldType returns the type of the field whose name in JSON is key, nil if there is none.
func fieldType(t reflect.Type, key string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
	default:
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == key:
			return f.Type
		case name == "" && f.Anonymous:
			inner := f.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if ft := fieldType(inner, key); ft != nil {
				return ft
			}
		}
	}
	return nil
}

// complaint returns the reason why data cannot be decoded into t.
func complaint(data []byte, t reflect.Type, err error) string {
	short := string(data)
	if len(short) > 40 {
		short = short[:37] + "..."
	}
	var mismatch *json.UnmarshalTypeError
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		return fmt.Sprintf("%s is not a quantity, use for example 500m, 2 or 4Gi", short)
	case errors.As(err, &mismatch):
		if data[0] == '{' || data[0] == '[' {
			short = jsonKind(data)
		}
		return fmt.Sprintf("is %s, must be %s", short, wanted(t))
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// wanted names a Go type in terms of JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return t.Kind().String()
}
