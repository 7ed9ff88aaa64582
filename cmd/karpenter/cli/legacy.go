package cli

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-go/karpenter/internal/convert"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

// converter converts objects of earlier API versions like the command convert.
type converter struct{}

var _ manifest.Legacy = converter{}

// Knows implements manifest.Legacy.
func (converter) Knows(gvk schema.GroupVersionKind, object []byte) bool {
	return convert.IsLegacy(gvk.GroupVersion().String(), gvk.Kind, object)
}

// Convert implements manifest.Legacy. Each object is converted as a separate file, so that warnings have its position.
func (converter) Convert(objects []manifest.Written) ([]byte, []string, error) {
	files := make([]convert.File, len(objects))
	for i, o := range objects {
		files[i] = convert.File{Name: o.Place.String(), Data: o.JSON}
	}
	result, err := convert.Convert(files, convert.Options{Unchecked: true})
	if err != nil {
		return nil, nil, err
	}
	warnings := make([]string, len(result.Warnings))
	for i, w := range result.Warnings {
		for _, part := range []string{w.File, w.Object, w.Field, w.Text} {
			if part != "" && warnings[i] != "" {
				warnings[i] += ": "
			}
			warnings[i] += part
		}
	}
	return result.Text(), warnings, nil
}
