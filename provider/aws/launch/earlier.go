package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/timeout"
	"github.com/karpenter-go/karpenter/provider/aws/batch"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// listingDelay is how long EC2 may take to list the instances that a call has launched. Garbage collection ignores
// instances that are newer than that.
const listingDelay = 30 * time.Second

// cancelPatience bounds how long CancelAndFind waits for a fleet call.
const cancelPatience = 10 * time.Second

// A callOutcome is the outcome of a fleet call for one of its claims.
type callOutcome struct {
	instance *instances.Instance // the instance of the claim, nil if there is none
	listed   int                 // number of instances of the call that EC2 lists
	claims   int                 // number of claims with the token of the call
}

// noTrace reports whether EC2 lists no instance of the recorded call although all of its claims still exist. Then the call may have
// failed before it reached EC2.
func (o callOutcome) noTrace(r Record) bool { return o.listed == 0 && o.claims == r.Count }

// An earlierLaunch is the result of the fleet call that is recorded on a claim. At most one field is set. If none is, a new
// call may be made for the claim.
type earlierLaunch struct {
	instance *instances.Instance // the instance that the call launched for the claim
	repeat   *Record             // the record of the call, which must be repeated unchanged
}

// findEarlier returns the result of the fleet call that is recorded on the claim. It returns an error while the outcome of the call
// is not known.
func (l *Launcher) findEarlier(ctx context.Context, claim *apiv1.NodeClaim) (earlierLaunch, error) {
	r, ok := l.cache.record(claim)
	if !ok || l.cache.isOutcomeKnown(r.Token) {
		return earlierLaunch{}, nil
	}
	outcome, err := l.outcomes.Do(ctx, r.Token, claim.UID)
	switch {
	case err != nil:
		return earlierLaunch{}, err
	case outcome.instance != nil:
		return earlierLaunch{instance: outcome.instance}, nil
	case outcome.noTrace(r):
		return earlierLaunch{repeat: &r}, nil
	case l.mayBeUnlisted(r):
		return earlierLaunch{}, outcomeUnknown() // EC2 may list the claim's instance later
	}
	return earlierLaunch{}, nil
}

// mayBeUnlisted reports whether instances of the recorded call may exist that EC2 does not list yet.
func (l *Launcher) mayBeUnlisted(r Record) bool {
	return l.Clock.Since(l.cache.observeEnd(r)) < listingDelay
}

// outcomeUnknown returns the error for a claim while it is not known whether an earlier call launched its instance. No
// other call is made meanwhile, because it could launch a second instance.
func outcomeUnknown() error {
	message := fmt.Sprintf("result of the previous CreateFleet call is unknown; waiting up to %v for its instance", listingDelay)
	return &cloud.LaunchError{Reason: "LaunchOutcomeUnknown", Message: message, Err: errors.New(message)}
}

// findOutcomes is the batched call of findEarlier. All claims have the same token. The instances that it finds are cached.
func (l *Launcher) findOutcomes(ctx context.Context, uids []types.UID) []batch.Result[callOutcome] {
	out := make([]batch.Result[callOutcome], len(uids))
	found, claims, err := l.findCall(ctx, uids[0])
	if err != nil {
		for n := range out {
			out[n].Err = err
		}
		return out
	}
	assigned := assign(claims, ids(found))
	for n, uid := range uids {
		outcome := callOutcome{listed: len(found), claims: len(claims)}
		if at, ok := slices.BinarySearchFunc(found, assigned[uid], byID); ok {
			outcome.instance = &found[at]
			l.cache.setInstance(uid, found[at])
		}
		out[n].Value = outcome
	}
	return out
}

// findCall returns what the last call for the claim left: its instances in order of ID as EC2 lists them, and the
// claims with its token. Without a recorded call, both are nil. It returns an error if the claim
// does not exist any more.
func (l *Launcher) findCall(ctx context.Context, uid types.UID) ([]instances.Instance, []callClaim, error) {
	var claims apiv1.NodeClaimList
	if err := l.Claims.List(ctx, &claims); err != nil {
		return nil, nil, fmt.Errorf("list claims: %w", err)
	}
	at := slices.IndexFunc(claims.Items, func(c apiv1.NodeClaim) bool { return c.UID == uid })
	if at < 0 {
		return nil, nil, fmt.Errorf("find claim of UID %s: gone", uid)
	}
	r, ok := l.cache.record(&claims.Items[at])
	if !ok {
		return nil, nil, nil
	}
	found, err := l.Instances.Launched(ctx, r.Token)
	if err != nil {
		return nil, nil, err
	}
	return found, l.cache.addInstances(claimsOf(r.Token, claims.Items)), nil
}

