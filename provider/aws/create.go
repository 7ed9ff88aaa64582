package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/api/condition"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/launch"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
)

// InstanceTypes implements cloud.Provider.
func (p *Provider) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	class, err := p.class(ctx, pool.Spec.Template.Spec.NodeClassRef)
	if err != nil {
		return nil, err
	}
	if len(class.Status.Subnets) == 0 || len(class.Status.AMIs) == 0 {
		return nil, &cloud.NodeClassNotReadyError{
			Err: fmt.Errorf("EC2NodeClass %s: subnets or AMIs are not resolved; its conditions SubnetsReady and AMIsReady state the cause", class.Name),
		}
	}
	if _, err := p.group(ctx, class); err != nil {
		return nil, err
	}
	return p.catalog.Types(class)
}

// group returns the placement group of the class, nil if the class selects none. If the call of EC2
// fails, it returns the group that was found last. If no group is found, it returns a
// NodeClassNotReadyError.
func (p *Provider) group(ctx context.Context, class *awsv1.EC2NodeClass) (*placement.Group, error) {
	if class.Spec.PlacementGroupSelector == nil {
		return nil, nil
	}
	found, err := p.placed.Resolve(ctx, class)
	if err != nil {
		found = p.placed.Last(class)
	}
	if found == nil {
		why := cmp.Or(fault.Brief(err), "no such placement group")
		return nil, &cloud.NodeClassNotReadyError{
			Err: fmt.Errorf("EC2NodeClass %s: placement group could not be resolved: %s", class.Name, why),
		}
	}
	return found, nil
}

// class returns the node class to which ref refers. It returns a NodeClassNotReadyError if ref is of another kind, or
// if the class is missing or is being deleted.
func (p *Provider) class(ctx context.Context, ref *apiv1.NodeClassReference) (*awsv1.EC2NodeClass, error) {
	if !fixedFacts().Manages(ref) {
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("%v is not an EC2NodeClass", ref)}
	}
	var class awsv1.EC2NodeClass
	err := p.config.Client.Get(ctx, client.ObjectKey{Name: ref.Name}, &class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("EC2NodeClass %s does not exist", ref.Name)}
	case err != nil:
		return nil, fmt.Errorf("get EC2NodeClass %s: %w", ref.Name, err)
	case !class.DeletionTimestamp.IsZero():
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("EC2NodeClass %s is being deleted", ref.Name)}
	}
	return &class, nil
}

// Create implements cloud.Provider.
func (p *Provider) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	var notReady *cloud.NodeClassNotReadyError
	if errors.As(err, &notReady) {
		// As in upstream Karpenter, this counts as a lack of capacity, so the claim is deleted and its pods are planned
		// again.
		return nil, &cloud.InsufficientCapacityError{Err: err}
	}
	if err != nil {
		return nil, err
	}
	if err := ready(class); err != nil {
		return nil, err
	}
	if err := instances.CheckTags(class); err != nil {
		return nil, &cloud.NodeClassNotReadyError{Err: err}
	}
	group, err := p.group(ctx, class)
	if err != nil {
		return nil, err
	}
	types, err := p.catalog.Types(class)
	if err != nil {
		return nil, &cloud.LaunchError{
			Reason: "InstanceTypeResolutionFailed", Message: "Instance types could not be resolved: " + fault.Brief(err), Err: err,
		}
	}
	pool := claim.Labels[apiv1.NodePoolLabelKey]
	if overlay := p.config.Overlay; overlay != nil && pool != "" {
		if types, err = overlay(ctx, pool, types); err != nil {
			return nil, fmt.Errorf("apply NodeOverlays to the instance types of NodePool %s: %w", pool, err)
		}
	}
	i, source, err := p.launcher.Launch(ctx, launch.Request{
		Claim: claim, Class: class, Types: types, PlacementGroup: group, Source: sourceOf(class),
		Tags: instances.OwnTags(p.config.Settings.ClusterName, pool, class),
	})
	if err != nil {
		p.doubt(class, err)
		return nil, err
	}
	out := hydrate(i, class, types)
	out.Annotations = annotations(source)
	if out.NodeName == "" && waitsForNominations(claim) {
		out.NodeName = p.nodeName(ctx, i.ID)
	}
	return out, nil
}

