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

// An adoption is the outcome of the fleet call that is recorded on a claim.
type adoption struct {
	instance *instances.Instance // the instance of the claim, nil if there is none
	found    int                 // number of instances of the call
	carriers int                 // number of claims with the token of the call
}

// adopt returns the instance that an earlier fleet call launched for the claim. If EC2 lists no instance of that call and
// all of its claims still exist, adopt returns the record of the call, which must be repeated unchanged. It returns an error
// while the outcome of the call is not known. If it returns only nils, a new call may be made.
func (l *Launcher) adopt(ctx context.Context, claim *apiv1.NodeClaim) (*instances.Instance, *Record, error) {
	r, ok := l.memory.record(claim)
	if !ok || l.memory.isSettled(r.Token) {
		return nil, nil, nil
	}
	a, err := l.adopts.Do(ctx, r.Token, claim.UID)
	if err != nil || a.instance != nil {
		return a.instance, nil, err
	}
	switch {
	case a.found == 0 && a.carriers == r.Count:
		return nil, &r, nil
	case l.unsettled(r):
		return nil, nil, outcomeUnknown() // EC2 may list the claim's instance later
	}
	return nil, nil, nil
}

// settleTime is how long EC2 may take to list the instances that a call has launched. Garbage collection ignores
// instances that are newer than that.
const settleTime = 30 * time.Second

// unsettled reports whether instances of the recorded call may exist that EC2 does not list yet.
func (l *Launcher) unsettled(r Record) bool { return l.Clock.Since(l.memory.ended(r)) < settleTime }

// outcomeUnknown returns the error for a claim while it is not known whether an earlier call launched its instance. No
// other call is made meanwhile, because it could launch a second instance.
func outcomeUnknown() error {
	message := fmt.Sprintf("result of the previous CreateFleet call is unknown; waiting up to %v for its instance", settleTime)
	return &cloud.LaunchError{Reason: "LaunchOutcomeUnknown", Message: message, Err: errors.New(message)}
}

// adoptAll is the batched call of adopt. All claims have the same token.
func (l *Launcher) adoptAll(ctx context.Context, uids []types.UID) []batch.Result[adoption] {
	out := make([]batch.Result[adoption], len(uids))
	found, carriers, err := l.outcome(ctx, uids[0])
	if err != nil {
		for n := range out {
			out[n].Err = err
		}
		return out
	}
	given := Assign(carriers, ids(found))
	for n, uid := range uids {
		a := adoption{found: len(found), carriers: len(carriers)}
		if at, ok := slices.BinarySearchFunc(found, given[uid], byID); ok {
			a.instance = &found[at]
			l.memory.give(uid, found[at])
		}
		out[n].Value = a
	}
	return out
}

// outcome returns the outcome of the last call for the claim: its instances in order of ID, and the
// claims with its token. Without a recorded call, both are nil. It returns an error if the claim
// does not exist any more.
func (l *Launcher) outcome(ctx context.Context, uid types.UID) ([]instances.Instance, []Carrier, error) {
	var claims apiv1.NodeClaimList
	if err := l.Claims.List(ctx, &claims); err != nil {
		return nil, nil, fmt.Errorf("list claims: %w", err)
	}
	at := slices.IndexFunc(claims.Items, func(c apiv1.NodeClaim) bool { return c.UID == uid })
	if at < 0 {
		return nil, nil, fmt.Errorf("find claim of UID %s: gone", uid)
	}
	r, ok := l.memory.record(&claims.Items[at])
	if !ok {
		return nil, nil, nil
	}
	found, err := l.Finder.Launched(ctx, r.Token)
	if err != nil {
		return nil, nil, err
	}
	return found, l.memory.known(Carriers(r.Token, claims.Items)), nil
}

func byID(i instances.Instance, id string) int { return cmp.Compare(i.ID, id) }

func ids(list []instances.Instance) []string {
	out := make([]string, len(list))
	for n, i := range list {
		out[n] = i.ID
	}
	return out
}

// endTime bounds how long Find waits for a fleet call.
const endTime = 10 * time.Second

// Find returns the instance of a claim that is being deleted and has no provider ID, and false if there is none. It
// cancels a pending launch of the claim. If the fleet call may have been made already, Find waits for its result. It
// returns an error as long as the claim may still get an instance.
func (l *Launcher) Find(ctx context.Context, claim *apiv1.NodeClaim) (instances.Instance, bool, error) {
	if ticket, ok := l.memory.callOff(claim.UID); ok {
		limited, cancel := timeout.Context(ctx, l.Clock, endTime)
		defer cancel()
		if _, err := ticket.Wait(limited); err != nil && !ticket.Done() {
			return instances.Instance{}, false, fmt.Errorf("wait for the launch of claim %s: %w", claim.Name, err)
		}
	}
	if i, ok := l.memory.of(claim.UID); ok {
		return i, true, nil
	}
	r, ok := l.memory.record(claim)
	if !ok || l.memory.isSettled(r.Token) {
		return instances.Instance{}, false, nil
	}
	found, carriers, err := l.outcome(ctx, claim.UID)
	if err != nil {
		return instances.Instance{}, false, err
	}
	at, ok := slices.BinarySearchFunc(found, Assign(carriers, ids(found))[claim.UID], byID)
	switch {
	case ok:
		l.memory.give(claim.UID, found[at]) // stored, because EC2 does not list the instance any more once it is terminated
		return found[at], true, nil
	case l.unsettled(r):
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
	var claims apiv1.NodeClaimList
	if err := l.Claims.List(ctx, &claims); err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	carriers := l.memory.known(Carriers(token, claims.Items))
	if id := Assign(carriers, ids(found))[claim.UID]; id != "" {
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
		if i, ok := l.memory.of(claims[n].UID); ok {
			delete(surplus, i.ID)
		}
	}
	for token, ids := range byToken {
		for _, id := range Assign(l.memory.known(Carriers(token, claims)), ids) {
			delete(surplus, id)
		}
	}
	return surplus
}
