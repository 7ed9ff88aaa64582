package lifecycle

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/dismiss"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// maxSteps is the maximum number of judgements in one pass. At most four are expected: for launch, registration, initialization,
// and one without actions. More than maxSteps is a bug.
const maxSteps = 8

// A pass is one Reconcile of one claim. It judges the claim and executes the actions, until there are no more actions or they
// must wait for an event. Then it writes the status.
type pass struct {
	*Controller
	claim *apiv1.NodeClaim
	view  lifecycle.View
	// stored is the claim that the API server last returned. The status patch is relative to it.
	stored *apiv1.NodeClaim
	// reports has the log lines and metrics to write after the status is written, so that a repeated pass does not report them
	// twice. before is the claim before that write.
	reports []report
	before  *apiv1.NodeClaim
	// launchFailed is true if a launch failed in this pass.
	launchFailed bool
	// registered is true if the claim's node was registered in this pass.
	registered bool
	// deleteFor is the reason to delete the claim after the status is written, empty if it is not to be deleted.
	deleteFor lifecycle.DeleteReason
	// released is true if the finalizer was removed. Then there is no status to write.
	released bool
	// retryAfter is the time until a launch that failed may be repeated, zero if the pass does not wait for that.
	retryAfter time.Duration
	// failure is an error that did not stop the pass. It is returned at the end, so that the pass is repeated with increasing
	// delay.
	failure error
}

func newPass(c *Controller, claim *apiv1.NodeClaim) *pass {
	return &pass{Controller: c, claim: claim, stored: claim.DeepCopy()}
}

// run executes judgements and their actions until none remains that is possible now, and then finishes the pass.
func (p *pass) run(ctx context.Context) (ctrl.Result, error) {
	known := p.launches.recall(p.claim.Name, p.claim.UID)
	switch {
	case !p.claim.DeletionTimestamp.IsZero():
		if p.claim.Status.ProviderID == "" && known.instance != nil { // the cache may not have the status of the launch
			p.claim.Status.ProviderID = known.instance.ProviderID
		}
	case known.deleted: // the cache does not have the deletion yet; it will trigger another pass
		return ctrl.Result{}, nil
	case condition.IsTrue(p.claim, apiv1.ConditionTypeLaunched):
		p.launches.forget(p.claim.Name)
	}
	if p.claim.DeletionTimestamp.IsZero() {
		// The conditions of a claim that is being deleted are not initialized. The deletion changes the generation, so Initialize
		// would update the condition Ready, while package termination writes the status at the same time.
		condition.Initialize(p.claim, p.Clock.Now())
	}
	if err := p.refreshView(ctx); err != nil {
		return ctrl.Result{}, err
	}
	var requeue ctrl.Result
	for step := 0; ; step++ {
		if step == maxSteps {
			panic(fmt.Sprintf("claim %s does not settle: %+v", p.claim.Name, lifecycle.Next(p.view)))
		}
		j := lifecycle.Next(p.view)
		requeue.RequeueAfter = j.Requeue
		again, err := p.carryOut(ctx, j)
		if err != nil {
			return ctrl.Result{}, err
		}
		if !again {
			break
		}
	}
	if p.released {
		return ctrl.Result{}, nil
	}
	if p.retryAfter > 0 && (requeue.RequeueAfter == 0 || p.retryAfter < requeue.RequeueAfter) {
		requeue.RequeueAfter = p.retryAfter
	}
	return requeue, p.finish(ctx)
}

// refreshView reads the inputs of the next judgement. It keeps InstanceGone, which this pass has found out.
func (p *pass) refreshView(ctx context.Context) (err error) {
	instanceGone := p.view.InstanceGone
	var hookErr error
	p.view, hookErr, err = p.readView(ctx, p.claim)
	p.view.InstanceGone = instanceGone
	if hookErr != nil {
		p.failure = hookErr
	}
	return err
}

// carryOut executes the actions of the judgement. again is true if another judgement may have further actions now.
func (p *pass) carryOut(ctx context.Context, j lifecycle.Judgement) (again bool, err error) {
	for _, a := range j.Actions {
		more, stop, err := p.execute(ctx, a)
		if err != nil || stop {
			return more, err
		}
		again = again || more
	}
	for _, c := range j.Conditions {
		condition.Set(p.claim, c, p.view.Now)
	}
	if j.NodeName != "" {
		p.claim.Status.NodeName = j.NodeName
	}
	return again, nil
}

