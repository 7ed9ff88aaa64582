package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FeatureGates are features that can be switched off or on.
type FeatureGates struct {
	// NodeRepair replaces or reboots nodes whose conditions report a failure. Off by default.
	NodeRepair bool
	// ReservedCapacity allows launches in capacity reservations. On by default.
	ReservedCapacity bool
	// SpotToSpotConsolidation replaces spot nodes by cheaper spot nodes. Off by default.
	SpotToSpotConsolidation bool
	// NodeOverlay lets NodeOverlays change prices and capacities. Off by default.
	NodeOverlay bool
	// StaticCapacity enables static NodePools, which have a fixed number of nodes. Off by default.
	StaticCapacity bool
	// CapacityBuffer enables CapacityBuffers, which keep free capacity for future pods. Off by default.
	CapacityBuffer bool
	// TerminateFirstDrift allows a drifted node to be terminated before its replacement is launched, if only its own
	// capacity is left for the replacement. Off by default.
	TerminateFirstDrift bool
	// TerminateFirstRepair allows the same for unhealthy nodes. Off by default.
	TerminateFirstRepair bool
	// PodDeletionCostManagement writes the annotation controller.kubernetes.io/pod-deletion-cost, so that ReplicaSets
	// that scale in delete pods on nodes that can then be removed. Off by default.
	PodDeletionCostManagement bool
}

// DefaultFeatureGates returns the defaults of all gates.
func DefaultFeatureGates() FeatureGates { return FeatureGates{ReservedCapacity: true} }

// byName returns pointers to the gates by name.
func (g *FeatureGates) byName() map[string]*bool {
	return map[string]*bool{
		"NodeRepair":                &g.NodeRepair,
		"ReservedCapacity":          &g.ReservedCapacity,
		"SpotToSpotConsolidation":   &g.SpotToSpotConsolidation,
		"NodeOverlay":               &g.NodeOverlay,
		"StaticCapacity":            &g.StaticCapacity,
		"CapacityBuffer":            &g.CapacityBuffer,
		"TerminateFirstDrift":       &g.TerminateFirstDrift,
		"TerminateFirstRepair":      &g.TerminateFirstRepair,
		"PodDeletionCostManagement": &g.PodDeletionCostManagement,
	}
}

// ParseFeatureGates parses gates such as "NodeRepair=true,NodeOverlay=false". Other gates have their defaults. If a gate is
// listed twice, the last value is used. An unknown gate with the value false is a warning, because a manifest may list
// gates of other versions. An unknown gate with another value is an error. Both suggest the most similar known gate. If the
// value of a known gate is not a boolean, it is an error, and the gate keeps its previous value.
func ParseFeatureGates(text string) (gates FeatureGates, warnings []string, err error) {
	gates = DefaultFeatureGates()
	known := gates.byName()
	var errs []error
	for _, part := range splitPaths(text) {
		name, value, _ := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		on, parseErr := strconv.ParseBool(value)
		switch {
		case known[name] == nil && parseErr == nil && !on:
			warnings = append(warnings, unknownGate(name))
		case known[name] == nil:
			errs = append(errs, errors.New(unknownGate(name)))
		case parseErr != nil:
			errs = append(errs, fmt.Errorf("%s=%q is not a boolean: use true or false", name, value))
		default:
			*known[name] = on
		}
	}
	return gates, warnings, errors.Join(errs...)
}

func unknownGate(name string) string {
	return fmt.Sprintf("unknown feature gate %q, did you mean %s?", name, nearestGate(name))
}

// nearestGate returns the gate with the smallest edit distance to name, the first in alphabetical order of equal ones.
func nearestGate(name string) string {
	var gates FeatureGates
	names := make([]string, 0, len(gates.byName()))
	for n := range gates.byName() {
		names = append(names, n)
	}
	slices.Sort(names)
	return slices.MinFunc(names, func(a, b string) int { return edits(name, a) - edits(name, b) })
}

// edits returns the edit distance (Levenshtein) of a and b, ignoring case.
func edits(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
