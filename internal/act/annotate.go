package act

import (
	"context"
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
)

// Annotate sets an annotation of a NodeClaim or NodePool, or removes it if the value is empty. Commands of the CLI use it to make
// requests to the controller.
func Annotate(ctx context.Context, c client.Writer, o client.Object, key, value string) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %s: not an object", api.Kind(o))
	}
	annotations := map[string]string{}
	maps.Copy(annotations, o.GetAnnotations())
	delete(annotations, key)
	if value != "" {
		annotations[key] = value
	}
	o.SetAnnotations(annotations)
	if err := c.Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotate %s: %w", o.GetName(), err)
	}
	return nil
}
