package manifest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Set has all objects that were read, in the order of the input. Objects of earlier API versions come last. An object
// that replaces an earlier one of the same name has the place of that one.
type Set struct {
	// Warnings are sentences about input that was ignored or changed.
	Warnings []string

	objects []Object
	places  map[Object]Place
	skipped map[schema.GroupVersionKind]int
	// numbered is the number of names that were generated for each generateName.
	numbered map[string]int
	// repeats counts objects that were overwritten by a later one of the same name, namesakes counts pods of the same
	// name that were kept.
	repeats, namesakes tally
}

func newSet() *Set {
	return &Set{places: map[Object]Place{}, skipped: map[schema.GroupVersionKind]int{}, numbered: map[string]int{}}
}

// Of returns the objects of type T, in the order of the input.
func Of[T Object](s *Set) []T {
	var out []T
	for _, o := range s.objects {
		if t, ok := o.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// Place returns the position of the object in the input.
func (s *Set) Place(o Object) Place { return s.places[o] }

// Error returns a mistake in a field of an object that was read.
func (s *Set) Error(o Object, kind, field, message string) *Error {
	return &Error{Place: s.places[o], Object: strings.TrimSpace(kind + " " + o.GetName()), Field: field, Message: message}
}

// Len returns the number of objects.
func (s *Set) Len() int { return len(s.objects) }

// convert removes the documents of earlier API versions, and appends the converted ones.
func (s *Set) convert(docs []*document, legacy Legacy) ([]*document, Errors) {
	var old []*document
	if legacy == nil {
		return docs, nil
	}
	kept := docs[:0:0]
	for _, d := range docs {
		if d.kind != "" && legacy.Knows(d.gvk(), d.json) {
			old = append(old, d)
		} else {
			kept = append(kept, d)
		}
	}
	if len(old) == 0 {
		return docs, nil
	}
	objects := make([]Written, len(old))
	for i, d := range old {
		objects[i] = Written{Place: d.place(), JSON: d.json}
	}
	text, warnings, err := legacy.Convert(objects)
	if err != nil {
		return nil, Errors{old[0].fail(nil, err.Error())}
	}
	s.Warnings = append(s.Warnings, warnings...)
	converted, errs := cut([]*source{{name: old[0].source.name + " (converted)", data: text}})
	if len(errs) == 0 {
		converted, errs = expand(converted)
	}
	return append(kept, converted...), errs
}

// take decodes the documents and adds their objects.
func (s *Set) take(ctx context.Context, docs []*document) Errors {
	results, read := make([]decoded, len(docs)), make([]bool, len(docs))
	like := &sharer{}
	each(len(docs), func(i int) { results[i], read[i] = docs[i].decode(ctx, like) })
	s.objects = make([]Object, 0, len(docs))
	at := make(map[string]int, len(docs))
	var errs Errors
	for i, r := range results {
		switch {
		case !read[i], docs[i].gvk() == configMaps && !isControllerMap(r.object):
			s.skipped[docs[i].gvk()]++
		case r.object == nil || len(r.errs) > 0:
			errs = append(errs, r.errs...)
		default:
			s.Warnings = append(s.Warnings, r.warnings...)
			s.add(r.object, docs[i], at)
		}
	}
	s.tell(s.repeats)
	s.tell(s.namesakes)
	s.tellSkipped()
	return errs
}

// isControllerMap reports whether the object is one of controllerMaps.
func isControllerMap(o Object) bool {
	return o != nil && slices.Contains(controllerMaps[:], o.GetName())
}

// add adds one object. It replaces an earlier one with the same name, as if both were applied. But two pods with the same
// name are both kept if they are on different nodes or one of them is pending, because a dump of a cluster and new pods are
// often simulated together. The name of the node is then appended to the name of one of them that is on a node.
func (s *Set) add(o Object, d *document, at map[string]int) {
	if o.GetName() == "" {
		for taken := true; taken; _, taken = at[key(o, d)] {
			s.numbered[o.GetGenerateName()]++
			o.SetName(fmt.Sprint(o.GetGenerateName(), s.numbered[o.GetGenerateName()]))
		}
	}
	s.places[o] = d.place()
	i, twice := at[key(o, d)]
	if !twice {
		at[key(o, d)] = len(s.objects)
		s.objects = append(s.objects, o)
		return
	}
	title := strings.TrimSpace(d.kind + " " + o.GetName())
	if other, ok := s.objects[i].(*corev1.Pod); ok && other.Spec.NodeName != o.(*corev1.Pod).Spec.NodeName {
		s.namesakes.add("%s with the name of another pod on a different node: both are used (%s in %s, and %s)", title, s.places[other], d.place())
		bound := o
		if bound.(*corev1.Pod).Spec.NodeName == "" {
			bound, s.objects[i] = other, o // the pending pod keeps the name, since results name it
		}
		bound.SetName(bound.GetName() + "." + bound.(*corev1.Pod).Spec.NodeName)
		s.objects = append(s.objects, bound)
		return
	}
	s.repeats.add("%s given more than once, the last one is used (%s in %s, and %s)", title, s.places[s.objects[i]], d.place())
	s.objects[i] = o
}

func key(o Object, d *document) string {
	return d.apiVersion + "/" + d.kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

// A tally counts equal warnings and stores the text of the first.
type tally struct {
	n    int
	text string
	args []any
}

func (t *tally) add(text string, args ...any) {
	if t.n++; t.n == 1 {
		t.text, t.args = text, args
	}
}

// tell adds the tally to the warnings.
func (s *Set) tell(t tally) {
	if t.n == 0 {
		return
	}
	objects := fmt.Sprintf("%d objects", t.n)
	if t.n == 1 {
		objects = "1 object"
	}
	s.Warnings = append(s.Warnings, fmt.Sprintf(t.text, append([]any{objects}, t.args...)...))
}

// tellSkipped adds one warning that lists the skipped kinds.
func (s *Set) tellSkipped() {
	var parts []string
	kinds := slices.SortedFunc(maps.Keys(s.skipped), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.String(), b.String()))
	})
	for _, k := range kinds {
		if k.Kind != "" {
			parts = append(parts, fmt.Sprintf("%d %s", s.skipped[k], k.Kind))
		}
	}
	if n := s.skipped[schema.GroupVersionKind{}]; n > 0 {
		text := "documents that are not Kubernetes objects"
		if n == 1 {
			text = "document that is not a Kubernetes object"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, text))
	}
	if len(parts) > 0 {
		s.Warnings = append(s.Warnings, "ignored kinds without effect: "+strings.Join(parts, ", "))
	}
}
