package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// Tagging reads and tags instances.
type Tagging interface {
	Get(ctx context.Context, id string) (instances.Instance, error)
	Owns(i instances.Instance) bool
	Tag(ctx context.Context, id string, tags map[string]string) error
}

// A Tagger is the controller that tags instances with the names of their node, claim and cluster, once the node is
// known. It does not change tags that exist.
type Tagger struct {
	Client    client.Reader
	Writer    Writer
	Instances Tagging
	Cluster   string
	Clock     clock.PassiveClock
}

const (
	// tagsLate is the time after its launch during which EC2 may not know an instance or its tags yet, and lookAgain the interval
	// until the instance is read again then.
	tagsLate  = 2 * time.Minute
	lookAgain = 10 * time.Second
)

// taggers is how many instances are tagged at the same time.
const taggers = 10

// Name is the controller's name.
func (t *Tagger) Name() string { return "nodeclaim.tagging" }

// Reconcile tags the instance of one claim.
func (t *Tagger) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim apiv1.NodeClaim
	if err := t.Client.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	_, id, ok := instances.ParseProviderID(claim.Status.ProviderID)
	if !ok || !due(&claim) {
		return ctrl.Result{}, nil
	}
	err := t.tag(ctx, id, map[string]string{
		awsv1.TagName: claim.Status.NodeName, awsv1.TagNodeClaim: claim.Name, awsv1.TagEKSClusterName: t.Cluster,
	})
	if errors.Is(err, cloud.ErrNotFound) {
		if c := condition.Get(&claim, apiv1.ConditionTypeLaunched); c != nil && t.Clock.Since(c.LastTransitionTime.Time) < tagsLate {
			return ctrl.Result{RequeueAfter: lookAgain}, nil
		}
		return ctrl.Result{}, nil // the instance does not exist, or is of another cluster; the annotations are not set
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	before := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, awsv1.AnnotationInstanceTagged, "true")
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, awsv1.AnnotationClusterNameTagged, "true")
	if err := t.Writer.Merge(ctx, before, &claim); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("annotate claim %s: %w", claim.Name, err)
	}
	return ctrl.Result{}, nil
}

// tag adds the tags that the instance lacks. An instance of another cluster gets none, because the status of the claim
// may be forged.
func (t *Tagger) tag(ctx context.Context, id string, tags map[string]string) error {
	i, err := t.Instances.Get(ctx, id)
	if err != nil {
		return err
	}
	if !t.Instances.Owns(i) {
		return fmt.Errorf("tag instance %s: it is not of cluster %s: %w", id, t.Cluster, cloud.ErrNotFound)
	}
	missing := map[string]string{}
	for k, v := range tags {
		if _, there := i.Tags[k]; !there {
			missing[k] = v
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return t.Instances.Tag(ctx, id, missing)
}

// due reports whether the claim's instance has to be tagged.
func due(claim *apiv1.NodeClaim) bool {
	return claim.Status.NodeName != "" && claim.DeletionTimestamp.IsZero() && claim.Spec.NodeClassRef != nil &&
		claim.Spec.NodeClassRef.Group == awsv1.Group &&
		(claim.Annotations[awsv1.AnnotationInstanceTagged] != "true" ||
			claim.Annotations[awsv1.AnnotationClusterNameTagged] != "true")
}

// Register adds the controller to mgr.
func (t *Tagger) Register(mgr ctrl.Manager) error {
	wanted := predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*apiv1.NodeClaim)
		return ok && due(claim)
	})
	return ctrl.NewControllerManagedBy(mgr).Named(t.Name()).
		For(&apiv1.NodeClaim{}, builder.WithPredicates(wanted)).
		WithOptions(controller.Options{MaxConcurrentReconciles: taggers}).
		Complete(t)
}