// execute executes one action. If stop is true, the remaining actions and the conditions of the judgement are skipped.
func (p *pass) execute(ctx context.Context, a lifecycle.Action) (again, stop bool, err error) {
	switch a := a.(type) {
	case lifecycle.Warn:
		p.warn(ctx, a)
	case lifecycle.Launch:
		again, err = p.launch(ctx, a)
		return again, true, err
	case lifecycle.Register:
		return a.Complete, false, p.register(ctx, a)
	case lifecycle.Initialize:
		return true, false, p.initialize(ctx, a)
	case lifecycle.Delete:
		p.deleteFor = a.Reason
	case lifecycle.SetDeadline:
		return false, false, p.setDeadline(ctx, a)
	case lifecycle.DeleteNodes:
		return false, false, p.deleteNodes(ctx, a)
	case lifecycle.EndInstance:
		gone, err := p.endInstance(ctx)
		return gone, gone, err
	case lifecycle.Release:
		return false, true, p.release(ctx)
	default:
		panic(fmt.Sprintf("unknown action %T", a))
	}
	return false, false, nil
}

func (p *pass) warn(ctx context.Context, w lifecycle.Warn) {
	p.Events.Publish(telemetry.Event{
		Object: p.claim, Type: corev1.EventTypeWarning, Reason: w.Reason, Message: w.Message,
	})
	if w.Reason == lifecycle.WarnUnregisteredTaintMissing {
		ctrl.LoggerFrom(ctx).Error(nil, w.Message)
	}
}

// recordRegistered records in Health that a node of the claim's NodePool joined in this pass. Claims without a NodePool are
// ignored.
func (p *pass) recordRegistered() {
	if uid := poolUID(p.claim); p.registered && uid != "" && p.Health != nil {
		p.Health.RecordSuccess(uid)
	}
}

// recordNotRegistered records in Health that a node of the claim's NodePool did not join, if deleteFor is the launch or
// registration timeout.
func (p *pass) recordNotRegistered() {
	uid := poolUID(p.claim)
	if uid == "" || p.Health == nil {
		return
	}
	switch p.deleteFor {
	case lifecycle.DeleteRegistrationTimeout:
		p.Health.RecordFailure(uid, apiv1.ReasonRegistrationFailed, p.timeoutMessage())
	case lifecycle.DeleteLaunchTimeout:
		c := condition.Get(p.claim, apiv1.ConditionTypeLaunched)
		if c == nil || c.Reason == condition.ReasonAwaitingReconciliation {
			p.Health.RecordFailure(uid, apiv1.ReasonRegistrationFailed, p.timeoutMessage())
			return
		}
		p.Health.RecordFailure(uid, c.Reason, c.Message)
	}
}

// timeoutMessage returns a message for the condition of the NodePool about a claim whose node did not register.
func (p *pass) timeoutMessage() string {
	return fmt.Sprintf("Node of NodeClaim %s did not register within %s: kubectl describe nodeclaim %[1]s shows the cause while it exists",
		p.claim.Name, duration.HumanDuration(lifecycle.RegistrationTimeout(p.view.LaunchTimeout)))
}

func poolUID(claim *apiv1.NodeClaim) types.UID {
	for _, o := range claim.OwnerReferences {
		if o.Kind == "NodePool" {
			return o.UID
		}
	}
	return ""
}

// A report is a function that is called once the status with the condition is written, if the condition was not true before.
type report struct {
	condition string
	write     func()
}

// finish writes the status, deletes the claim if deleteFor is set, and calls the reports. It records a joined node in Health
// before it writes the status, and a failed one before the deletion. These writes trigger controllers that read Health.
func (p *pass) finish(ctx context.Context) error {
	p.recordRegistered()
	if err := p.writeStatus(ctx); err != nil {
		return err
	}
	if p.deleteFor != "" {
		p.recordNotRegistered()
		if _, err := dismiss.Claim(ctx, p.Client, p.Metrics.NodeClaims, p.claim, string(p.deleteFor)); err != nil {
			return err
		}
		p.launches.recordDeletion(p.claim.Name, p.claim.UID)
	}
	for _, r := range p.reports {
		if !condition.IsTrue(p.before, r.condition) {
			r.write()
		}
	}
	return p.failure
}

// patchClaim changes the claim's metadata in the API server. It keeps the status that this pass has computed so far.
func (p *pass) patchClaim(ctx context.Context, change func(*apiv1.NodeClaim)) error {
	before, status := p.claim.DeepCopy(), p.claim.Status
	change(p.claim)
	if err := act.Patch(ctx, p.Client, before, p.claim); err != nil {
		return err
	}
	p.stored, p.claim.Status = p.claim.DeepCopy(), status
	return nil
}
