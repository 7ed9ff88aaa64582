package repair

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// recovery is how long a condition must be healthy until its earlier failure no longer counts.
const recovery = 5 * time.Minute

// A failure is one entry of the claim's annotation UnhealthySinceAnnotationKey: a condition, its failing status, and
// since when it fails.
type failure struct {
	condition, status string
	since             time.Time
}

// UnhealthySince returns since when the condition fails, if the claim's annotation has an earlier time than the last
// transition. It has one if the condition was healthy for a short time in between. Otherwise ok is false.
func UnhealthySince(claim *apiv1.NodeClaim, c corev1.NodeCondition) (at time.Time, ok bool) {
	for _, f := range failures(claim) {
		if f.condition == string(c.Type) && f.status == string(c.Status) && f.since.Before(c.LastTransitionTime.Time) {
			return f.since, true
		}
	}
	return time.Time{}, false
}

// Observe returns the new value of the claim's annotation UnhealthySinceAnnotationKey. It lists each condition that
// matches a policy, and each entry of the annotation whose condition has another status since less than recovery.
func (p *Policies) Observe(node *corev1.Node, claim *apiv1.NodeClaim, now time.Time) string {
	var words []string
	for _, c := range node.Status.Conditions {
		current := failure{string(c.Type), string(c.Status), c.LastTransitionTime.Time}
		fails := p != nil && len(p.of(node, c)) > 0
		for _, f := range failures(claim) {
			switch {
			case f.condition != current.condition:
			case fails && f.status == current.status && f.since.Before(current.since):
				current.since = f.since
			case f.status != current.status && now.Sub(c.LastTransitionTime.Time) < recovery:
				words = append(words, f.String())
			}
		}
		if fails {
			words = append(words, current.String())
		}
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

// failures reads the annotation of the claim. Entries that cannot be parsed are omitted.
func failures(claim *apiv1.NodeClaim) []failure {
	var out []failure
	for what, at := range stamped(claim, apiv1.UnhealthySinceAnnotationKey) {
		condition, status, _ := strings.Cut(what, "=")
		out = append(out, failure{condition, status, at})
	}
	return out
}

func (f failure) String() string {
	return f.condition + "=" + f.status + "@" + f.since.UTC().Format(time.RFC3339)
}
