package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/timeout"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

const (
	// userDataLimit is EC2's limit of user data, in bytes before encoding.
	userDataLimit = 16384
	// retryUnavailable is the pause before another check if no instance type is available, or if AWS throttled a call or failed.
	retryUnavailable = 10 * time.Second
	// retryUnlisted is the pause before another check if EC2 does not find a resource that was just created.
	retryUnlisted = 2 * time.Second
)

// passedLife returns how long a class that passed Check and was not changed is not checked again: 25 to 35 minutes. It depends
// on the time at which the process started, so that the controllers of many clusters do not check at the same time. A class
// that failed is checked each time, so that a fix takes effect immediately.
func passedLife(started time.Time) time.Duration {
	const shortest, longest = 25 * time.Minute, 35 * time.Minute
	return shortest + time.Duration(uint64(started.UnixNano())%uint64(longest-shortest))
}

// A Finding is the reason why nothing can be launched from a class. The zero Finding means that launches are possible.
type Finding struct {
	Reason, Message string
	// Again is not zero if the check gave no result. It is the pause before the next check. Then Message names what the
	// check waits for.
	Again time.Duration
}

// CheckOptions are the settings of Check.
type CheckOptions struct {
	// DryRun makes Check create a launch template, and call CreateFleet and RunInstances as dry runs.
	DryRun bool
	// Tenancy is the tenancy of the instance in the dry runs.
	Tenancy string
}

// Check returns whether the controller can launch from the class. It generates the user data and checks their length,
// and makes the dry runs. It launches nothing. The dry runs use one of r.Types, or one per architecture.
func (l *Launcher) Check(ctx context.Context, r Request, o CheckOptions) (Finding, error) {
	key := checkHash(r.Class)
	if _, passed := l.passed.Get(key); passed {
		return Finding{}, nil
	}
	cluster, err := l.Clusters.Cluster(ctx)
	if err != nil {
		return Finding{}, err
	}
	choice := sampleChoice(r.Types, o.Tenancy)
	if len(choice.Types) == 0 {
		return Finding{Again: retryUnavailable, Message: "No instance type is available with the subnets and AMIs of this EC2NodeClass"}, nil
	}
	r.Claim = &apiv1.NodeClaim{}
	groups, err := l.templateGroups(ctx, r, choice, cluster)
	var bad *cloud.NodeClassNotReadyError
	if errors.As(err, &bad) {
		return Finding{Reason: awsv1.ReasonInvalidUserData, Message: "spec.userData: " + bad.Err.Error()}, nil
	}
	if err != nil {
		return Finding{}, err
	}
	for _, g := range groups {
		if n := g.userDataSize; n > userDataLimit {
			return Finding{Reason: awsv1.ReasonUserDataSizeLimitExceeded, Message: fmt.Sprintf(
				"spec.userData with Karpenter's additions has %s bytes, the EC2 limit is %s", thousands(n), thousands(userDataLimit))}, nil
		}
	}
	if o.DryRun && !l.dryRunsIgnored.Load() {
		limited, cancel := timeout.Context(ctx, l.Clock, dryRunTimeout)
		defer cancel()
		f, err := l.dryRunLaunch(limited, r, choice, groups)
		switch {
		case errors.Is(err, errNoDryRuns):
			log.FromContext(ctx).Info("EC2 dry runs are not available, EC2NodeClass is accepted without permission check", "error", fault.Brief(err))
			return Finding{}, nil
		case err != nil || f != (Finding{}):
			return f, err
		}
	}
	l.passed.Set(key, true)
	return Finding{}, nil
}

// checkHash returns a hash of what Check reads of the class: UID, spec, and status without conditions. The order of subnets
// does not matter.
func checkHash(class *awsv1.EC2NodeClass) string {
	status := class.Status.DeepCopy()
	status.Conditions = nil
	slices.SortFunc(status.Subnets, func(a, b awsv1.Subnet) int { return cmp.Compare(a.ID, b.ID) })
	raw, err := json.Marshal([]any{class.UID, class.Spec, status})
	if err != nil {
		panic(fmt.Sprintf("encode node class %s: %v", class.Name, err)) // cannot happen: the class was decoded from JSON
	}
	sum := sha256.Sum256(raw)
	return string(sum[:])
}

// sampleChoice returns the types for the dry runs: m5.large and m6g.large, as far as they are in types.
// If neither is, it returns the cheapest type that is neither bare metal nor has accelerators, or
// else the cheapest type. Types that have only reserved offerings are not used. The capacity type
// is on-demand. If all types have only reserved offerings, sampleChoice returns the cheapest of these
// offerings, with the capacity type reserved.
func sampleChoice(types []*model.InstanceType, tenancy string) Choice {
	c := Choice{CapacityType: apiv1.CapacityTypeOnDemand, Tenancy: tenancy}
	all := withOffers(types, func(o model.Offering) bool { return o.ReservationID == "" })
	picked := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool {
		return c.t.Name != "m5.large" && c.t.Name != "m6g.large"
	})
	switch {
	case len(all) == 0:
		c.CapacityType = apiv1.CapacityTypeReserved
		picked = cheapestOnly(withOffers(types, func(o model.Offering) bool { return o.ReservationID != "" }))
	case len(picked) == 0:
		picked = []candidate{slices.MinFunc(removeUnlessAll(removeUnlessAll(all, isAccelerated), isMetal), byPrice)}
	}
	for _, p := range picked {
		c.Types, c.Offers = append(c.Types, p.t), append(c.Offers, p.offers)
	}
	return c
}

// withOffers returns the types that have offerings for which use returns true, with only these offerings.
func withOffers(types []*model.InstanceType, use func(model.Offering) bool) []candidate {
	var out []candidate
	for _, t := range types {
		offers := slices.DeleteFunc(slices.Clone(t.Offerings), func(o model.Offering) bool { return !use(o) })
		if len(offers) > 0 {
			out = append(out, candidate{t, offers})
		}
	}
	return out
}

// thousands formats a number with commas between thousands.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
