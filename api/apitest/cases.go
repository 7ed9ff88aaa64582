package apitest

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

//go:embed testdata/*.yaml
var files embed.FS

// OK is the WantErr of an object that must be accepted.
const OK = "ok"

// Case is one object and the response that the API server must give.
type Case struct {
	// Name states the rule in a few words, after the kind: "nodepool/weight over 100".
	Name string
	// Object is the object to create, or the one that replaces Old. Its name is unique.
	Object *unstructured.Unstructured
	// Old is the stored object before an update, nil for a creation. It is valid.
	Old *unstructured.Unstructured
	// WantErr is part of the error, or OK.
	WantErr string
	// WantStored, if not nil, is a part of the stored object: each of its values
	// must be stored at the same path.
	WantStored map[string]any
}

// file is the structure of a file in testdata.
type file struct {
	// Base is a valid object.
	Base map[string]any `json:"base"`
	// Cases are changes of Base. A change is a JSON merge patch: null removes a field, and a list replaces a list.
	Cases []struct {
		Name string         `json:"name"`
		Set  map[string]any `json:"set"`
		// From is the change of Base that gives the object before an update. {} gives Base itself.
		From map[string]any `json:"from"`
		Want string         `json:"want"`
		// Stored is the part of the stored object that is compared.
		Stored map[string]any `json:"stored"`
	} `json:"cases"`
}

// Cases returns all cases, in the order of the file names. The cases of a file are
// in the order of its lines, followed by those of bounds. Callers may change them.
func Cases() ([]Case, error) {
	names, err := fs.Glob(files, "testdata/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list cases: %w", err)
	}
	var list []Case
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		var f file
		if err := yaml.UnmarshalStrict(b, &f); err != nil {
			return nil, fmt.Errorf("decode %s: %w", name, err)
		}
		list = append(list, f.cases()...)
	}
	return list, nil
}

func (f file) cases() []Case {
	list := make([]Case, 0, len(f.Cases))
	kind := strings.ToLower(f.Base["kind"].(string))
	for i, c := range f.Cases {
		name := fmt.Sprintf("%s-%d", kind, i)
		made := Case{
			Name:       kind + "/" + c.Name,
			Object:     object(f.Base, c.Set, name),
			WantErr:    c.Want,
			WantStored: c.Stored,
		}
		if c.From != nil {
			made.Old = object(f.Base, c.From, name)
		}
		list = append(list, made)
	}
	return append(list, atBounds(kind, f.Base)...)
}

func object(base, change map[string]any, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: Merge(base, change)}
	o.SetName(name)
	return o
}

// Merge returns base with a JSON merge patch (RFC 7386) applied. Neither
// argument is changed, and the result shares nothing with them.
func Merge(base, change map[string]any) map[string]any {
	merged := runtime.DeepCopyJSON(normal(base))
	for key, value := range maps.All(normal(change)) {
		switch value := value.(type) {
		case nil:
			delete(merged, key)
		case map[string]any:
			into, _ := merged[key].(map[string]any)
			merged[key] = Merge(into, value)
		default:
			merged[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	return merged
}

// normal converts whole numbers to int64, the type that they have in unstructured objects.
func normal(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = normalValue(value)
	}
	return out
}

func normalValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return normal(value)
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = normalValue(value[i])
		}
		return out
	case float64:
		if whole := int64(value); float64(whole) == value {
			return whole
		}
	}
	return value
}
