package sim

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reversed is a client that lists objects from the last to the first.
type reversed struct{ client.Client }

func (reversed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	pods := list.(*corev1.PodList)
	for _, name := range []string{"b", "a"} {
		for _, namespace := range []string{"y", "x"} {
			pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		}
	}
	return nil
}

// A client from orderLists returns lists in the order of namespaces and names, for any order of the underlying client.
func TestOrderedLists(t *testing.T) {
	c, err := orderLists(func(*rest.Config, client.Options) (client.Client, error) { return reversed{}, nil })(nil, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range pods.Items {
		got += p.Namespace + "/" + p.Name + " "
	}
	if want := "x/a x/b y/a y/b "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
