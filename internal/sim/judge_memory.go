package sim

import (
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

const (
	// remembered is for how long the operator may remember an object that was deleted.
	remembered = time.Hour
	// census is how often the entries of maps and slices are counted.
	census = 10 * time.Minute
	// A map may have as many entries as at the first census at which it was not empty, plus perObject entries for each
	// object that exists or was deleted within the time remembered, plus spare entries.
	perObject, spare = 4, 300
)

// more has the maps and slices with another bound than perObject. A negative number means no bound.
var more = map[string]int{
	// The series of a Node: one for each resource and kind.
	"internal/controller/metrics/series.written[]": 16,
	// The instance types in the requirements of a NodeClaim.
	"api/v1/NodeSelectorRequirementWithMinValues.Values": 100,
	// A history of five minutes, hours and days, in which the number of keys is bounded.
	"internal/ledger/Bucket.Dollars": -1,
	// The log keeps at most 1,000 episodes and 4 MiB of them. Long episodes replace short ones in the course of a day.
	"internal/decisions/Episode.Refused": -1, "internal/decisions/Episode.Effects": -1,
	"internal/decisions/Episode.Launches": -1, "internal/decisions/Episode.Removals": -1, "internal/decisions/Episode.Pools": -1,
}

// memoryRules report maps, slices and channels of the operator's replicas that have more entries than their limit, see
// perObject. They find state that is never removed.
type memoryRules struct {
	*judge
	ended []time.Time // when objects were deleted, within the last hour
	next  time.Time
	first map[*replica]map[string]int // the first number of entries of each map or slice, by replica
}

func newMemoryRules(j *judge) memoryRules {
	return memoryRules{judge: j, next: j.began.Add(census), first: map[*replica]map[string]int{}}
}

// written counts deleted objects.
func (m *memoryRules) written(after client.Object) {
	if after == nil {
		m.ended = append(m.ended, time.Now())
	}
}

// look counts the entries of all replicas. All goroutines of replicas are blocked meanwhile.
func (m *memoryRules) look() {
	now := time.Now()
	if now.Before(m.next) {
		return
	}
	m.next = now.Add(census)
	for len(m.ended) > 0 && now.Sub(m.ended[0]) > remembered {
		m.ended = m.ended[1:]
	}
	objects := len(m.ended)
	for _, n := range []int{
		len(kubeapi.List[*corev1.Pod](m.world.platform.server)), len(m.world.platform.nodes()), len(m.world.platform.claims()),
	} {
		objects += n
	}
	for _, r := range m.world.processes.running() {
		counts := entriesOf(r.state)
		if m.first[r] == nil {
			m.first[r] = counts
			continue
		}
		for name, n := range counts {
			each, ok := more[name]
			if !ok {
				each = perObject
			}
			first := m.first[r][name]
			if first == 0 { // some maps are filled only when they are first used
				m.first[r][name] = n
				continue
			}
			if each >= 0 && n > first+each*objects+spare {
				m.violate(ruleMemory, "%s of %s has %d entries, %d at the first census, and there are %d objects", name, r.link.name, n, first, objects)
			}
		}
	}
}

// module is the path of the packages whose state is counted.
const module = "github.com/karpenter-go/karpenter/"

// entriesOf returns the number of entries of all maps, slices and channels that can be reached from the roots, by type and
// field. Bytes are not counted. Only fields of structs of this module are followed, except those of engine, which are
// immutable values, and those of internal/sim.
func entriesOf(roots []any) map[string]int {
	w := walk{counts: map[string]int{}, seen: map[visit]bool{}}
	for _, root := range roots {
		w.value("", reflect.ValueOf(root))
	}
	return w.counts
}

// A visit is an object at an address.
type visit struct {
	at uintptr
	of reflect.Type
}

// A walk counts entries.
type walk struct {
	counts map[string]int
	seen   map[visit]bool
}

// value counts the entries of a value and of all that it refers to. The name is that of the field.
func (w *walk) value(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		w.value(name, v.Elem())
	case reflect.Pointer:
		if v.IsNil() || w.again(v) {
			return
		}
		w.value(name, v.Elem())
	case reflect.Struct:
		w.fields(v)
	case reflect.Map:
		if v.IsNil() || w.again(v) {
			return
		}
		w.counts[name] += v.Len()
		if !refers(v.Type().Elem()) {
			return
		}
		for each := v.MapRange(); each.Next(); {
			w.value(name+"[]", each.Value())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 || v.IsNil() || w.again(v) {
			return
		}
		w.counts[name] += v.Len()
		if !refers(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			w.value(name+"[]", v.Index(i))
		}
	case reflect.Chan:
		w.counts[name] += v.Len()
	}
}

// fields counts the entries of the fields of a struct.
func (w *walk) fields(v reflect.Value) {
	t := v.Type()
	path := t.PkgPath() + "/"
	if !strings.HasPrefix(path, module) || strings.HasPrefix(path, module+"engine/") || strings.HasPrefix(path, module+"internal/sim/") {
		return
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	for i := range v.NumField() {
		w.value(strings.TrimPrefix(path, module)+name+"."+t.Field(i).Name, v.Field(i))
	}
}

// again reports whether the object was visited before.
func (w *walk) again(v reflect.Value) bool {
	k := visit{v.Pointer(), v.Type()}
	before := w.seen[k]
	w.seen[k] = true
	return before
}

// refers reports whether values of a type may refer to others.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Struct, reflect.Map, reflect.Slice, reflect.Chan:
		return true
	}
	return false
}
