package api

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Kind returns the kind of an object for messages, such as Pod. For a list it is the kind of the items. Objects with a Go type often
// lack the kind; their types are named like it.
func Kind(o runtime.Object) string {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if t := reflect.TypeOf(o); kind == "" && t.Kind() == reflect.Pointer {
		kind = t.Elem().Name()
	}
	return strings.TrimSuffix(kind, "List")
}
