package diagnose

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// ConditionNodeJoinDelayed is True on a claim whose node has not joined in time. Its reason and message are those of
// a Finding.
const ConditionNodeJoinDelayed = "NodeJoinDelayed"

const (
	// patience is the time after which a node that has not joined is diagnosed. Nodes usually join sooner.
	patience = 2 * time.Minute
	// again is the interval at which a console is read.
	again = 2 * time.Minute
	// workers is how many consoles are read at the same time.
	workers = 2
)

// Console is the part of EC2 that returns the console output of an instance.
type Console interface {
	GetConsoleOutput(context.Context, *ec2.GetConsoleOutputInput, ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error)
}

var _ Console = (*ec2.Client)(nil)

// Instances describes instances.
type Instances interface {
	Get(ctx context.Context, id string) (instances.Instance, error)
}

// Claims writes claims.
type Claims interface {
	// PatchStatus writes the difference between the status of before and obj, with optimistic locking.
	PatchStatus(ctx context.Context, before, obj client.Object) error
}

// Recorder publishes events.
type Recorder interface {
	Event(object client.Object, eventType, reason, message string)
}

// A Doctor diagnoses claims whose nodes have not joined in time.
type Doctor struct {
	Client    client.Reader
	Claims    Claims
	Console   Console
	Instances Instances
	Recorder  Recorder
	Clock     clock.PassiveClock
	// Access checks whether the role of nodes may access the cluster. If it is nil, this is not checked.
	Access *Access

	mu   sync.Mutex      // guards told
	told map[string]bool // the texts that tell has logged
}

// Name is the controller's name.
func (*Doctor) Name() string { return "nodeclaim.diagnosis" }

// Reconcile diagnoses one claim. If the node of the claim has joined, it removes the condition NodeJoinDelayed.
func (d *Doctor) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim apiv1.NodeClaim
	if err := d.Client.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !claim.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if condition.IsTrue(&claim, apiv1.ConditionTypeRegistered) {
		return ctrl.Result{}, d.write(ctx, &claim, func(c *apiv1.NodeClaim) bool { return condition.Clear(c, ConditionNodeJoinDelayed) })
	}
	launched := condition.Get(&claim, apiv1.ConditionTypeLaunched)
	_, id, ok := instances.ParseProviderID(claim.Status.ProviderID)
	if !ok || !condition.IsTrue(&claim, apiv1.ConditionTypeLaunched) {
		return ctrl.Result{}, nil
	}
	if wait := launched.LastTransitionTime.Add(patience).Sub(d.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	found, err := d.look(ctx, id)
	if err == nil {
		found = d.admitted(ctx, &claim, found)
	}
	if errors.Is(err, cloud.ErrNotFound) || err == nil && found == (Finding{}) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	err = d.write(ctx, &claim, func(c *apiv1.NodeClaim) bool {
		return condition.Set(c, metav1.Condition{
			Type: ConditionNodeJoinDelayed, Status: metav1.ConditionTrue, Reason: found.Reason, Message: found.Message,
		}, d.Clock.Now())
	})
	if err == nil {
		d.Recorder.Event(&claim, corev1.EventTypeWarning, telemetry.EventNodeJoinDelayed, found.Message)
	}
	return ctrl.Result{RequeueAfter: again}, err
}

// look reads the console of an instance. It returns no finding if the permission is missing, or if the endpoint is not that
// of EC2 or lacks the operation.
func (d *Doctor) look(ctx context.Context, id string) (Finding, error) {
	i, err := d.Instances.Get(ctx, id)
	if err != nil {
		return Finding{}, err
	}
	out, err := d.Console.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String(id), Latest: aws.Bool(true)})
	if fault.Code(err) == "UnsupportedOperation" { // only Nitro instances return the latest output
		out, err = d.Console.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String(id)})
	}
	switch {
	case fault.Denied(err) || fault.Foreign(err) || fault.Unknown(err):
		d.tell(ctx, "not authorized to read instance consoles, nodes that do not join are not diagnosed from them", err)
		return Finding{}, nil
	case err != nil:
		return Finding{}, fmt.Errorf("read console of instance %s: %w", id, err)
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.Output))
	if err != nil {
		return Finding{}, fmt.Errorf("read console of instance %s: %w", id, err)
	}
	return Read(string(text), i), nil
}

// admitted checks whether the role of the node may access the cluster. If it may not, admitted
// returns that as the finding. If it may, or the check fails, admitted returns found. It does not
// check the role if found is a problem that comes before authorization, such as an API server that
// cannot be reached.
func (d *Doctor) admitted(ctx context.Context, claim *apiv1.NodeClaim, found Finding) Finding {
	profile := claim.Annotations[awsv1.AnnotationInstanceProfile]
	switch found.Reason {
	case ReasonUntrustedCA, ReasonUnreachable, ReasonNotResolved:
		return found
	}
	if d.Access == nil || profile == "" {
		return found
	}
	missing, err := d.Access.Missing(ctx, profile)
	if err != nil {
		d.tell(ctx, "failed to read whether the cluster admits nodes", err)
	}
	if missing == "" {
		return found
	}
	return Finding{Reason: ReasonNotAuthorized, Message: missing}
}

// tell logs what as a message with the error, unless it has logged the same message before.
func (d *Doctor) tell(ctx context.Context, what string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told == nil {
		d.told = map[string]bool{}
	}
	if !d.told[what] {
		log.FromContext(ctx).Info(what, "error", fault.Brief(err))
	}
	d.told[what] = true
}

// write calls change and writes the status of the claim if change returns true.
func (d *Doctor) write(ctx context.Context, claim *apiv1.NodeClaim, change func(*apiv1.NodeClaim) bool) error {
	before := claim.DeepCopy()
	if !change(claim) {
		return nil
	}
	if err := d.Claims.PatchStatus(ctx, before, claim); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write diagnosis of claim %s: %w", claim.Name, err)
	}
	return nil
}

// Register adds the controller to mgr.
func (d *Doctor) Register(mgr ctrl.Manager) error {
	late := predicate.NewPredicateFuncs(func(o client.Object) bool {
		c, ok := o.(*apiv1.NodeClaim)
		return ok && c.Spec.NodeClassRef != nil && c.Spec.NodeClassRef.Group == awsv1.Group &&
			condition.IsTrue(c, apiv1.ConditionTypeLaunched) &&
			(!condition.IsTrue(c, apiv1.ConditionTypeRegistered) || condition.Get(c, ConditionNodeJoinDelayed) != nil)
	})
	return ctrl.NewControllerManagedBy(mgr).Named(d.Name()).
		For(&apiv1.NodeClaim{}, builder.WithPredicates(late)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(d)
}
