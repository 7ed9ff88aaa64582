package cost

import (
	"fmt"
	"slices"
	"strings"
)

// A Field is a property by which parts are added up.
type Field string

// The fields. Parts for idle and reserved capacity have no namespace, owner or label.
const (
	ByPool         Field = "pool"
	ByCapacityType Field = "capacity-type"
	ByZone         Field = "zone"
	ByNamespace    Field = "namespace"
	ByOwner        Field = "owner"
	ByLabel        Field = "label"
)

// Fields returns all fields in the order of Key.
func Fields() []Field {
	return []Field{ByPool, ByCapacityType, ByZone, ByNamespace, ByOwner, ByLabel}
}

// ParseFields parses a list of fields that are separated by commas. An unknown or repeated field is an error.
func ParseFields(text string) ([]Field, error) {
	var out []Field
	for name := range strings.SplitSeq(text, ",") {
		f := Field(strings.TrimSpace(name))
		if !slices.Contains(Fields(), f) {
			return nil, fmt.Errorf("unknown key %q, use %s", name, join(Fields()))
		}
		if slices.Contains(out, f) {
			return nil, fmt.Errorf("key %q is given twice", name)
		}
		out = append(out, f)
	}
	return out, nil
}

func join(fields []Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}

// Of returns the value of the field in k. The owner includes the namespace, since names are unique only in it.
func (f Field) Of(k Key) string {
	switch f {
	case ByPool:
		return k.Pool
	case ByCapacityType:
		return k.CapacityType
	case ByZone:
		return k.Zone
	case ByNamespace:
		return k.Namespace
	case ByOwner:
		if k.Owner == "" {
			return ""
		}
		return k.Namespace + "/" + k.Owner
	}
	return k.Label
}

// OfNodes reports whether the field is a property of nodes. Parts for idle capacity (Kind Idle), and for what kubelet and
// system reserve (Cause Reserved), have a value of such a field, too.
func (f Field) OfNodes() bool { return f == ByPool || f == ByCapacityType || f == ByZone }
