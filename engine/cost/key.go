package cost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A Kind is what a part of the price is for.
type Kind string

// The kinds. Every part has one of them.
const (
	Workload Kind = "workload"
	Idle     Kind = "idle"
	Overhead Kind = "overhead"
)

// A Cause says why capacity is idle, or which overhead uses it. Workloads have none.
type Cause string

// The causes of idle capacity. The idle capacity of a node has one cause, except for the part of it that capacity buffers
// reserve: that part has the cause Headroom.
const (
	// Fragmentation is room that is too scattered for the pods of another node, or whose use does not pay for evictions.
	Fragmentation Cause = "fragmentation"
	// NodeSize means that no cheaper instance types hold the pods of the node.
	NodeSize Cause = "node-size"
	// Limit means that the limits of NodePools exclude a cheaper node.
	Limit Cause = "limit"
	// PDB, DoNotDisrupt and Budget block the disruption of the node.
	PDB          Cause = "pdb"
	DoNotDisrupt Cause = "do-not-disrupt"
	Budget       Cause = "budget"
	// ConsolidateAfter means that consolidateAfter of the node has not passed, or that consolidation waits.
	ConsolidateAfter Cause = "consolidate-after"
	// Headroom is room that a CapacityBuffer reserves.
	Headroom Cause = "headroom"
	// Static is a node of a NodePool with a fixed number of nodes.
	Static Cause = "static"
	// Policy means that settings of the NodePool or of the controller exclude disruption.
	Policy Cause = "policy"
	// Starting is a node that is not initialized, or to which pending pods are nominated.
	Starting Cause = "starting"
	// Leaving is a node that is being disrupted.
	Leaving Cause = "leaving"
)

// The causes of overhead.
const (
	// Reserved is capacity that is not allocatable: kubelet and system.
	Reserved Cause = "reserved"
	// DaemonSets is the share of DaemonSet pods and static pods.
	DaemonSets Cause = "daemonsets"
)

// A Key identifies what a part of the price is paid for, and where. Namespace, Owner and Label are those of the pods. They
// are empty for idle and reserved capacity.
type Key struct {
	Kind         Kind
	Pool         string
	CapacityType string
	Zone         string
	Namespace    string
	// Owner is kind and name of the workload, such as Deployment/web.
	Owner string
	// Label is the value of the pod label whose key is Input.Label.
	Label string
	Cause Cause
}

// Compare orders keys by their fields.
func (k Key) Compare(l Key) int {
	return cmp.Or(
		strings.Compare(string(k.Kind), string(l.Kind)), strings.Compare(k.Pool, l.Pool),
		strings.Compare(k.CapacityType, l.CapacityType), strings.Compare(k.Zone, l.Zone),
		strings.Compare(k.Namespace, l.Namespace), strings.Compare(k.Owner, l.Owner),
		strings.Compare(k.Label, l.Label), strings.Compare(string(k.Cause), string(l.Cause)),
	)
}

// CauseOf returns the cause of idle capacity of a node that disruption keeps with the verdict, Fragmentation by default.
func CauseOf(v model.Verdict) Cause {
	if v.Rule == model.RulePolicy && (v.Cause == model.CauseStatic || v.Cause == model.CauseSurplus) {
		return Static
	}
	return cmp.Or(causeOf[v.Rule], Fragmentation)
}

var causeOf = map[model.Rule]Cause{
	model.RulePDB:        PDB,
	model.RuleAnnotation: DoNotDisrupt,
	model.RuleBudget:     Budget,
	model.RuleRecent:     ConsolidateAfter,
	model.RuleBuffer:     Headroom,
	model.RuleLimit:      Limit,
	model.RulePrice:      NodeSize,
	model.RuleSpot:       NodeSize,
	model.RuleNotReady:   Starting,
	model.RuleNominated:  Starting,
	model.RuleDisrupted:  Leaving,
	model.RulePolicy:     Policy,
	model.RuleUnhealthy:  Policy,
}

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

// OwnerOf returns the workload of the pod as Kind/name. The Deployment of a ReplicaSet and the CronJob of a Job are derived
// from the name, because these controllers append a hash or a number to their own name. A pod without a controller is
// its own owner.
func OwnerOf(p *model.Pod) string {
	o := p.Owner()
	if o == nil {
		return "Pod/" + p.Object.Name
	}
	switch o.Kind {
	case "ReplicaSet":
		hash := p.Object.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		if name, ok := strings.CutSuffix(o.Name, "-"+hash); ok && hash != "" && name != "" {
			return "Deployment/" + name
		}
	case "Job":
		if i := strings.LastIndexByte(o.Name, '-'); i > 0 && scheduledTime(o.Name[i+1:]) {
			return "CronJob/" + o.Name[:i]
		}
	}
	return o.Kind + "/" + o.Name
}

// scheduledTime reports whether the text is the suffix of a Job of a CronJob: the scheduled time in minutes since 1970.
func scheduledTime(text string) bool {
	return len(text) == 8 && strings.Trim(text, "0123456789") == ""
}
