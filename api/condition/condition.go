package condition

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReasonAwaitingReconciliation is the reason of a dependent or root that no
// controller has set yet.
const ReasonAwaitingReconciliation = "AwaitingReconciliation"

// awaitingMessage is the message of conditions with ReasonAwaitingReconciliation.
const awaitingMessage = "object is awaiting reconciliation"

// ReasonUnhealthyDependents is the reason of a root that is not True.
const ReasonUnhealthyDependents = "UnhealthyDependents"

// Types names the conditions on which the readiness of an object depends. Other
// conditions are independent: they may be absent, and may be cleared.
type Types struct {
	// Root summarizes the dependents. By convention it is "Ready".
	Root string
	// Dependents must all be True for the root to be True.
	Dependents []string
}

// Object is an API object with status conditions.
type Object interface {
	metav1.Object
	// GetConditions returns the stored list; callers must not change it.
	GetConditions() []metav1.Condition
	// SetConditions replaces the stored list.
	SetConditions([]metav1.Condition)
	// StatusConditions names the root and its dependents.
	StatusConditions() Types
}

// Get returns the condition of type t, or nil if the object has none. The
// result is a copy.
func Get(o Object, t string) *metav1.Condition {
	if c := find(o, t); c != nil {
		found := *c
		return &found
	}
	return nil
}

// find returns the condition of type t in the object's own list, or nil if the object has none.
func find(o Object, t string) *metav1.Condition {
	list := o.GetConditions()
	for i := range list {
		if list[i].Type == t {
			return &list[i]
		}
	}
	return nil
}

// IsTrue reports whether every one of the types is present and True. It does
// not look at the observed generation.
func IsTrue(o Object, types ...string) bool {
	for _, t := range types {
		if c := find(o, t); c == nil || c.Status != metav1.ConditionTrue {
			return false
		}
	}
	return true
}

// Ready reports whether the root condition is True for the current generation
// of the object. If the kind has no dependents, readiness does not depend on
// the spec, so the generation is not compared.
func Ready(o Object) bool {
	types := o.StatusConditions()
	root := find(o, types.Root)
	return root != nil && root.Status == metav1.ConditionTrue &&
		(len(types.Dependents) == 0 || root.ObservedGeneration == o.GetGeneration())
}

// Cause returns why the root of o is not True: the message of the first dependent that is False and has one, otherwise that of
// the root.
func Cause(o Object) string {
	types := o.StatusConditions()
	for _, t := range types.Dependents {
		if c := find(o, t); c != nil && c.Status == metav1.ConditionFalse && c.Message != "" {
			return c.Message
		}
	}
	if root := find(o, types.Root); root != nil {
		return root.Message
	}
	return ""
}

// Initialize adds missing dependents and a missing root with the status
// Unknown, and recomputes the root. The transition time of an added condition
// is the creation of the object, or now if the object is not created yet.
// Initialize reports whether anything changed.
func Initialize(o Object, now time.Time) (changed bool) {
	changed = addMissing(o, now)
	return updateRoot(o, now) || changed
}

// addMissing adds missing dependents and a missing root, as Initialize describes.
func addMissing(o Object, now time.Time) (changed bool) {
	types := o.StatusConditions()
	since := o.GetCreationTimestamp()
	if since.IsZero() {
		since = metav1.NewTime(now)
	}
	for _, t := range append(slices.Clone(types.Dependents), types.Root) {
		if find(o, t) != nil {
			continue
		}
		changed = put(o, metav1.Condition{
			Type:               t,
			Status:             metav1.ConditionUnknown,
			Reason:             ReasonAwaitingReconciliation,
			Message:            awaitingMessage,
			ObservedGeneration: o.GetGeneration(),
			LastTransitionTime: since,
		}) || changed
	}
	return changed
}

// SetTrue sets type t to True with the type's name as reason.
func SetTrue(o Object, t string, now time.Time) (changed bool) {
	return SetTrueWithReason(o, t, t, "", now)
}

// SetTrueWithReason sets type t to True.
func SetTrueWithReason(o Object, t, reason, message string, now time.Time) (changed bool) {
	return Set(o, metav1.Condition{
		Type: t, Status: metav1.ConditionTrue, Reason: reason, Message: message,
	}, now)
}

// SetFalse sets type t to False.
func SetFalse(o Object, t, reason, message string, now time.Time) (changed bool) {
	return Set(o, metav1.Condition{
		Type: t, Status: metav1.ConditionFalse, Reason: reason, Message: message,
	}, now)
}

// SetUnknown sets type t to Unknown.
func SetUnknown(o Object, t, reason, message string, now time.Time) (changed bool) {
	return Set(o, metav1.Condition{
		Type: t, Status: metav1.ConditionUnknown, Reason: reason, Message: message,
	}, now)
}

// Set stores c with the generation of the object, recomputes the root, and
// reports whether anything changed. The transition time is now if the status is
// new or has changed, else it is kept. The generation and the time in c are
// ignored. If c.Type is the root, c is not stored. Missing conditions are added
// as by Initialize.
func Set(o Object, c metav1.Condition, now time.Time) (changed bool) {
	changed = addMissing(o, now)
	if c.Type != o.StatusConditions().Root {
		c.ObservedGeneration = o.GetGeneration()
		c.LastTransitionTime = metav1.NewTime(now)
		changed = put(o, c) || changed
	}
	return updateRoot(o, now) || changed
}

// CopyChanged compares two versions of an object: was, the earlier one, and is, the later one. It
// sets in the object to each condition that was lacks or that differs between the two. The other
// conditions of to are not changed, except for the root, which is recomputed.
func CopyChanged(to, was, is Object) {
	for _, c := range is.GetConditions() {
		if old := find(was, c.Type); old == nil || *old != c {
			Set(to, c, c.LastTransitionTime.Time)
		}
	}
}

// Clear removes the conditions of the given types and reports whether any
// existed. It does not remove the root and the dependents, because an object
// without them would look as if no controller had reconciled it.
func Clear(o Object, types ...string) (changed bool) {
	known := o.StatusConditions()
	kept := slices.DeleteFunc(slices.Clone(o.GetConditions()), func(c metav1.Condition) bool {
		return slices.Contains(types, c.Type) && c.Type != known.Root &&
			!slices.Contains(known.Dependents, c.Type)
	})
	if len(kept) == len(o.GetConditions()) {
		return false
	}
	o.SetConditions(kept)
	return true
}

// put stores c in the list, sorted by type with the root last. It keeps the old
// transition time if the status did not change, and reports whether the list
// changed.
func put(o Object, c metav1.Condition) (changed bool) {
	if old := find(o, c.Type); old != nil {
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		if *old == c {
			return false
		}
	}
	root := o.StatusConditions().Root
	list := slices.DeleteFunc(slices.Clone(o.GetConditions()), func(old metav1.Condition) bool {
		return old.Type == c.Type
	})
	list = append(list, c)
	slices.SortStableFunc(list, func(a, b metav1.Condition) int {
		if (a.Type == root) != (b.Type == root) {
			if a.Type == root {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Type, b.Type)
	})
	o.SetConditions(list)
	return true
}
