package kubeapi

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The functions of this file write typed objects without HTTP and JSON. They do the same as requests of clients. The server
// keeps the objects that it is given, so the caller must not change them afterwards.

// Create adds a new object and returns it as it was stored. The result may not be changed.
func Create[T client.Object](s *Server, o T) (T, error) {
	var zero T
	t, err := s.tableOf(o)
	if err != nil {
		return zero, err
	}
	e, err := s.insert(t, &Request{Context: context.Background()}, o)
	if err != nil {
		return zero, err
	}
	return e.object.(T), nil
}

// Update replaces an object, and leaves its status alone if that is a subresource. It returns the object as it was stored,
// which may not be changed.
func Update[T client.Object](s *Server, o T) (T, error) { return update(s, o, "") }

// UpdateStatus replaces the status of an object. It returns the object as it was stored, which may not be changed.
func UpdateStatus[T client.Object](s *Server, o T) (T, error) { return update(s, o, "status") }

func update[T client.Object](s *Server, o T, subresource string) (T, error) {
	var zero T
	t, err := s.tableOf(o)
	if err != nil {
		return zero, err
	}
	k := key{o.GetNamespace(), o.GetName()}
	old, err := t.get(k)
	if err != nil {
		return zero, err
	}
	e, err := s.update(target{table: t, key: k, subresource: subresource}, &Request{Context: context.Background()}, old, o)
	if err != nil {
		return zero, err
	}
	return e.object.(T), nil
}

// Delete deletes the object with the kind, namespace and name of o, with the default grace period or with the first of options.
func Delete(s *Server, o client.Object, options ...metav1.DeleteOptions) error {
	t, err := s.tableOf(o)
	if err != nil {
		return err
	}
	k := key{o.GetNamespace(), o.GetName()}
	old, err := t.get(k)
	if err != nil {
		return err
	}
	_, err = s.delete(t, k, old, append(options, metav1.DeleteOptions{})[0])
	return err
}

// Each calls f for all objects, in the order of Config.Kinds, namespaces and names. F may not write to the server.
func (s *Server) Each(f func(client.Object)) {
	for _, k := range s.cfg.Kinds {
		for _, e := range s.kinds[k.GroupVersionKind].sorted() {
			f(e.object)
		}
	}
}
