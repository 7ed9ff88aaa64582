package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// classes caches the node classes as JSON, in the state in which the controller Status last read them. A class that is not
// in the cache is read from the API server.
type classes struct {
	mu    sync.Mutex // guards known
	known map[classKey]string
}

// A classKey names a node class.
type classKey struct {
	schema.GroupKind
	name string
}

// class returns the node class as JSON. It is empty for providers that read node classes themselves. class returns a
// NodeClassNotReadyError if the node class does not exist or is being deleted.
func (p *Provider) class(ctx context.Context, ref *apiv1.NodeClassReference) (string, error) {
	if p.info.Has(cloudv1.Capability_CAPABILITY_CLUSTER_ACCESS) {
		return "", nil
	}
	key := classKey{schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Name}
	p.classes.mu.Lock()
	text, known := p.classes.known[key]
	p.classes.mu.Unlock()
	if known {
		return text, nil
	}
	class, err := p.readClass(ctx, p.kindOf(key.GroupKind), ref.Name)
	if apierrors.IsNotFound(err) {
		return "", &cloud.NodeClassNotReadyError{Err: fmt.Errorf("there is no %s %s", ref.Kind, ref.Name)}
	}
	if err != nil {
		return "", fmt.Errorf("get %s %s: %w", ref.Kind, ref.Name, err)
	}
	if class.GetDeletionTimestamp() != nil {
		return "", &cloud.NodeClassNotReadyError{Err: fmt.Errorf("%s %s is being deleted", ref.Kind, ref.Name)}
	}
	return classText(class)
}

func (p *Provider) readClass(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(kind)
	return class, p.config.Reader.Get(ctx, client.ObjectKey{Name: name}, class)
}

func (p *Provider) kindOf(gk schema.GroupKind) schema.GroupVersionKind {
	for _, k := range p.info.Facts.NodeClasses {
		if k.GroupKind() == gk {
			return k
		}
	}
	return gk.WithVersion("")
}

// classText returns a class as JSON, without the parts that change although the configuration does not.
func classText(class *unstructured.Unstructured) (string, error) {
	short := class.DeepCopy()
	short.SetManagedFields(nil)
	short.SetResourceVersion("")
	unstructured.RemoveNestedField(short.Object, "status")
	data, err := json.Marshal(short)
	if err != nil {
		return "", fmt.Errorf("encode %s %s: %w", class.GetKind(), class.GetName(), err)
	}
	return string(data), nil
}

// statusEvery is the interval at which a node class is validated again.
const statusEvery = 30 * time.Second

// A Status is a controller that validates the node classes of one kind by calls of the provider,
// and writes their conditions Valid and Ready. Providers with access to the cluster have their own
// controllers for that.
type Status struct {
	provider *Provider
	kind     schema.GroupVersionKind
}

// Statuses returns a Status for each kind of node class. For a provider with access to the cluster it returns none.
func (p *Provider) Statuses() []*Status {
	if p.info.Has(cloudv1.Capability_CAPABILITY_CLUSTER_ACCESS) {
		return nil
	}
	var out []*Status
	for _, k := range p.info.Facts.NodeClasses {
		out = append(out, &Status{provider: p, kind: k})
	}
	return out
}

// Name is the controller's name in logs and metrics.
func (s *Status) Name() string { return "nodeclass." + s.provider.Name() + "." + s.kind.Kind }

// Register adds the controller to mgr.
func (s *Status) Register(mgr ctrl.Manager) error {
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(s.kind)
	if err := ctrl.NewControllerManagedBy(mgr).Named(s.Name()).For(class).Complete(s); err != nil {
		return fmt.Errorf("set up controller %s: %w", s.Name(), err)
	}
	return nil
}

// Reconcile validates one node class and writes its status.
func (s *Status) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := s.provider
	key := classKey{s.kind.GroupKind(), req.Name}
	class, err := p.readClass(ctx, s.kind, req.Name)
	if apierrors.IsNotFound(err) || err == nil && class.GetDeletionTimestamp() != nil {
		p.classes.mu.Lock()
		delete(p.classes.known, key)
		p.classes.mu.Unlock()
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get %s %s: %w", s.kind.Kind, req.Name, err)
	}
	text, err := classText(class)
	if err != nil {
		return ctrl.Result{}, err
	}
	p.classes.mu.Lock()
	p.classes.known[key] = text
	p.classes.mu.Unlock()
	before := class.DeepCopy()
	now, object := p.config.Clock.Now(), condition.OfUnstructured(class, conditionValid)
	condition.Initialize(object, now)
	switch err := p.validate(ctx, text); {
	case err == nil:
		condition.SetTrue(object, conditionValid, now)
	case errors.As(err, new(*UnreachableError)):
		if p.gone() == nil {
			return ctrl.Result{RequeueAfter: statusEvery / 6}, nil // the condition becomes False only when the provider has not answered for longer than grace
		}
		condition.SetFalse(object, conditionValid, reasonUnreachable, err.Error(), now)
	case errors.As(err, new(*cloud.NodeClassNotReadyError)):
		condition.SetFalse(object, conditionValid, "Invalid", wire.Text(errors.Unwrap(err).Error()), now)
	default:
		condition.SetUnknown(object, conditionValid, "ValidationFailed", wire.Text(err.Error()), now)
	}
	return ctrl.Result{RequeueAfter: statusEvery}, client.IgnoreNotFound(p.patchStatus(ctx, before, class))
}

// conditionValid is the condition of a node class with the result of its validation by the provider.
const conditionValid = "Valid"

func (p *Provider) validate(ctx context.Context, class string) error {
	answer, err := call(ctx, p, "ValidateNodeClass", shortCall, p.api.ValidateNodeClass, &cloudv1.ValidateNodeClassRequest{NodeClassJson: class})
	if err != nil {
		return err
	}
	return wire.ReadFailure(answer.GetFailure())
}

func (p *Provider) patchStatus(ctx context.Context, before, class *unstructured.Unstructured) error {
	patch := client.MergeFrom(before)
	data, err := patch.Data(class)
	if err != nil || string(data) == "{}" {
		return err
	}
	return p.config.Client.Status().Patch(ctx, class, patch)
}
