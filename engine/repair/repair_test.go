package repair_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/repair"
)

var epoch = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func policy(change func(*repair.Policy)) repair.Policy {
	bound := 5 * time.Minute
	p := repair.Policy{
		ConditionType: "GPU", ConditionStatus: corev1.ConditionFalse, ReasonRegex: "XID48", TolerationDuration: 10 * time.Minute,
		TerminationGracePeriod: &bound, Action: repair.RebootNode,
	}
	if change != nil {
		change(&p)
	}
	return p
}

func fallback(p *repair.Policy) { p.ReasonRegex, p.Action = "", repair.ReplaceNode }

func TestCompileSaysAllThatIsWrong(t *testing.T) {
	negative := -time.Second
	for name, tt := range map[string]struct {
		policies []repair.Policy
		want     string
	}{
		"sound": {[]repair.Policy{policy(nil), policy(fallback)}, ""},
		"none":  {nil, "no repair policy"},
		"type":  {[]repair.Policy{policy(func(p *repair.Policy) { p.ConditionType = "" })}, "ConditionType is empty"},
		"status": {[]repair.Policy{policy(func(p *repair.Policy) { p.ConditionStatus = "Maybe" })},
			`ConditionStatus "Maybe": use True, False or Unknown`},
		"toleration": {[]repair.Policy{policy(func(p *repair.Policy) { p.TolerationDuration = -1 })}, "is negative"},
		"grace":      {[]repair.Policy{policy(func(p *repair.Policy) { p.TerminationGracePeriod = &negative })}, "is negative"},
		"priority":   {[]repair.Policy{policy(func(p *repair.Policy) { p.Priority = 101 })}, "out of range 0 to 100"},
		"action":     {[]repair.Policy{policy(func(p *repair.Policy) { p.Action = "Restart" })}, `Action "Restart"`},
		"expression": {[]repair.Policy{policy(func(p *repair.Policy) { p.ReasonRegex = "(" })}, "missing closing )"},
		"fallback that reboots": {[]repair.Policy{policy(func(p *repair.Policy) { p.ReasonRegex = "" })},
			"needs a ReasonRegex"},
		"reboot without a bound": {[]repair.Policy{policy(func(p *repair.Policy) { p.TerminationGracePeriod = nil })},
			"needs a TerminationGracePeriod"},
		"two fallbacks": {[]repair.Policy{policy(fallback), policy(fallback)}, "second policy without ReasonRegex"},
	} {
		_, err := repair.Compile(tt.policies)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error is %v, want %q", name, err, tt.want)
		}
	}
}

func node(conditions ...corev1.NodeCondition) *corev1.Node {
	n := &corev1.Node{}
	n.CreationTimestamp = metav1.Time{Time: epoch.Add(-24 * time.Hour)}
	n.Status.Conditions = conditions
	return n
}

func failing(kind, reason string, since time.Duration) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeConditionType(kind), Status: corev1.ConditionFalse, Reason: reason,
		LastTransitionTime: metav1.Time{Time: epoch.Add(-since)},
	}
}

func rebooted(reason string, ago time.Duration) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{}
	c.Status.Conditions = []metav1.Condition{{
		Type: apiv1.ConditionTypeRebooting, Status: metav1.ConditionFalse, Reason: reason,
		LastTransitionTime: metav1.Time{Time: epoch.Add(-ago)},
	}}
	return c
}

func TestMatches(t *testing.T) {
	policies, err := repair.Compile([]repair.Policy{
		policy(nil), policy(fallback),
		policy(func(p *repair.Policy) { p.ConditionType, p.ReasonRegex, p.Action = "Ready", ".*", repair.ReplaceNode }),
	})
	if err != nil {
		t.Fatal(err)
	}
	young := node(failing("GPU", "XID48", time.Hour))
	young.CreationTimestamp = metav1.Time{Time: epoch.Add(-time.Minute)}
	for _, tt := range []struct {
		name  string
		node  *corev1.Node
		claim *apiv1.NodeClaim
		want  string // for each match: its action, and the time after the epoch at which it is eligible
	}{
		{"healthy", node(corev1.NodeCondition{Type: "GPU", Status: corev1.ConditionTrue}), nil, ""},
		{"by its reason", node(failing("GPU", "NvidiaXID48Error", 9*time.Minute)), nil, "RebootNode 1m0s"},
		{"any other reason", node(failing("GPU", "Overheated", 9*time.Minute)), nil, "ReplaceNode 1m0s"},
		{"not of that condition", node(failing("Ready", "XID48", 9*time.Minute)), nil, "ReplaceNode 1m0s"},
		{"from the creation of the node", young, nil, "RebootNode 9m0s"},
		{"again after a reboot", node(failing("GPU", "XID48", time.Hour)), rebooted(apiv1.ReasonRebootSucceeded, 3*time.Minute), "RebootNode 7m0s"},
		{"at once after a failed reboot", node(failing("GPU", "XID48", time.Minute)), rebooted(apiv1.ReasonRebootFailed, 3*time.Minute), "RebootNode -1m0s"},
		{"a day after a failed reboot", node(failing("GPU", "XID48", time.Minute)), rebooted(apiv1.ReasonRebootFailed, 25*time.Hour), "RebootNode 9m0s"},
	} {
		var got []string
		for _, m := range policies.Matches(tt.node, tt.claim) {
			got = append(got, string(m.Action)+" "+m.EligibleAt.Sub(epoch).String())
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, text, tt.want)
		}
	}
}

