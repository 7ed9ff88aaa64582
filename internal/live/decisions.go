package live

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/decisions"
)

// namespaces are the namespaces in which the published decisions are searched first.
var namespaces = [...]string{"kube-system", "karpenter"}

// ErrNoDecisions is the error if no controller has published decisions.
var ErrNoDecisions = errors.New("no ConfigMap " + decisions.MapName + " found: the controller has made no decision yet, does not publish them " +
	"(--publish-decisions), or is in a namespace that was not searched")

// Decisions returns the published decisions of the controller, oldest first, and its namespace. If namespace is empty,
// the usual namespaces are searched first, and then all.
func Decisions(ctx context.Context, r client.Reader, namespace string) ([]decisions.Episode, string, error) {
	m, err := DecisionsMap(ctx, r, namespace)
	if err != nil {
		return nil, "", err
	}
	episodes, err := episodesOf(m)
	return episodes, m.Namespace, err
}

// DecisionsMap returns the ConfigMap with the published decisions and settings of the controller. If namespace is empty,
// the usual namespaces are searched first, and then all. The error is ErrNoDecisions if there is no such ConfigMap.
func DecisionsMap(ctx context.Context, r client.Reader, namespace string) (*corev1.ConfigMap, error) {
	search := namespaces[:]
	if namespace != "" {
		search = []string{namespace}
	}
	for _, ns := range search {
		var m corev1.ConfigMap
		err := r.Get(ctx, client.ObjectKey{Namespace: ns, Name: decisions.MapName}, &m)
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) && len(search) > 1 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read ConfigMap %s/%s: %w", ns, decisions.MapName, err)
		}
		return &m, nil
	}
	if namespace != "" {
		return nil, ErrNoDecisions
	}
	var all corev1.ConfigMapList
	err := r.List(ctx, &all, client.MatchingFields{"metadata.name": decisions.MapName})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list ConfigMaps %s: %w", decisions.MapName, err)
	}
	if len(all.Items) == 0 {
		return nil, ErrNoDecisions
	}
	return &all.Items[0], nil
}

func episodesOf(m *corev1.ConfigMap) ([]decisions.Episode, error) {
	episodes, err := decisions.Decode(m.Data[decisions.MapKey])
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	return episodes, nil
}

// FollowDecisions calls see with the published decisions now and after each change, until ctx ends or see returns an
// error. If the API server ends the watch, FollowDecisions begins another.
func FollowDecisions(ctx context.Context, c client.WithWatch, namespace string, see func([]decisions.Episode) error) error {
	for ctx.Err() == nil {
		w, err := c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": decisions.MapName})
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch ConfigMap %s/%s: %w", namespace, decisions.MapName, err)
		}
		err = pass(w, see)
		w.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// pass calls see with the decisions in each event of the watch, until the watch ends or see returns an error.
func pass(w watch.Interface, see func([]decisions.Episode) error) error {
	for event := range w.ResultChan() {
		m, ok := event.Object.(*corev1.ConfigMap)
		if !ok || m.Name != decisions.MapName || event.Type == watch.Deleted {
			continue
		}
		episodes, err := episodesOf(m)
		if err != nil {
			return err
		}
		if err := see(episodes); err != nil {
			return err
		}
	}
	return nil
}
