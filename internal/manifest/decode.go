package manifest

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sigsjson "sigs.k8s.io/json"

	"github.com/karpenter-go/karpenter/api/admission"
)

// A decoded is the result of decoding a document: an object, errors, both if the object has no name, or neither if the
// document is skipped.
type decoded struct {
	object   Object
	errs     []*Error
	warnings []string
}

// newChecker creates the checker when the first object of a kind of Karpenter is decoded, because compiling the schemas
// takes longer than reading a thousand pods.
var newChecker = sync.OnceValues(admission.New)

// each runs f for 0 to n-1 on all cores and waits.
func each(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// decode decodes the document. ok is false if the document is skipped: its kind is not in kinds and its group is not one of
// Karpenter, or it has no kind and its file was found in a directory.
func (d *document) decode(ctx context.Context, like *sharer) (out decoded, ok bool) {
	switch {
	case d.kind == "" && d.source.found:
		d.apiVersion = "" // counted with the documents that are not objects, whatever its apiVersion
		return decoded{}, false
	case d.kind == "" || d.apiVersion == "":
		missing := "kind"
		if d.kind != "" {
			missing = "apiVersion"
		}
		return decoded{errs: []*Error{d.mistake(path{missing}, "required field is not set: a Kubernetes object has apiVersion and kind")}}, true
	}
	gvk := d.gvk()
	k, known := kinds[gvk]
	switch {
	case !known && groups[gvk.Group]:
		return decoded{errs: []*Error{d.mistake(path{"apiVersion"}, fmt.Sprintf("unknown kind %s in %s; %s", d.kind, d.apiVersion, nearKind(gvk)))}}, true
	case !known:
		return decoded{}, false
	case k.ours:
		out = d.decodeOurs(ctx, k)
	default:
		out = d.decodeTheirs(k, like)
	}
	if out.object != nil {
		out.errs = append(out.errs, d.settle(k, out.object)...)
	}
	return out, true
}

func (d *document) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(d.apiVersion, d.kind)
}

// nearKind returns a hint at the kinds that are similar to gvk.
func nearKind(gvk schema.GroupVersionKind) string {
	var same, group []string
	for k := range kinds {
		switch {
		case k.Group != gvk.Group:
		case strings.EqualFold(k.Kind, gvk.Kind):
			same = append(same, k.GroupVersion().String()+" "+k.Kind)
		default:
			group = append(group, k.Kind)
		}
	}
	if len(same) > 0 {
		return "use " + strings.Join(same, ", ")
	}
	slices.Sort(group)
	return "known kinds: " + strings.Join(group, ", ")
}

// settle sets the default namespace, and returns an error for an object without a name.
func (d *document) settle(k kind, o Object) []*Error {
	if k.namespaced && o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	if o.GetName() == "" && o.GetGenerateName() == "" {
		return []*Error{d.mistake(path{"metadata", "name"}, "required field is not set")}
	}
	return nil
}

// decodeTheirs decodes an object of a kind of Kubernetes. Unknown fields are ignored; for YAML, which is mostly written
// by people, there is a warning.
func (d *document) decodeTheirs(k kind, like *sharer) (out decoded) {
	if k.object == reflect.TypeFor[corev1.Pod]() && !d.yaml {
		if p, ok := like.pod(d.json); ok {
			return decoded{object: p}
		}
	}
	o := k.new()
	var strict []error
	var err error
	if d.yaml {
		strict, err = sigsjson.UnmarshalStrict(d.json, o)
	} else {
		err = utiljson.Unmarshal(d.json, o)
	}
	if err != nil {
		at, why := blame(d.json, k.object)
		if why == "" {
			why = err.Error()
		}
		if d.yaml && (strings.HasPrefix(why, "is true, must be a string") || strings.HasPrefix(why, "is false, must be a string")) {
			why += "; quote it, because YAML interprets y, n, yes, no, on and off as booleans"
		}
		return decoded{errs: []*Error{d.mistake(at, why)}}
	}
	out.object = o
	for _, s := range strict {
		out.warnings = append(out.warnings, fmt.Sprintf("%s: %s: %s, ignored", d.place(), d.title(), s))
	}
	return out
}

// decodeOurs decodes an object of a kind of Karpenter, with validation and defaults as in the API server.
func (d *document) decodeOurs(ctx context.Context, k kind) (out decoded) {
	checker, err := newChecker()
	if err != nil {
		return decoded{errs: []*Error{d.mistake(nil, err.Error())}}
	}
	raw := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(d.json, &raw.Object); err != nil {
		at, why := blame(d.json, reflect.TypeFor[map[string]any]())
		return decoded{errs: []*Error{d.mistake(at, strings.TrimSpace(why+" "+err.Error()))}}
	}
	stored, problems := checker.Create(ctx, raw)
	for _, p := range problems {
		e := d.mistake(parsePath(p.Field), problemText(p))
		e.Field = p.Field // parsePath may misread a path whose keys have dots
		out.errs = append(out.errs, e)
	}
	if len(out.errs) > 0 {
		return out
	}
	o := k.new()
	if err := kruntime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, o); err != nil {
		at, why := blame(d.json, k.object)
		if why == "" {
			why = err.Error()
		}
		return decoded{errs: []*Error{d.mistake(at, why)}}
	}
	out.object = o
	return out
}

// problemText returns the message of a field error, without the field.
func problemText(p *field.Error) string {
	switch {
	case p.Type == field.ErrorTypeRequired && p.Detail == "":
		return "required field is not set"
	case p.Detail == "unknown field":
		return "unknown field"
	}
	return p.ErrorBody()
}

// mistake is like fail, but the line and the name of the object are computed only if the error is printed (see located).
func (d *document) mistake(at path, message string) *Error {
	return &Error{Place: d.place(), Field: at.String(), Message: message, document: d, path: at}
}