// doubt enqueues the node class if a launch failed because EC2 does not know its instance profile. In an isolated VPC
// it does nothing, because the profile cannot be checked without IAM.
func (p *Provider) doubt(class *awsv1.EC2NodeClass, err error) {
	var failed *cloud.LaunchError
	if !errors.As(err, &failed) || failed.Reason != fault.ReasonProfileInvalid || p.config.Settings.IsolatedVPC {
		return
	}
	p.profiles.Doubt(class.Status.InstanceProfile)
	select {
	case p.doubted <- event.GenericEvent{Object: class}:
	default: // the queue is full; each class is reconciled at least once a minute anyway
	}
}

// waitsForNominations reports whether pods are nominated to the claim's node before it is registered.
func waitsForNominations(claim *apiv1.NodeClaim) bool {
	_, waits := claim.Annotations[apiv1.PodsNominatedToAnnotationKey]
	return waits
}

// nodeName returns the name that the node of an instance will have: the private DNS name of the instance. The response
// to a fleet call does not contain it, so the instance is described. The name is empty if that fails. Then pods are
// nominated when the node has joined.
func (p *Provider) nodeName(ctx context.Context, id string) string {
	i, err := p.instances.Get(ctx, id)
	if err != nil {
		log.FromContext(ctx).V(1).Info("name of the node is not known before it registers", "instance", id, "error", err.Error())
	}
	return i.PrivateDNSName
}

// ready returns an error with the reason why nothing may be launched from the class, nil if the class is ready.
func ready(class *awsv1.EC2NodeClass) error {
	c := condition.Get(class, awsv1.ConditionTypeReady)
	switch {
	case c == nil || c.Status == metav1.ConditionUnknown:
		message := fmt.Sprintf("EC2NodeClass %s has not been reconciled yet", class.Name)
		if c != nil && c.Message != "" {
			message = fmt.Sprintf("Condition Ready of EC2NodeClass %s is Unknown: %s", class.Name, c.Message)
		}
		return &cloud.LaunchError{
			Reason:  apiv1.ReasonNodeClassReadinessUnknown,
			Message: message,
			Err:     errors.New(message),
		}
	case c.Status == metav1.ConditionFalse:
		return &cloud.NodeClassNotReadyError{Err: fmt.Errorf("EC2NodeClass %s is not ready: %s", class.Name, c.Message)}
	}
	return changed(class)
}

// changed returns a NodeClassNotReadyError if the class has changed since its condition Ready was written, nil otherwise. Its status then
// belongs to its former spec.
func changed(class *awsv1.EC2NodeClass) error {
	if c := condition.Get(class, awsv1.ConditionTypeReady); c == nil || c.ObservedGeneration == class.Generation {
		return nil
	}
	return &cloud.NodeClassNotReadyError{Err: fmt.Errorf("EC2NodeClass %s changed after it became Ready; waiting for reconciliation", class.Name)}
}

// sourceOf returns the hash and the instance profile of the class as it was read for a launch. The hash in its annotation may
// still be that of an earlier spec, because another controller writes it.
func sourceOf(class *awsv1.EC2NodeClass) launch.Source {
	return launch.Source{Hash: nodeclass.Hash(class), HashVersion: nodeclass.HashVersion, Profile: class.Status.InstanceProfile}
}

// annotations returns the annotations of a claim that was launched from a class with the source. Drift is detected by comparing the
// hash with that of the class.
func annotations(source launch.Source) map[string]string {
	return map[string]string{
		awsv1.AnnotationInstanceProfile:         source.Profile,
		awsv1.AnnotationEC2NodeClassHash:        source.Hash,
		awsv1.AnnotationEC2NodeClassHashVersion: source.HashVersion,
	}
}
