package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
)

// inPool returns the verdict about a pool as an obstacle. For some rules it replaces the general fix by one that names the
// NodePool and what to change in it.
func (e *Explainer) inPool(pod *model.Pod, pool *model.Pool, v model.Verdict) Obstacle {
	o := obstacleOf(v)
	switch v.Rule {
	case model.RuleLabels:
		if e.fromVolume(pod, v) {
			o.Why = "a volume of the pod is in another zone: " + o.Why
			o.Fix = fmt.Sprintf("allow the zone of the volume in NodePool %s and in its node class, or move the volume", pool.Name)
		}
	case model.RuleLimit:
		o.Fix = fmt.Sprintf("raise spec.limits.%s of NodePool %s to at least %s", v.Resource, pool.Name,
			units.Amount(v.Resource, pool.Limits[v.Resource]+v.By, units.Up))
	case model.RuleMinValues:
		o.Fix = fmt.Sprintf("lower minValues of %s in NodePool %s, allow more values, or set --min-values-policy=BestEffort",
			v.Key, pool.Name)
	case model.RuleTopology:
		if fix := e.moreDomains(pool, v); fix != "" {
			o.Fix = fix
		}
	}
	return o
}

// fromVolume reports whether the zone that the verdict names is required by a volume of the pod, and not by the pod itself.
// It assumes so if the pod has a volume claim, and its own selectors name no zone.
func (e *Explainer) fromVolume(pod *model.Pod, v model.Verdict) bool {
	claims := slices.ContainsFunc(pod.Object.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
	return claims && strings.Contains(v.Subject, corev1.LabelTopologyZone) &&
		!slices.ContainsFunc(e.terms(pod), func(term require.Set) bool { return term.Has(corev1.LabelTopologyZone) })
}

// moreDomains returns how to give the pool more domains or to relax the constraint, empty if more domains do not help.
func (e *Explainer) moreDomains(pool *model.Pool, v model.Verdict) string {
	more := fmt.Sprintf("allow more values of %s in NodePool %s", v.Key, pool.Name)
	if !e.labels.WellKnown.Has(v.Key) && !pool.Requirements.Has(v.Key) {
		more = fmt.Sprintf("add label %s to spec.template.spec.requirements of NodePool %s", v.Key, pool.Name)
	}
	switch v.Cause {
	case model.CauseSpread:
		return more + ", or set whenUnsatisfiable: ScheduleAnyway"
	case model.CauseAntiAffinity, model.CauseOthersAffinity:
		return more + ", or use preferredDuringSchedulingIgnoredDuringExecution"
	}
	return ""
}

// fixes are the changes that make checks pass, see model.Verdict.Text.
var fixes = map[model.Reason]string{
	{Rule: model.RuleNoPool}:                                     "create a NodePool",
	{Rule: model.RulePool}:                                       "see the conditions of the NodePool",
	{Rule: model.RulePool, Cause: model.CauseDeleting}:           "add a NodePool that admits the pod",
	{Rule: model.RulePool, Cause: model.CauseStatic}:             "add a NodePool without spec.replicas",
	{Rule: model.RuleInvalid}:                                    "change the constraints of the pod",
	{Rule: model.RuleOversized}:                                  "lower the {resource} that the containers request",
	{Rule: model.RuleTaint}:                                      "add a toleration to the pod",
	{Rule: model.RuleLabels}:                                     "change the nodeSelector or node affinity of the pod",
	{Rule: model.RuleResources}:                                  "request {amount} {resource} less",
	{Rule: model.RuleShape}:                                      "request less, or allow more instance types in the NodePool",
	{Rule: model.RulePorts}:                                      "use another hostPort in the pod",
	{Rule: model.RuleTopology, Cause: model.CauseSpread}:         "allow more values of {key}, or set whenUnsatisfiable: ScheduleAnyway",
	{Rule: model.RuleTopology, Cause: model.CauseAffinity}:       "create pods that match the labelSelector of the affinity first, or use preferredDuringSchedulingIgnoredDuringExecution",
	{Rule: model.RuleTopology, Cause: model.CauseAntiAffinity}:   "allow more values of {key}, or use preferredDuringSchedulingIgnoredDuringExecution",
	{Rule: model.RuleTopology, Cause: model.CauseOthersAffinity}: "allow more values of {key}, or use preferredDuringSchedulingIgnoredDuringExecution",
	{Rule: model.RuleTopology, Cause: model.CauseDaemonSpread}:   "exclude pods of {subject} by the labelSelector of the constraint",
	{Rule: model.RuleTopology}:                                   "exclude pods of {subject} by the labelSelectors of the constraints",
	{Rule: model.RuleOffering, Cause: model.CauseQuota}:          "raise the quota",
	{Rule: model.RuleOffering}:                                   "allow more zones, capacity types or instance types in the NodePool",
	{Rule: model.RuleVolume}:                                     "change the volumes, nodeSelector or node affinity of the pod",
	{Rule: model.RuleLimit}:                                      "raise spec.limits.{resource} of the NodePool by at least {amount}",
	{Rule: model.RuleMinValues}:                                  "lower minValues of {key}, allow more values, or set --min-values-policy=BestEffort",
	{Rule: model.RuleAnnotation}:                                 "remove the annotation",
	{Rule: model.RuleUnhealthy}:                                  "find the common cause of the unhealthy nodes",
	{Rule: model.RuleUnhealthy, Cause: model.CauseDoNotRepair}:   "remove the annotation",
	{Rule: model.RuleUnhealthy, Cause: model.CauseNoDrainBound}:  "move the pod away, or set spec.template.spec.terminationGracePeriod of the NodePool, which makes its nodes drift",
	{Rule: model.RulePDB}:                                        "run more replicas than the PodDisruptionBudget needs",
	{Rule: model.RulePDB, Cause: model.CauseManyPDBs}:            "change the selectors so that only one of them matches",
	{Rule: model.RuleSpot}:                                       "widen spec.template.spec.requirements of {pool}",
	{Rule: model.RuleSpot, Cause: model.CauseFeatureGate}:        "set feature gate SpotToSpotConsolidation=true",
	{Rule: model.RulePayback}:                                    "raise annotation " + apiv1.PaybackPeriodAnnotationKey + " of {pool}, or lower " + apiv1.EvictionCostAnnotationKey,
	{Rule: model.RulePolicy, Cause: model.CauseNoNodePool}:       "delete the node, or create {pool} again",
	{Rule: model.RulePolicy, Cause: model.CausePaused}:           "unset --pause-disruption and pause-disruption in ConfigMap karpenter-throttle",
	{Rule: model.RulePolicy, Cause: model.CausePoolPaused}:       "remove annotation " + apiv1.DisruptionPausedAnnotationKey + " of {pool}",
	{Rule: model.RulePolicy, Cause: model.CauseNever}:            "set spec.disruption.consolidateAfter of {pool} to a duration",
	{Rule: model.RulePolicy, Cause: model.CauseWhenEmpty}:        "set spec.disruption.consolidationPolicy of {pool} to WhenEmptyOrUnderutilized",
	{Rule: model.RulePolicy, Cause: model.CauseFeatureGate}:      "set feature gate StaticCapacity=true",
}

// noFixes are the texts of Fix for verdicts that no known change makes pass, by rule and cause. Unlike in fixes, the text of a
// rule without a cause does not apply to its causes. An empty text means that there is nothing to say.
var noFixes = map[model.Reason]string{
	{Rule: model.RuleUnsupported}:                               "not implemented; run the pod on nodes that Karpenter does not manage",
	{Rule: model.RuleInvalid, Cause: model.CauseInternal}:       "internal error; please report it with the logs of the controller",
	{Rule: model.RuleInvalid, Cause: model.CauseGate}:           "none needed",
	{Rule: model.RuleInvalid, Cause: model.CauseBackoff}:        "none needed",
	{Rule: model.RuleEffort}:                                    "none needed: planned again in the next round",
	{Rule: model.RuleEffort, Cause: model.CauseOtherNamespaces}: "none needed: planned when these pods run; or select pods of the own namespace only",
	{Rule: model.RulePayback, Cause: model.CauseBalanced}:       "",
}

// Fix returns the change that makes the check pass, as a part of a sentence without a full stop, and true. If no change
// is known, it returns the reason and false. The text is empty for checks that pass later without a change, such as
// RuleRecent.
func Fix(v model.Verdict) (text string, known bool) {
	if v.Hint != "" {
		return v.Hint, true
	}
	if text, ok := noFixes[model.Reason{Rule: v.Rule, Cause: v.Cause}]; ok {
		return text, false
	}
	return v.Text(fixes)
}

// Sentence returns the verdict with its fix in one line, for events: "why (fix: …)", or only "why" if no fix is known.
func Sentence(v model.Verdict) string {
	text, known := Fix(v)
	if !known {
		return v.String()
	}
	return v.String() + " (fix: " + text + ")"
}
