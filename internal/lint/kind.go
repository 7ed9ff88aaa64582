package lint

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// strange reports an object that is probably meant to be of a kind of Karpenter but has a wrong or missing group,
// version or kind. It returns true if it has reported the object.
func (l *linter) strange(o *object) bool {
	gvk := o.content.GroupVersionKind()
	meant := l.meant(gvk)
	if !strings.HasSuffix(gvk.Group, legacy.CoreGroup) && gvk.Group != legacy.AWSGroup &&
		(meant.Empty() || gvk.Group != "" && !strings.Contains(gvk.Group, "karpenter") || gvk.Group == "" && gvk.Version != "") {
		return false
	}
	field, message := "kind", "unknown kind "+gvk.Kind+" in "+gvk.GroupVersion().String()
	switch {
	case gvk.Kind == "":
		field, message = "apiVersion", "kind is not set"
	case gvk.Version == "":
		message = "apiVersion is not set"
	case gvk.Kind == meant.Kind:
		field = "apiVersion"
	}
	fix := "use one of the kinds that the CRDs define: " + strings.Join(l.ours(), ", ")
	if !meant.Empty() {
		fix = "set apiVersion: " + meant.GroupVersion().String() + " and kind: " + meant.Kind
	}
	l.at(o, "unknown-kind", field, fix, "%s", message)
	return true
}

// meant returns the kind of Karpenter that has the given kind's name, except for capital letters and the plural. The
// result is empty if there is none.
func (l *linter) meant(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	bare := func(kind string) string {
		return strings.TrimRight(strings.ToLower(kind), "es")
	}
	for _, known := range l.checker.Kinds() {
		if gvk.Kind != "" && bare(known.Kind) == bare(gvk.Kind) {
			return known
		}
	}
	return schema.GroupVersionKind{}
}

// ours returns the names of Karpenter's kinds, sorted.
func (l *linter) ours() []string {
	var names []string
	for _, k := range l.checker.Kinds() {
		names = append(names, k.Kind)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
