package act

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch writes what changed in obj since before was copied from it, with an optimistic lock: a conflict means that
// somebody else wrote in between and the caller should look again. Nothing is sent when nothing changed. obj is brought
// up to date with the server's answer. Status is not written; see PatchStatus.
func Patch(ctx context.Context, c client.Client, before, obj client.Object) error {
	if equality.Semantic.DeepEqual(before, obj) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("patch %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

// PatchStatus is Patch for the status subresource.
func PatchStatus(ctx context.Context, c client.Client, before, obj client.Object) error {
	if equality.Semantic.DeepEqual(before, obj) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("patch status of %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

// again has write change o, and once more as it is by then if somebody else wrote in between. An object that is being
// deleted by then, or is another one of that name, is left alone: the conflict is returned.
func again[T client.Object](ctx context.Context, c client.Client, o T, write func(T) (T, error)) (T, error) {
	written, err := write(o)
	if !apierrors.IsConflict(err) {
		return written, err
	}
	fresh, ok := o.DeepCopyObject().(T)
	if !ok {
		return written, err
	}
	if getErr := c.Get(ctx, client.ObjectKeyFromObject(o), fresh); getErr != nil {
		return written, getErr
	}
	if fresh.GetUID() != o.GetUID() || fresh.GetDeletionTimestamp() != nil {
		return written, err
	}
	return write(fresh)
}

// Conflict reports whether err says that somebody else wrote in between, or that the object is gone.
func Conflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
