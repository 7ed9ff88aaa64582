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
	// ReservedCapacity uses capacity that is reserved and paid for. On by default.
	ReservedCapacity bool
	// SpotToSpotConsolidation replaces spot nodes by cheaper spot nodes. Off by default.
	SpotToSpotConsolidation bool
	// NodeOverlay lets NodeOverlays change prices and capacities. Off by default.
	NodeOverlay bool
	// StaticCapacity allows pools with a fixed number of nodes. Off by default.
	StaticCapacity bool
	// CapacityBuffer keeps room for pods to come. Off by default.
	CapacityBuffer bool
	// TerminateFirstDrift ends a drifted node before its replacement is launched, if only its own capacity is left for that. Off
	// by default.
	TerminateFirstDrift bool
	// TerminateFirstRepair does the same for nodes to be repaired. Off by default.
	TerminateFirstRepair bool
	// PodDeletionCostManagement writes controller.kubernetes.io/pod-deletion-cost, so that ReplicaSets scale in on the nodes
	// that are to go first. Off by default.
	PodDeletionCostManagement bool
}

// DefaultFeatureGates are the gates of which nothing is said.
func DefaultFeatureGates() FeatureGates { return FeatureGates{ReservedCapacity: true} }

// byName gives access to the gates by their names.
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

// ParseFeatureGates reads gates such as "NodeRepair=true,NodeOverlay=false" over the defaults. The last value of a gate
// holds. An unknown gate is an error that suggests the nearest known one. If it is switched off it is only a warning, since
// a manifest may list gates of older or newer versions. A value that is not a boolean is an error, and its gate keeps its
// previous value.
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

// nearestGate returns the gate that differs from name in the fewest letters; of equals, the first of the alphabet.
func nearestGate(name string) string {
	var gates FeatureGates
	names := make([]string, 0, len(gates.byName()))
	for n := range gates.byName() {
		names = append(names, n)
	}
	slices.Sort(names)
	return slices.MinFunc(names, func(a, b string) int { return edits(name, a) - edits(name, b) })
}

// edits is how many letters must be added, taken away or replaced to turn a into b. Case does not count.
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
