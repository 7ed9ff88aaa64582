package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-go/karpenter/api/condition"
	"github.com/karpenter-go/karpenter/internal/telemetry"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/network"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
	"github.com/karpenter-go/karpenter/provider/classwrite"
)

// Images finds images.
type Images interface {
	Resolve(ctx context.Context, class *awsv1.EC2NodeClass, kubernetes string) ([]awsv1.AMI, error)
}

// Subnets finds subnets.
type Subnets interface {
	Resolve(ctx context.Context, class *awsv1.EC2NodeClass) ([]network.Subnet, error)
}

// Groups finds security groups.
type Groups interface {
	Resolve(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.SecurityGroup, error)
}

// Reservations finds capacity reservations.
type Reservations interface {
	Resolve(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.CapacityReservation, error)
}

// Placements finds placement groups.
type Placements interface {
	Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (*placement.Group, error)
	// Last returns the group that was found last, nil for none.
	Last(class *awsv1.EC2NodeClass) *placement.Group
}

// Profiles creates and deletes instance profiles.
type Profiles interface {
	Ensure(ctx context.Context, class *awsv1.EC2NodeClass) (string, error)
	RemoveOf(ctx context.Context, class *awsv1.EC2NodeClass) error
}

// Cluster returns facts about the cluster that nodes join.
type Cluster interface {
	// Kubernetes returns the version of Kubernetes, such as 1.36.
	Kubernetes(ctx context.Context) (string, error)
	// CIDR returns the address range of services.
	CIDR(ctx context.Context) (string, error)
}

// Leftovers removes resources that were created for a class, when the class is deleted.
type Leftovers interface {
	RemoveOf(ctx context.Context, class string) error
}

// Recorder publishes events.
type Recorder interface {
	Event(object client.Object, eventType, reason, message string)
}

// Config has the dependencies and settings of the controllers.
type Config struct {
	Client client.Client
	// Reader reads from the API server, without a cache.
	Reader   client.Reader
	Images   Images
	Subnets  Subnets
	Groups   Groups
	Profiles Profiles
	Cluster  Cluster
	// Reservations is used only if ReservedCapacity is set.
	Reservations Reservations
	Placements   Placements
	// Templates are the launch templates.
	Templates Leftovers
	// Check is called if all other checks of the class have passed. It may make dry runs of launches.
	Check    func(ctx context.Context, class *awsv1.EC2NodeClass) (Finding, error)
	Recorder Recorder
	Clock    clock.PassiveClock
	// Isolated is true if IAM cannot be reached, so that instance profiles cannot be deleted.
	Isolated bool
	// ReservedCapacity and Expressions are true if the feature gates ReservedCapacity and NodeClassCEL are on.
	ReservedCapacity, Expressions bool
	// Evaluate evaluates the expressions of a class for each instance type and returns the first error.
	Evaluate func(class *awsv1.EC2NodeClass) error
	// Doubted has events for classes whose launch failed because EC2 does not know their instance profile. Status reconciles
	// these classes immediately. Doubted may be nil.
	Doubted <-chan event.GenericEvent
	// Gone is called when a class has been deleted.
	Gone func(class *awsv1.EC2NodeClass)
}

// A Finding is the reason why a class is not valid. The zero Finding means that it is valid.
type Finding struct {
	Reason, Message string
	// Again is not zero if the check gave no result yet. It is the pause before the next check.
	Again time.Duration
}

// workers is how many classes are reconciled at the same time.
const workers = 10

// deletionRecheck is the interval of checks whether a class that is being deleted is still used.
const deletionRecheck = 10 * time.Minute

// Status is the controller that writes the status of node classes and finishes their deletion.
type Status struct {
	Config

	mu       sync.Mutex // guards troubles
	troubles map[trouble]string
}

// A trouble identifies a problem with the calls of AWS for a class, for logging.
type trouble struct {
	class types.UID
	about string // the condition, "" for the class as a whole
}

// Name is the controller's name.
func (s *Status) Name() string { return "nodeclass" }

