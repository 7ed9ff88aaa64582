package nodeclass

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/classwrite"
)

// A Stamp is the controller that writes the hash of a class to its annotations. If HashVersion has
// changed, it also writes the new version to the class's claims, and the new hash to those of them
// that have not drifted. So a new version of the controller causes no drift.
type Stamp struct {
	// Client writes node classes.
	Client client.Client
	// Claims writes claims.
	Claims Claims
}

// Claims writes claims.
type Claims interface {
	// Merge writes the difference between before and obj, without optimistic locking.
	Merge(ctx context.Context, before, obj client.Object) error
}

// Name is the controller's name.
func (s *Stamp) Name() string { return "nodeclass.hash" }

// Reconcile writes the hash of one class.
func (s *Stamp) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var class awsv1.EC2NodeClass
	if err := s.Client.Get(ctx, req.NamespacedName, &class); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !class.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	hash, old := Hash(&class), class.Annotations
	if old[awsv1.AnnotationEC2NodeClassHashVersion] != HashVersion {
		if err := s.migrate(ctx, class.Name, hash); err != nil {
			return ctrl.Result{}, err
		}
	}
	if old[awsv1.AnnotationEC2NodeClassHash] == hash && old[awsv1.AnnotationEC2NodeClassHashVersion] == HashVersion {
		return ctrl.Result{}, nil
	}
	before := class.DeepCopy()
	metav1.SetMetaDataAnnotation(&class.ObjectMeta, awsv1.AnnotationEC2NodeClassHash, hash)
	metav1.SetMetaDataAnnotation(&class.ObjectMeta, awsv1.AnnotationEC2NodeClassHashVersion, HashVersion)
	if err := s.Client.Patch(ctx, &class, client.MergeFrom(before)); err != nil {
		return classwrite.Failed(err, "stamp node class", class.Name)
	}
	return ctrl.Result{}, nil
}

// migrate writes the hash of this version to the claims of a class. A claim that has drifted keeps its earlier hash, so
// it stays drifted.
func (s *Stamp) migrate(ctx context.Context, class, hash string) error {
	var claims apiv1.NodeClaimList
	if err := s.Client.List(ctx, &claims); err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	var errs []error
	for i := range claims.Items {
		c := &claims.Items[i]
		if !ours(c) || c.Spec.NodeClassRef.Name != class ||
			c.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] == HashVersion {
			continue
		}
		before := c.DeepCopy()
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, awsv1.AnnotationEC2NodeClassHashVersion, HashVersion)
		if !drifted(c) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, awsv1.AnnotationEC2NodeClassHash, hash)
		}
		if err := s.Claims.Merge(ctx, before, c); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("stamp claim %s: %w", c.Name, err))
		}
	}
	return errors.Join(errs...)
}

// drifted reports whether the claim has the condition Drifted, with any status.
func drifted(c *apiv1.NodeClaim) bool {
	for _, condition := range c.Status.Conditions {
		if condition.Type == apiv1.ConditionTypeDrifted {
			return true
		}
	}
	return false
}

// Register adds the controller to mgr.
func (s *Stamp) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(s.Name()).
		For(&awsv1.EC2NodeClass{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(s)
}
