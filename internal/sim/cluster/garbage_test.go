package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

func TestObjectsWithoutOwnersAreDeleted(t *testing.T) {
	w := newWorld(t, 1)
	config := func(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		for _, o := range owners {
			c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID})
		}
		return c
	}
	a, b := create(w, config("a")), create(w, config("b"))
	child := create(w, config("child", a, b))
	create(w, config("grandchild", child))
	kept := config("finalizer", a)
	kept.Finalizers = []string{"x/y"}
	create(w, kept)
	exists := func(name string) bool {
		_, ok := kubeapi.Find[*corev1.ConfigMap](w.server, "default", name)
		return ok
	}
	w.settle()
	if !exists("child") || !exists("grandchild") {
		t.Fatal("an object with an owner was deleted")
	}
	w.remove(a)
	w.settle()
	if !exists("child") || find[*corev1.ConfigMap](w, "default", "finalizer").DeletionTimestamp == nil {
		t.Error("want the object with another owner kept, and the one with a finalizer marked")
	}
	w.remove(b)
	w.settle()
	if exists("child") || exists("grandchild") {
		t.Error("an object whose owners were all deleted exists")
	}
	create(w, config("late", a))
	w.settle()
	if exists("late") {
		t.Error("an object that was created after its owner was deleted exists")
	}
}
