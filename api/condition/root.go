package condition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// updateRoot recomputes the root condition from its dependents and reports
// whether it changed.
func updateRoot(o Object, now time.Time) (changed bool) {
	root := summary(o)
	root.ObservedGeneration = o.GetGeneration()
	root.LastTransitionTime = metav1.NewTime(now)
	return put(o, root)
}

// summary returns the root condition that follows from the dependents: True
// if all are True for the current generation, False if one is False, else
// Unknown. Its reason is AwaitingReconciliation while no dependent is set.
func summary(o Object) metav1.Condition {
	types := o.StatusConditions()
	unhealthy := unhealthyDependents(o)
	root := metav1.Condition{Type: types.Root}
	switch {
	case len(unhealthy) == 0:
		root.Status, root.Reason = metav1.ConditionTrue, types.Root
		return root
	case untouched(o):
		root.Status = metav1.ConditionUnknown
		root.Reason = ReasonAwaitingReconciliation
		root.Message = awaitingMessage
		return root
	}
	root.Status, root.Reason = metav1.ConditionUnknown, ReasonUnhealthyDependents
	said := make([]string, 0, len(unhealthy))
	for _, c := range unhealthy {
		if c.Status == metav1.ConditionFalse {
			root.Status = metav1.ConditionFalse
		}
		said = append(said, describe(o, c))
	}
	root.Message = strings.Join(said, ", ")
	return root
}

// unhealthyDependents lists, in the order of Types.Dependents, those that are
// not True or were set for another generation. A missing one is Unknown.
func unhealthyDependents(o Object) []metav1.Condition {
	var list []metav1.Condition
	for _, t := range o.StatusConditions().Dependents {
		c := Get(o, t)
		if c == nil {
			c = &metav1.Condition{Type: t, Status: metav1.ConditionUnknown}
		}
		if c.Status != metav1.ConditionTrue || c.ObservedGeneration != o.GetGeneration() {
			list = append(list, *c)
		}
	}
	return list
}

// untouched reports whether no dependent was ever set.
func untouched(o Object) bool {
	return !slices.ContainsFunc(o.StatusConditions().Dependents, func(t string) bool {
		c := Get(o, t)
		return c != nil && c.Reason != ReasonAwaitingReconciliation
	})
}

// describe names an unhealthy dependent for the message of the root.
func describe(o Object, c metav1.Condition) string {
	if c.Status == metav1.ConditionTrue {
		return fmt.Sprintf("%s=True was observed at generation %d, current generation is %d",
			c.Type, c.ObservedGeneration, o.GetGeneration())
	}
	return fmt.Sprintf("%s=%s", c.Type, c.Status)
}
