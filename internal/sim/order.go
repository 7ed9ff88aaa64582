package sim

import (
	"context"
	"reflect"
	"sort"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ordered is a client whose lists are in the order of namespaces and names. The lists of a cache are in random order. A
// controller that handles one object after another would then make its calls in another order in each run.
type ordered struct{ client.Client }

// orderLists makes clients of a constructor return ordered lists.
func orderLists(construct client.NewClientFunc) client.NewClientFunc {
	if construct == nil {
		construct = client.New
	}
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		c, err := construct(config, options)
		return ordered{c}, err
	}
}

// List implements client.Client.
func (o ordered) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := o.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	if items.Kind() != reflect.Slice || items.Len() < 2 {
		return nil
	}
	at := func(i int) client.Object { return items.Index(i).Addr().Interface().(client.Object) }
	if _, ok := items.Index(0).Addr().Interface().(client.Object); !ok {
		return nil
	}
	sort.Slice(items.Interface(), func(i, j int) bool {
		return compareNames(at(i), at(j)) < 0
	})
	return nil
}