// Reconcile resolves the class and writes its status, or finishes its deletion.
func (s *Status) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var class awsv1.EC2NodeClass
	if err := s.Client.Get(ctx, req.NamespacedName, &class); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !class.DeletionTimestamp.IsZero() {
		return s.finish(ctx, &class)
	}
	before := class.DeepCopy()
	if controllerutil.AddFinalizer(&class, awsv1.TerminationFinalizer) {
		if err := s.Client.Patch(ctx, &class, classwrite.Locked(before)); err != nil {
			return classwrite.Failed(err, "add finalizer to node class", class.Name)
		}
		before = class.DeepCopy()
	}
	next, err := s.resolve(ctx, &class)
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // the process is stopping
	case err != nil:
		s.tell(ctx, &class, "", fault.Brief(err))
		next = least(next, errorAgain)
	default:
		s.tell(ctx, &class, "", "")
	}
	if !equality.Semantic.DeepEqual(before.Status, class.Status) {
		if patchErr := s.Client.Status().Patch(ctx, &class, classwrite.Locked(before)); patchErr != nil {
			return classwrite.Failed(patchErr, "patch status of node class", class.Name)
		}
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// errorAgain is the pause before another reconcile after a failed call of AWS.
const errorAgain = 10 * time.Second

// least returns the shorter of two pauses. Zero means no pause and is ignored.
func least(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// tell logs a problem of the class when it begins or changes, and when it ends.
func (s *Status) tell(ctx context.Context, class *awsv1.EC2NodeClass, about, what string) {
	key := trouble{class.UID, about}
	s.mu.Lock()
	old := s.troubles[key]
	if s.troubles == nil {
		s.troubles = map[trouble]string{}
	}
	if what == "" {
		delete(s.troubles, key)
	} else {
		s.troubles[key] = what
	}
	s.mu.Unlock()
	switch {
	case what == old:
	case what == "":
		log.FromContext(ctx).Info("resolved EC2NodeClass after errors", "EC2NodeClass", klog.KRef("", class.Name))
	default:
		log.FromContext(ctx).Error(errors.New(what), "failed to resolve EC2NodeClass, retrying", "EC2NodeClass", klog.KRef("", class.Name), "condition", about)
	}
}

// resolve executes all steps, even if one fails. It returns the time until the first of them is due again, 0 if none
// is.
func (s *Status) resolve(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	condition.Initialize(class, s.Clock.Now())
	var next time.Duration
	var errs []error
	for _, step := range []struct {
		kind string
		run  func(context.Context, *awsv1.EC2NodeClass) (time.Duration, error)
	}{
		{awsv1.ConditionTypeAMIsReady, s.images},
		{awsv1.ConditionTypeCapacityReservationsReady, s.reservations},
		{awsv1.ConditionTypePlacementGroupReady, s.placement},
		{awsv1.ConditionTypeSubnetsReady, s.subnets},
		{awsv1.ConditionTypeSecurityGroupsReady, s.groups},
		{awsv1.ConditionTypeInstanceProfileReady, s.profile},
		{awsv1.ConditionTypeValidationSucceeded, s.validate},
	} {
		after, err := step.run(ctx, class)
		if err != nil {
			s.unsure(class, step.kind, fault.Brief(err))
			errs = append(errs, err)
		}
		next = least(next, after)
	}
	return next, errors.Join(errs...)
}

// Register adds the controller to mgr.
func (s *Status) Register(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).Named(s.Name()).For(&awsv1.EC2NodeClass{})
	if s.Doubted != nil {
		b = b.WatchesRawSource(source.Channel(s.Doubted, &handler.EnqueueRequestForObject{}))
	}
	return b.
		Watches(&apiv1.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(classOf), deletions()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(s)
}

// classOf maps a claim to its class.
func classOf(_ context.Context, o client.Object) []reconcile.Request {
	claim, ok := o.(*apiv1.NodeClaim)
	if !ok || !ours(claim) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}}}
}

func ours(claim *apiv1.NodeClaim) bool {
	return claim.Spec.NodeClassRef != nil && claim.Spec.NodeClassRef.Group == awsv1.Group
}

// finish removes the instance profiles, launch templates and finalizer of the class, in that order, once no claim uses
// the class.
func (s *Status) finish(ctx context.Context, class *awsv1.EC2NodeClass) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(class, awsv1.TerminationFinalizer) {
		return ctrl.Result{}, nil
	}
	users, err := s.users(ctx, s.Client, class.Name)
	if err == nil && len(users) == 0 { // the cache may lack claims that were created recently
		users, err = s.users(ctx, s.Reader, class.Name)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(users) > 0 {
		s.Recorder.Event(class, corev1.EventTypeNormal, telemetry.EventWaitingOnNodeClaimTermination,
			"Waiting for deletion of the NodeClaims that use this EC2NodeClass: "+few(users))
		return ctrl.Result{RequeueAfter: deletionRecheck}, nil
	}
	if !s.Isolated {
		if err := s.Profiles.RemoveOf(ctx, class); err != nil {
			return ctrl.Result{}, fmt.Errorf("delete profiles of node class %s: %w", class.Name, err)
		}
	}
	if err := s.Templates.RemoveOf(ctx, class.Name); err != nil {
		return ctrl.Result{}, fmt.Errorf("delete launch templates of node class %s: %w", class.Name, err)
	}
	before := class.DeepCopy()
	controllerutil.RemoveFinalizer(class, awsv1.TerminationFinalizer)
	if err := s.Client.Patch(ctx, class, classwrite.Locked(before)); err != nil {
		return classwrite.Failed(err, "remove finalizer of node class", class.Name)
	}
	if s.Gone != nil {
		s.Gone(class)
	}
	return ctrl.Result{}, nil
}

// users returns the names of the claims of the class, sorted.
func (s *Status) users(ctx context.Context, reader client.Reader, class string) ([]string, error) {
	var claims apiv1.NodeClaimList
	if err := reader.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	var names []string
	for i := range claims.Items {
		if c := &claims.Items[i]; ours(c) && c.Spec.NodeClassRef.Name == class {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// few joins the names. Of more than five names, it lists five and the number of the others.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// deletions selects delete events of claims, because only these can make the deletion of a class possible.
func deletions() builder.Predicates {
	return builder.WithPredicates(predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
	})
}
