package watching

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Each time that the list does not meet the condition, another node is created. Until sees every one of them.
func TestUntilLooksAgainAfterEachChange(t *testing.T) {
	c := watchable{fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node("a")).Build(), nil}
	names := []string{"b", "c"}
	c.onWatch = func() error {
		name := names[0]
		names = names[1:]
		return c.Create(t.Context(), node(name))
	}
	var list corev1.NodeList
	err := Until(t.Context(), &c, &list, func() bool { return len(list.Items) == 3 })
	if err != nil || len(names) != 0 {
		t.Errorf("Until: %v, with %v not made", err, names)
	}
}

func TestUntilEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := watchable{fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), nil}
	c.onWatch = func() error { cancel(); return nil }
	var list corev1.NodeList
	err := Until(ctx, &c, &list, func() bool { return false })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Until: %v, want the context's error", err)
	}
}

// watchable calls onWatch as soon as a watch has started.
type watchable struct {
	client.WithWatch
	onWatch func() error
}

func (c *watchable) Watch(
	ctx context.Context, list client.ObjectList, opts ...client.ListOption,
) (watch.Interface, error) {
	w, err := c.WithWatch.Watch(ctx, list, opts...)
	if err != nil {
		return nil, err
	}
	return w, c.onWatch()
}
