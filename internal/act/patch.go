package act

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
)

// Patch sends the difference between before and obj, with an optimistic lock. After a conflict, the caller must read the object
// again and repeat its decision. If there is no difference, nothing is sent. obj is updated from the response. Patch does not
// write the status, see PatchStatus.
func Patch(ctx context.Context, c client.Client, before, obj client.Object) error {
	if Same(before, obj) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("patch %s %s: %w", api.Kind(obj), obj.GetName(), err)
	}
	return nil
}

// PatchStatus is Patch for the status subresource.
func PatchStatus(ctx context.Context, c client.Client, before, obj client.Object) error {
	if Same(before, obj) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("patch status of %s %s: %w", api.Kind(obj), obj.GetName(), err)
	}
	return nil
}

// Same reports whether two versions of an object are semantically equal. Most writes change nothing, and reflect.DeepEqual finds
// that in a fraction of the time.
func Same(a, b client.Object) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}

// Merge is Patch without an optimistic lock, for fields that have only one writer. It keeps changes that others made to other
// fields since the read. The patch is sent even if there is no difference, because the response updates obj.
func Merge(ctx context.Context, c client.Client, before, obj client.Object) error {
	if err := c.Patch(ctx, obj, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patch %s %s: %w", api.Kind(obj), obj.GetName(), err)
	}
	return nil
}

// MergeStatus is Merge for the status subresource.
func MergeStatus(ctx context.Context, c client.Client, before, obj client.Object) error {
	if err := c.Status().Patch(ctx, obj, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patch status of %s %s: %w", api.Kind(obj), obj.GetName(), err)
	}
	return nil
}

// tries is the maximum number of attempts of a write that conflicts.
const tries = 5

// Again calls write with o. After a conflict, it reads the object with live, which should have no cache, and calls write
// with the result. It calls write at most `tries` times. If the object that was read is being deleted or has another UID,
// Again returns the conflict. If it cannot be read, Again returns the error of the read.
func Again[T client.Object](ctx context.Context, live client.Reader, o T, write func(T) (T, error)) (T, error) {
	return again(ctx, live, o, write, func(fresh T) bool { return fresh.GetDeletionTimestamp() == nil })
}

// AgainDeleting is Again for writes that also apply to objects that are being deleted.
func AgainDeleting[T client.Object](ctx context.Context, live client.Reader, o T, write func(T) (T, error)) (T, error) {
	return again(ctx, live, o, write, func(T) bool { return true })
}

// again repeats write after conflicts while the object has the same UID and may be written.
func again[T client.Object](
	ctx context.Context, live client.Reader, o T, write func(T) (T, error), mayWrite func(T) bool,
) (T, error) {
	written, err := write(o)
	for try := 1; try < tries && apierrors.IsConflict(err); try++ {
		fresh, ok := o.DeepCopyObject().(T)
		if !ok {
			break
		}
		if getErr := live.Get(ctx, client.ObjectKeyFromObject(o), fresh); getErr != nil {
			return written, getErr
		}
		if fresh.GetUID() != o.GetUID() || !mayWrite(fresh) {
			break
		}
		written, err = write(fresh)
	}
	return written, err
}

// Conflict reports whether err means that the object has changed since it was read, or does not exist any more.
func Conflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
