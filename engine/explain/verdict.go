package explain

import (
	"fmt"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// Fix returns the change that makes the check pass, as a part of a sentence without a full stop, and true. If no change
// is known, it returns the reason and false. The text is empty for checks that pass later without a change, such as
// RuleRecent.
func Fix(v model.Verdict) (text string, known bool) {
	if v.Hint != "" {
		return v.Hint, true
	}
	switch v.Rule {
	case model.RuleNoPool:
		return "create a NodePool", true
	case model.RulePool:
		switch v.Cause {
		case model.CauseDeleting:
			return "add a NodePool that admits the pod", true
		case model.CauseStatic:
			return "add a NodePool without spec.replicas", true
		}
		return "see the conditions of the NodePool", true
	case model.RuleUnsupported:
		return "not implemented; run the pod on nodes that Karpenter does not manage", false
	case model.RuleInvalid:
		switch v.Cause {
		case model.CauseInternal:
			return "internal error; please report it with the logs of the controller", false
		case model.CauseNone:
			return "change the constraints of the pod", true
		}
		return "none needed", false
	case model.RuleOversized:
		return fmt.Sprintf("lower the %s that the containers request", v.Resource), true
	case model.RuleTaint:
		return "add a toleration to the pod", true
	case model.RuleLabels:
		return "change the nodeSelector or node affinity of the pod", true
	case model.RuleResources:
		return "request " + units.Measure(v.Resource, v.By, units.Up) + " less", true
	case model.RuleShape:
		return "request less, or allow more instance types in the NodePool", true
	case model.RulePorts:
		return "use another hostPort in the pod", true
	case model.RuleTopology:
		return fixTopology(v), true
	case model.RuleOffering:
		return "allow more zones, capacity types or instance types in the NodePool", true
	case model.RuleVolume:
		return "change the volumes, nodeSelector or node affinity of the pod", true
	case model.RuleLimit:
		return fmt.Sprintf("raise spec.limits.%s of the NodePool by at least %s", v.Resource, units.Amount(v.Resource, v.By, units.Up)), true
	case model.RuleMinValues:
		return "lower minValues of " + v.Key + ", allow more values, or set --min-values-policy=BestEffort", true
	}
	return fixNode(v)
}

// fixTopology returns the fix of RuleTopology.
func fixTopology(v model.Verdict) string {
	switch v.Cause {
	case model.CauseSpread:
		return "allow more values of " + v.Key + ", or set whenUnsatisfiable: ScheduleAnyway"
	case model.CauseAffinity:
		return "create pods that match the labelSelector of the affinity first, or use preferredDuringSchedulingIgnoredDuringExecution"
	case model.CauseAntiAffinity, model.CauseOthersAffinity:
		return "allow more values of " + v.Key + ", or use preferredDuringSchedulingIgnoredDuringExecution"
	case model.CauseDaemonSpread:
		return "exclude pods of " + v.Subject + " by the labelSelector of the constraint"
	}
	return "exclude pods of " + v.Subject + " by the labelSelectors of the constraints"
}

// fixNode returns the fix of the rules about nodes.
func fixNode(v model.Verdict) (text string, known bool) {
	switch v.Rule {
	case model.RuleEffort:
		if v.Cause != model.CauseNextPass {
			return "none needed: planned again in the next round", false
		}
	case model.RuleAnnotation:
		return "remove the annotation", true
	case model.RuleUnhealthy:
		return fixUnhealthy(v)
	case model.RulePDB:
		if v.Cause == model.CauseManyPDBs {
			return "change the selectors so that only one of them matches", true
		}
		return "run more replicas than the PodDisruptionBudget needs", true
	case model.RuleSpot:
		if v.Cause == model.CauseFeatureGate {
			return "set feature gate SpotToSpotConsolidation=true", true
		}
		return fmt.Sprintf("widen spec.template.spec.requirements of NodePool %q", v.Key), true
	case model.RulePayback:
		if v.Cause != model.CauseBalanced {
			return fmt.Sprintf("raise annotation %s of NodePool %q, or lower %s", apiv1.PaybackPeriodAnnotationKey, v.Key,
				apiv1.EvictionCostAnnotationKey), true
		}
	case model.RulePolicy:
		return fixPolicy(v)
	}
	return "", false
}

// fixUnhealthy returns the fix of RuleUnhealthy.
func fixUnhealthy(v model.Verdict) (text string, known bool) {
	switch v.Cause {
	case model.CauseDoNotRepair:
		return "remove the annotation", true
	case model.CauseNoDrainBound:
		return "move the pod away, or set spec.template.spec.terminationGracePeriod of the NodePool for future nodes", true
	}
	return "find the common cause of the unhealthy nodes", true
}

// fixPolicy returns the fix of RulePolicy.
func fixPolicy(v model.Verdict) (text string, known bool) {
	switch v.Cause {
	case model.CauseNoNodePool:
		return fmt.Sprintf("delete the node, or create NodePool %q again", v.Key), true
	case model.CausePaused:
		return "unset --pause-disruption and pause-disruption in ConfigMap karpenter-throttle", true
	case model.CausePoolPaused:
		return fmt.Sprintf("remove annotation %s of NodePool %q", apiv1.DisruptionPausedAnnotationKey, v.Key), true
	case model.CauseNever:
		return fmt.Sprintf("set spec.disruption.consolidateAfter of NodePool %q to a duration", v.Key), true
	case model.CauseWhenEmpty:
		return fmt.Sprintf("set spec.disruption.consolidationPolicy of NodePool %q to WhenEmptyOrUnderutilized", v.Key), true
	case model.CauseFeatureGate:
		return "set feature gate StaticCapacity=true", true
	}
	return "", false
}

// Sentence returns the verdict with its fix in one line, for events: "why (fix: …)", or only "why" if no fix is known.
func Sentence(v model.Verdict) string {
	text, known := Fix(v)
	if !known {
		return v.String()
	}
	return v.String() + " (fix: " + text + ")"
}

// Advice returns Fix as it is shown: "fix: …" or "no fix: …". It is empty if the text of Fix is empty.
func Advice(v model.Verdict) string {
	text, known := Fix(v)
	switch {
	case text == "":
		return ""
	case known:
		return "fix: " + text
	}
	return "no fix: " + text
}
