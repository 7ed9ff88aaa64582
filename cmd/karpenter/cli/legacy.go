package cli

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenter-go/karpenter/internal/convert"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

// converter reads objects of earlier API versions as the command convert would turn them out.
type converter struct{}

var _ manifest.Legacy = converter{}

// Knows implements manifest.Legacy.
func (converter) Knows(gvk schema.GroupVersionKind, object []byte) bool {
	return convert.IsLegacy(gvk.GroupVersion().String(), gvk.Kind, object)
}

// Convert implements manifest.Legacy. Each object is a file of its own, so that warnings name the place where it was
// written.
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