// listCallClaims reads the claims with the token of a call from the API server.
func (l *Launcher) listCallClaims(ctx context.Context, token string) ([]callClaim, error) {
	var claims apiv1.NodeClaimList
	if err := l.Claims.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return l.cache.addInstances(claimsOf(token, claims.Items)), nil
}

func byID(i instances.Instance, id string) int { return cmp.Compare(i.ID, id) }

func ids(list []instances.Instance) []string {
	out := make([]string, len(list))
	for n, i := range list {
		out[n] = i.ID
	}
	return out
}

// CancelAndFind cancels a pending launch of a claim that is being deleted and has no provider ID. It returns the claim's instance,
// and false if there is none. If the fleet call may have been made already, it waits for the result. It returns an error as long as
// the claim may still get an instance.
func (l *Launcher) CancelAndFind(ctx context.Context, claim *apiv1.NodeClaim) (instances.Instance, bool, error) {
	if ticket, ok := l.cache.cancel(claim.UID); ok {
		limited, cancel := timeout.Context(ctx, l.Clock, cancelPatience)
		defer cancel()
		if _, err := ticket.Wait(limited); err != nil && !ticket.Done() {
			return instances.Instance{}, false, fmt.Errorf("wait for the launch of claim %s: %w", claim.Name, err)
		}
	}
	if i, ok := l.cache.instanceOf(claim.UID); ok {
		return i, true, nil
	}
	r, ok := l.cache.record(claim)
	if !ok || l.cache.isOutcomeKnown(r.Token) {
		return instances.Instance{}, false, nil
	}
	found, claims, err := l.findCall(ctx, claim.UID)
	if err != nil {
		return instances.Instance{}, false, err
	}
	at, ok := slices.BinarySearchFunc(found, assign(claims, ids(found))[claim.UID], byID)
	switch {
	case ok:
		// It is cached, because EC2 does not list the instance any more once it is terminated.
		l.cache.setInstance(claim.UID, found[at])
		return found[at], true, nil
	case l.mayBeUnlisted(r):
		return instances.Instance{}, false, outcomeUnknown()
	case len(found) == 0:
		return instances.Instance{}, false, nil
	}
	return instances.Instance{}, false, l.checkUnassigned(ctx, claim, r.Token, found)
}

// checkUnassigned returns an error if one of the instances may belong to the claim, although it was not assigned to it. The
// claims were read before the instances. Listing instances may take minutes. Meanwhile, another claim with the token may have
// terminated its instance and may be gone. Then the instance of this claim was assigned to that one. So the claims are read
// again. A claim gets the token before the call is made, so no claim is missing in the first list.
func (l *Launcher) checkUnassigned(
	ctx context.Context, claim *apiv1.NodeClaim, token string, found []instances.Instance,
) error {
	claims, err := l.listCallClaims(ctx, token)
	if err != nil {
		return err
	}
	if id := assign(claims, ids(found))[claim.UID]; id != "" {
		return fmt.Errorf("claim %s may have instance %s: other claims of its launch were removed while instances were listed", claim.Name, id)
	}
	return nil
}

// Surplus returns the IDs of instances that belong to no claim and will be assigned to none. Both lists must be
// complete. The instances must have been read before the claims. Otherwise an instance that was launched in between
// would count as surplus.
func (l *Launcher) Surplus(list []instances.Instance, claims []apiv1.NodeClaim) map[string]bool {
	surplus := map[string]bool{}
	byToken := map[string][]string{}
	for _, i := range list {
		surplus[i.ID] = true
		if token := i.Tags[instances.TagLaunch]; token != "" && !i.Ending() {
			byToken[token] = append(byToken[token], i.ID)
		}
	}
	for n := range claims {
		if _, id, ok := instances.ParseProviderID(claims[n].Status.ProviderID); ok {
			delete(surplus, id)
		}
		if i, ok := l.cache.instanceOf(claims[n].UID); ok {
			delete(surplus, i.ID)
		}
	}
	for token, ids := range byToken {
		for _, id := range assign(l.cache.addInstances(claimsOf(token, claims)), ids) {
			delete(surplus, id)
		}
	}
	return surplus
}
