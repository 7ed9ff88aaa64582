// Package classwrite has what controllers of node classes need to write them: a patch that loses no change of another
// writer, and the result of a Reconcile whose write failed.
package classwrite

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conflictPause is the pause before a class is read and written again after a conflict. By then, the cache is
// expected to have the change of the other writer.
const conflictPause = time.Second

// Locked returns a merge patch with the changes from before to the object that is patched. The patch fails with a conflict
// if the stored object has another resource version than before.
func Locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// Failed returns the result of a Reconcile after a write of the class failed with err. After a conflict, the class is
// reconciled again after a second. If the class does not exist any more, there is no error. Any other error is returned as
// "what name: err".
func Failed(err error, what, name string) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, fmt.Errorf("%s %s: %w", what, name, err)
}
