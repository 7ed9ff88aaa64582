package awsemu

import (
	"slices"
	"strings"
	"time"
)

// throttleEC2 is the value of Config.Throttle that selects EC2's documented limits.
const throttleEC2 = "ec2"

// A limit is a token bucket as AWS documents it: its size in tokens and its refill in tokens per second.
type limit struct {
	size int
	rate float64
}

// The limits of EC2's actions by category, and of the actions with limits of their own. They are from "Request throttling for the
// Amazon EC2 API", request token buckets.
var (
	nonMutating = limit{100, 20}
	unfiltered  = limit{50, 10}
	mutating    = limit{50, 5}

	ownLimits = map[string]limit{
		"CreateTags": {100, 10}, "DeleteTags": {100, 10}, "CreateLaunchTemplateVersion": {100, 5},
		"RunInstances": {5, 2}, "TerminateInstances": {100, 5},
	}
	// unfilteredActions are actions that use a smaller bucket if a call has neither filters nor pages.
	unfilteredActions = []string{"DescribeInstances", "DescribeInstanceStatus", "DescribeSecurityGroups"}

	// resourceLimits are limits in instances, not in calls.
	resourceLimits = map[string]limit{"RunInstances": {1000, 2}, "TerminateInstances": {1000, 20}}
)

// A draw is the number of tokens that a call takes from one bucket.
type draw struct {
	bucket string
	limit  limit
	tokens float64
}

// draws returns the tokens that a call of EC2 takes, nil for other services.
func draws(r *request) []draw {
	if r.service != "ec2" {
		return nil
	}
	own, ok := ownLimits[r.action]
	key := r.action
	switch {
	case ok:
	case !strings.HasPrefix(r.action, "Describe") && !strings.HasPrefix(r.action, "Get"):
		own = mutating
	case slices.Contains(unfilteredActions, r.action) && !r.form.Has("MaxResults") && !r.form.Has("NextToken") && len(r.form.Each("Filter")) == 0:
		own, key = unfiltered, key+" unfiltered"
	default:
		own = nonMutating
	}
	out := []draw{{key, own, 1}}
	if l, ok := resourceLimits[r.action]; ok {
		n := max(r.form.Int("MaxCount"), len(r.form.List("InstanceId")), 1)
		out = append(out, draw{r.action + " resources", l, float64(n)})
	}
	return out
}

// A level is the number of tokens in a bucket at a certain time.
type level struct {
	tokens float64
	at     time.Time
}

// spend takes the tokens of a call from its buckets. If one bucket has too few tokens, spend takes none and returns true.
func spend(levels map[string]level, wanted []draw, now time.Time) (short bool) {
	for _, d := range wanted {
		l, ok := levels[d.bucket]
		if !ok {
			l = level{float64(d.limit.size), now}
		}
		l.tokens = min(float64(d.limit.size), l.tokens+d.limit.rate*now.Sub(l.at).Seconds())
		l.at = now
		levels[d.bucket] = l
		short = short || l.tokens < d.tokens
	}
	if short {
		return true
	}
	for _, d := range wanted {
		l := levels[d.bucket]
		l.tokens -= d.tokens
		levels[d.bucket] = l
	}
	return false
}