func TestDecideMerges(t *testing.T) {
	minute := time.Minute
	policies, err := repair.Compile([]repair.Policy{
		policy(func(p *repair.Policy) { p.TerminationGracePeriod, p.Priority = &minute, 90 }),
		policy(func(p *repair.Policy) {
			p.ConditionType, p.ReasonRegex, p.Action, p.Priority = "Disk", ".*", repair.ReplaceNode, 10
		}),
		policy(func(p *repair.Policy) {
			p.ConditionType, p.ReasonRegex, p.Action, p.Priority = "Net", ".*", repair.ReplaceNode, 50
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	n := node(failing("GPU", "XID48", 20*time.Minute), failing("Disk", "Full", 100*time.Minute), failing("Net", "Down", 10*time.Minute))
	r, score, ok := policies.Decide(policies.Matches(n, nil), epoch)
	if !ok || r.Reboot || r.Condition != "Net" {
		t.Errorf("repair is %+v, want a replacement for Net: more disruptive than GPU, higher priority than Disk", r)
	}
	if r.DrainBound == nil || *r.DrainBound != minute || r.DrainBoundBy != "GPU" {
		t.Errorf("drain bound is %v by %s, want 1m of GPU: the shortest of all", r.DrainBound, r.DrainBoundBy)
	}
	if score != 3 {
		t.Errorf("score is %v, want 3: rank 0 of Disk and 90 minutes", score)
	}
	if _, _, ok := policies.Decide(policies.Matches(n, nil), epoch.Add(-time.Hour*2)); ok {
		t.Error("a node is repaired within the toleration")
	}
}

func TestHistory(t *testing.T) {
	claim := &apiv1.NodeClaim{}
	for i, hours := range []time.Duration{0, 10, 30} {
		now := epoch.Add(hours * time.Hour)
		claim.Annotations = map[string]string{apiv1.RepairHistoryAnnotationKey: repair.Recorded(claim, repair.RebootNode, now)}
		if got := repair.Escalates(claim, now); got != (i > 0) {
			t.Errorf("after %d hours: escalates is %t", hours, got)
		}
	}
	if got := len(repair.History(claim, epoch.Add(30*time.Hour))); got != 2 {
		t.Errorf("%d repairs count, want the two of the last 24 hours", got)
	}
	if repair.Escalates(claim, epoch.Add(36*time.Hour)) {
		t.Error("a reboot of more than 24 hours ago counts")
	}
}

// A node whose reboot failed is replaced, also a day later if its condition has been failing since then. A condition that
// begins to fail a day later is repaired by a reboot again.
func TestFailedRebootEscalates(t *testing.T) {
	policies, err := repair.Compile([]repair.Policy{policy(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		failing, rebooted time.Duration // how long ago
		escalated         bool
	}{
		{time.Minute, time.Hour, true},
		{60 * time.Hour, 50 * time.Hour, true},
		{time.Hour, 50 * time.Hour, false},
	} {
		n := node(failing("GPU", "XID48", tt.failing))
		n.CreationTimestamp.Time = epoch.Add(-100 * time.Hour)
		r, _, ok := policies.Decide(policies.Matches(n, rebooted(apiv1.ReasonRebootFailed, tt.rebooted)), epoch)
		if !ok || r.Reboot == tt.escalated || r.Escalated != tt.escalated {
			t.Errorf("failing for %s, reboot failed %s ago: due %t, reboots %t, escalated %t", tt.failing, tt.rebooted, ok, r.Reboot, r.Escalated)
		}
	}
}

// A request that is repeated within a minute, because it was written in part, counts once.
func TestRepeatedRequest(t *testing.T) {
	claim := &apiv1.NodeClaim{}
	note := func(at time.Duration, action repair.Action) {
		claim.Annotations = map[string]string{apiv1.RepairHistoryAnnotationKey: repair.Recorded(claim, action, epoch.Add(at))}
	}
	for _, at := range []time.Duration{0, time.Second, 50 * time.Second, time.Minute + 45*time.Second} {
		note(at, repair.RebootNode)
	}
	if got := len(repair.History(claim, epoch.Add(2*time.Minute))); got != 1 {
		t.Errorf("%d reboots count, want one", got)
	}
	note(2*time.Minute, repair.ReplaceNode)
	note(3*time.Minute, repair.RebootNode)
	if got := len(repair.History(claim, epoch.Add(3*time.Minute))); got != 3 {
		t.Errorf("%d repairs count, want three", got)
	}
}

// If a failing condition is healthy for less than five minutes, the time since which it fails does not change.
func TestObserve(t *testing.T) {
	policies, err := repair.Compile([]repair.Policy{policy(nil)})
	if err != nil {
		t.Fatal(err)
	}
	claim := &apiv1.NodeClaim{}
	last := time.Time{}
	observe := func(at time.Duration, status corev1.ConditionStatus, since time.Duration) string {
		n := node(corev1.NodeCondition{Type: "GPU", Status: status, Reason: "XID48", LastTransitionTime: metav1.Time{Time: epoch.Add(since)}})
		claim.Annotations = map[string]string{apiv1.UnhealthySinceAnnotationKey: policies.Observe(n, claim, last, epoch.Add(at))}
		last = epoch.Add(at)
		return claim.Annotations[apiv1.UnhealthySinceAnnotationKey]
	}
	const want = "GPU=False@2026-01-05T12:00:00Z"
	for _, at := range []time.Duration{0, 4 * time.Minute} {
		if got := observe(at, corev1.ConditionFalse, 0); got != want {
			t.Errorf("failing: %q", got)
		}
	}
	if got := observe(6*time.Minute, corev1.ConditionTrue, 5*time.Minute); got != want+"/2026-01-05T12:05:00Z" {
		t.Errorf("healthy for a minute: %q", got)
	}
	if got := observe(8*time.Minute, corev1.ConditionFalse, 7*time.Minute); got != want+"/2026-01-05T12:07:00Z" {
		t.Errorf("failing again: %q", got)
	}
	n := node(failing("GPU", "XID48", -7*time.Minute))
	n.CreationTimestamp = metav1.Time{}
	if m := policies.Matches(n, claim); len(m) != 1 || !m[0].EligibleAt.Equal(epoch.Add(10*time.Minute)) {
		t.Errorf("matches are %+v, want one that counts from the first failure", m)
	}
	if got := observe(20*time.Minute, corev1.ConditionTrue, 14*time.Minute); got != "" {
		t.Errorf("healthy for six minutes: %q", got)
	}
}

// A failure continues in spite of a recovery that no call of Observe has read, if the recovery took less than five minutes.
// Otherwise the time is that of the last transition. It is also that if the annotation is old, because Observe
// has not been called for a while.
func TestObserveGaps(t *testing.T) {
	policies, err := repair.Compile([]repair.Policy{policy(nil)})
	if err != nil {
		t.Fatal(err)
	}
	const long = "GPU=False@2026-01-05T11:00:00Z" // epoch is at 12:00
	failsFor := func(since time.Duration) corev1.NodeCondition { return failing("GPU", "XID48", since) }
	healthy := func(since time.Duration) corev1.NodeCondition {
		c := failing("GPU", "", since)
		c.Status = corev1.ConditionTrue
		return c
	}
	for _, tt := range []struct {
		name  string
		old   string
		c     corev1.NodeCondition
		last  time.Duration // how long ago Observe was called last, 0 if it was not
		since time.Duration // how long it counts as failing before Observe is called, 0 if it is healthy
		want  string
	}{
		{"the same failure", long, failsFor(time.Hour), 0, time.Hour, long},
		{"flapped between two calls", long, failsFor(time.Second), 10 * time.Second, time.Second, long + "/2026-01-05T11:59:59Z"},
		{"flapped after a break", long, failsFor(time.Second), time.Hour, time.Second, "GPU=False@2026-01-05T11:59:59Z"},
		{"flapped without calls", long, failsFor(time.Second), 0, time.Second, "GPU=False@2026-01-05T11:59:59Z"},
		{"flapped for a short time without calls", long + "/2026-01-05T11:57:00Z", failsFor(time.Second), 0, time.Hour, long + "/2026-01-05T11:59:59Z"},
		{"recovered without calls", long, healthy(time.Minute), 0, 0, ""},
		{"recovered between two calls", long, healthy(time.Minute), 2 * time.Minute, 0, long + "/2026-01-05T11:59:00Z"},
		{"not readable", "GPU=False@11:00", failsFor(time.Hour), time.Second, time.Hour, long},
	} {
		claim := &apiv1.NodeClaim{}
		claim.Annotations = map[string]string{apiv1.UnhealthySinceAnnotationKey: tt.old}
		last := time.Time{}
		if tt.last > 0 {
			last = epoch.Add(-tt.last)
		}
		n := node(tt.c)
		if m := policies.Matches(n, claim); len(m) > 0 != (tt.since > 0) || len(m) > 0 && !m[0].EligibleAt.Equal(epoch.Add(10*time.Minute-tt.since)) {
			t.Errorf("%s: matches are %+v, want one that counts for %s", tt.name, m, tt.since)
		}
		if got := policies.Observe(n, claim, last, epoch); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
