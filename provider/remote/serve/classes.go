package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
)

// Classes are the node classes that Karpenter has sent, for a provider without access to the cluster. The zero value is ready
// to use. It implements client.Reader, so the provider reads its node classes as it would from a cluster. Karpenter sends the
// node class with each call that needs it.
type Classes struct {
	// Validate returns why no instance can be launched from a node class, nil if one can. It may be nil.
	Validate func(ctx context.Context, class *unstructured.Unstructured) error
	// Examples are node classes from which an instance can be launched. The check of providers uses them.
	Examples []*unstructured.Unstructured

	mu    sync.Mutex // guards known
	known map[classKey]*unstructured.Unstructured
}

var _ client.Reader = (*Classes)(nil)

type classKey struct {
	kind schema.GroupKind
	name string
}

// learn stores the node class of a request, and returns it. It does nothing without one.
func (c *Classes) learn(text string) (*unstructured.Unstructured, error) {
	if c == nil || text == "" {
		return nil, nil
	}
	class := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &class.Object); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "decode node_class_json: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[classKey]*unstructured.Unstructured{}
	}
	c.known[classKey{class.GroupVersionKind().GroupKind(), class.GetName()}] = class
	return class, nil
}

// example returns the example of a kind as JSON, empty if there is none.
func (c *Classes) example(kind schema.GroupVersionKind) (string, error) {
	if c == nil {
		return "", nil
	}
	for _, class := range c.Examples {
		if class.GroupVersionKind() != kind {
			continue
		}
		data, err := json.Marshal(class)
		if err != nil {
			return "", status.Errorf(codes.Internal, "encode example of %s: %v", kind.Kind, err)
		}
		return string(data), nil
	}
	return "", nil
}

// Get implements client.Reader. The kind of a typed object must be set.
func (c *Classes) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	kind := o.GetObjectKind().GroupVersionKind()
	c.mu.Lock()
	class := c.known[classKey{kind.GroupKind(), key.Name}]
	c.mu.Unlock()
	if class == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		class.DeepCopyInto(u)
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(class.Object, o); err != nil {
		return fmt.Errorf("decode %s %s: %w", kind.Kind, key.Name, err)
	}
	return nil
}

// List implements client.Reader. It always fails: Karpenter sends only the node classes that are used.
func (c *Classes) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("node classes cannot be listed without access to the cluster")
}

// ValidateNodeClass implements the service. Karpenter calls it only for providers without access to the cluster.
func (s *Server) ValidateNodeClass(ctx context.Context, request *cloudv1.ValidateNodeClassRequest) (*cloudv1.ValidateNodeClassResponse, error) {
	class, err := s.config.Classes.learn(request.GetNodeClassJson())
	if err != nil {
		return nil, err
	}
	if class == nil || s.config.Classes.Validate == nil {
		return &cloudv1.ValidateNodeClassResponse{}, nil
	}
	if err := s.config.Classes.Validate(ctx, class); err != nil {
		return &cloudv1.ValidateNodeClassResponse{Failure: &cloudv1.Failure{
			Kind: cloudv1.FailureKind_FAILURE_KIND_NODE_CLASS_NOT_READY, Message: err.Error(),
		}}, nil
	}
	return &cloudv1.ValidateNodeClassResponse{}, nil
}
