package convert

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// Objects converts objects that a caller has read, for commands that accept manifests of any API version. It does not check
// the results against the schemas: the reader does that with all objects. The zero value is ready to use.
type Objects struct{ Options Options }

// Knows reports whether objects of this kind and version are converted.
func (Objects) Knows(gvk schema.GroupVersionKind) bool {
	return legacy.FormOf(gvk.GroupVersion().String(), gvk.Kind) != legacy.Foreign
}

// Convert converts objects in JSON, all at once since one may need another. It returns a manifest in YAML, and what the
// reader of the result should know.
func (o Objects) Convert(objects [][]byte) (manifest []byte, warnings []string, err error) {
	options := o.Options
	options.Unchecked = true
	var stream bytes.Buffer
	for _, object := range objects {
		stream.WriteString("---\n")
		stream.Write(bytes.TrimSpace(object))
		stream.WriteByte('\n')
	}
	r, err := Convert([]File{{Name: "input", Data: stream.Bytes()}}, options)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range r.Warnings {
		where := w.Object
		if w.Field != "" {
			where += ": " + w.Field
		}
		warnings = append(warnings, fmt.Sprintf("%s: %s", where, w.Text))
	}
	return r.Text(), warnings, nil
}
