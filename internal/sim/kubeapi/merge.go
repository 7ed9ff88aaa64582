package kubeapi

import (
	"bytes"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// content returns the object as maps, slices and scalars. It must not be changed.
func (e *entry) content() (map[string]any, error) {
	if e.loose == nil {
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.object)
		if err != nil {
			return nil, fmt.Errorf("convert %s: %w", e.object.GetName(), err)
		}
		e.loose = m
	}
	return e.loose, nil
}

// mergePatched returns the object of the entry with a merge patch applied. The object of the entry is not changed.
func (t *table) mergePatched(e *entry, patch []byte) (client.Object, error) {
	// A number of a patch is an int64 or a float64 after decoding, as in content.
	var changes map[string]any
	if err := json.Unmarshal(patch, &changes); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode merge patch: %v", err))
	}
	if changes == nil {
		return nil, apierrors.NewBadRequest("a merge patch must be a JSON object, got " + string(bytes.TrimSpace(patch)))
	}
	before, err := e.content()
	if err != nil {
		return nil, err
	}
	o := t.blank()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(merged(before, changes), o); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode %s: %v", t.kind.Kind, err))
	}
	return o, nil
}

// merged returns target with a JSON merge patch (RFC 7386) applied. It changes neither of them. The result shares values with
// both.
func merged(target, patch map[string]any) map[string]any {
	out := make(map[string]any, len(target)+len(patch))
	for k, v := range target {
		out[k] = v
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			inner, _ := out[k].(map[string]any) // nil if the target has another value there: it is replaced
			out[k] = merged(inner, v)
		default:
			out[k] = v
		}
	}
	return out
}
