package singleton

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request returns the request of all singletons. Because there is only one, reconciles of a singleton never overlap.
func Request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: "singleton"}}
}

// Source enqueues Request once, when the controller starts.
func Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(Request())
		return nil
	})
}

// Handler maps every event to Request, for a singleton that also reconciles when objects change.
func Handler() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{Request()}
	})
}
