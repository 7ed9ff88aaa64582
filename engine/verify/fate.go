package verify

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// facts are what one type and its offerings say of a list of keys, whatever the shape.
type facts struct {
	// typed is what the type says of each label; nil where it says nothing.
	typed [][]candidate
	// fixed are the labels that each offering sets.
	fixed [][]fixed
}

// A fixed is a label that an offering sets. Where the type speaks too, the offering is the
// more exact.
type fixed struct {
	at    int // in the keys
	label []candidate
}

// factsBy returns the place for facts about these keys.
func (c *checker) factsBy(keys []string) map[*model.InstanceType]*facts {
	text := strings.Join(keys, "\n")
	if c.facts[text] == nil {
		c.facts[text] = make(map[*model.InstanceType]*facts)
	}
	return c.facts[text]
}

// factsOf reads t once for all shapes with the same keys.
func (sh *shape) factsOf(t *model.InstanceType) *facts {
	if f, ok := sh.facts[t]; ok {
		return f
	}
	f := &facts{typed: make([][]candidate, len(sh.keys)), fixed: make([][]fixed, len(t.Offerings))}
	for at, key := range sh.keys {
		f.typed[at] = stated(t, key)
		for i, o := range t.Offerings {
			if label, ok := offered(o, key); ok {
				f.fixed[i] = append(f.fixed[i], fixed{at, []candidate{label}})
			}
		}
	}
	sh.facts[t] = f
	return f
}

// A scratch is memory that is used again for each type of a shape.
type scratch struct {
	unset, set []prospect
	fate       [][]candidate
}

// A prospect is what becomes of one label.
type prospect struct {
	may []candidate
	// out means that the claim rules the offering out, so that another one is bought.
	out bool
	// bad is the rule broken if the offering may be bought and must not be.
	bad *Violation
}

// prospects returns what becomes of each label that the offering does not set. It is valid
// until it is called again.
func (sh *shape) prospects(f *facts) []prospect {
	out := slices.Grow(sh.scratch.unset[:0], len(sh.keys))[:len(sh.keys)]
	sh.scratch.unset = out
	for at, said := range f.typed {
		if said == nil {
			said = sh.undecided[at]
			if sh.given[at].given {
				said = []candidate{sh.given[at]}
			}
		}
		out[at] = sh.prospect(at, said, false)
	}
	return out
}

// fate returns what each label may turn out to be with the i-th offering. It returns nil
// if the claim rules the offering out, and the rule broken if the offering may be bought
// and must not be. It is valid until it is called again.
func (sh *shape) fate(f *facts, unset []prospect, i int) ([][]candidate, *Violation) {
	set := slices.Grow(sh.scratch.set[:0], len(f.fixed[i]))[:len(f.fixed[i])]
	sh.scratch.set = set
	for j, x := range f.fixed[i] {
		if set[j] = sh.prospect(x.at, x.label, true); set[j].out {
			return nil, nil
		}
	}
	fate := slices.Grow(sh.scratch.fate[:0], len(sh.keys))[:len(sh.keys)]
	sh.scratch.fate = fate
	for at := range sh.keys {
		p := &unset[at]
		if j := slices.IndexFunc(f.fixed[i], func(x fixed) bool { return x.at == at }); j >= 0 {
			p = &set[j]
		}
		if p.out || p.bad != nil {
			return nil, p.bad
		}
		fate[at] = p.may
	}
	return fate, nil
}

// prospect returns what becomes of a label of which type, offering or claim say this.
// set means that the offering does.
func (sh *shape) prospect(at int, said []candidate, set bool) prospect {
	may := keep(sh.claim[at], said)
	bad := func(rule Rule, format string, args ...any) prospect {
		return prospect{bad: &Violation{Rule: rule, Detail: fmt.Sprintf(sh.keys[at]+" "+format, args...)}}
	}
	switch label := sh.given[at]; {
	case len(may) == 0 && set:
		return prospect{out: true} // another offering may do
	case len(said) == 0:
		return bad(RuleType, "can have no value, the node's requirements contradict each other")
	case len(may) == 0:
		return bad(RuleType, "is %v, which the node's requirements rule out", said)
	case label.given && !slices.ContainsFunc(said, label.same):
		if sh.launching {
			return prospect{out: true}
		}
		return bad(RulePool, "is %v, but the pool labels its nodes %v", said, label)
	case label.given:
		may = []candidate{label}
	}
	for _, cand := range may {
		if !admitted(sh.pool[at], cand) {
			return bad(RulePool, "may become %v, which the pool's requirements rule out", cand)
		}
	}
	return prospect{may: may}
}

// stated returns what the type says of one label: its values, or that it is missing.
func stated(t *model.InstanceType, key string) []candidate {
	if key == corev1.LabelInstanceTypeStable {
		return []candidate{{value: t.Name}}
	}
	r, ok := t.Requirements.Get(key)
	if !ok {
		return nil
	}
	switch r.Operator() {
	case corev1.NodeSelectorOpIn:
		var out []candidate
		for v := range r.Each() {
			out = append(out, candidate{value: v})
		}
		return out
	case corev1.NodeSelectorOpDoesNotExist:
		return []candidate{{missing: true}}
	}
	return nil
}

// offered returns what the offering says of one label.
func offered(o model.Offering, key string) (candidate, bool) {
	switch key {
	case corev1.LabelTopologyZone:
		return candidate{value: o.Zone}, true
	case apiv1.CapacityTypeLabelKey:
		return candidate{value: o.CapacityType}, true
	}
	r, ok := o.Requirements.Get(key)
	if !ok || r.Operator() != corev1.NodeSelectorOpIn || r.Len() != 1 {
		return candidate{}, false
	}
	v, _ := r.Any()
	return candidate{value: v}, true
}
