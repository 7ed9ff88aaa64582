package pack

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A class is a set of pods that are the same to the scheduler: what holds for one holds for all.
type class struct {
	*creed
	// pods are in key order; those before next are placed or dealt to a lot.
	pods []*model.Pod
	next int
	// promised are further pods, which are placed where they were told to go.
	promised []*model.Pod
	need     *need
	lots     []*lot // of its pods alone
	// text is what the pods are, as bytes: it orders classes that are alike in size, whatever their names.
	text string
	// refusal is set when no node could ever do, why when limits left none in an earlier attempt.
	refusal model.Verdict
	why     []model.PoolVerdict
}

// A creed is what pods ask for besides amounts of resources. Classes that ask for the same, and are the same to all others,
// share one.
type creed struct {
	// pod is one of them.
	pod *model.Pod
	// stages are what the pods ask for, with fewer preferences from one to the next; the last has none left.
	stages []stage
	// strict is what node selector and required affinity ask, without volumes and preferences: spread counts only such nodes.
	strict *alternatives
	// rules are what the pods ask of other pods, ports the host ports, attach the drivers of their volumes.
	rules  []topology.Rule
	ports  []port
	attach map[string]bool
	// members are the groups that count these pods. Nobody insists on anything about free pods, nor do they about others.
	members  []int
	onHost   []int // those of members about single nodes, once somebody asked
	free     bool
	priority int32
	// impossible is set when no node could ever do.
	impossible model.Verdict
}

func (c *class) left() int { return len(c.pods) - c.next }

// turn is when a class is placed: first those that take others with them to their node, last those that go where others are.
func (c *class) turn() int {
	turn := 1
	for i := range c.rules {
		if r := &c.rules[i]; r.Kind == topology.Near && !r.Soft {
			if r.Term.Key == corev1.LabelHostname {
				return 0
			}
			turn = 2
		}
	}
	return turn
}

// take returns the next n pods and counts them as placed.
func (c *class) take(n int) []*model.Pod {
	pods := c.pods[c.next : c.next+n]
	c.next += n
	return pods
}

// A need is what one pod asks for. Classes that ask for the same share one.
type need struct {
	id     int
	amount []int64   // by column
	cargo  cargo     // beside it
	scaled []float64 // all of it, in units near one
}

// alternatives are label requirements of which a node must meet one. Classes that ask for the same share one.
type alternatives struct {
	id    int
	terms []require.Set
	turns []*alternatives // the same with each term first, once somebody asked
}

// A tolerance is a set of tolerations, shared like the others. A patient one also bears PreferNoSchedule.
type tolerance struct {
	id      int
	list    []corev1.Toleration
	patient bool
	also    *tolerance // of another pod that goes to the same node
}

// A classifier groups pods.
type classifier struct {
	*problem
	asks   map[string]int // what a pod asks for, without amounts
	creeds map[[2]int]*creed
	marks  map[string]int // namespace and the labels that some term looks at
	made   store[class]
}

// A spec is what a pod asks for, its labels aside.
type spec struct {
	text string
	ask  int
	need *need
}

// An ask is what specs have in common that differ in amounts: what it asks of other pods, and the first pod that does.
type ask struct {
	rules []topology.Rule
	first *model.Pod
}

// classify groups pods, highest priority first, then largest: by cpu, memory, then key of the first pod. Larger pods are
// placed first because small ones fill the gaps they leave.
func (p *problem) classify(pods []*model.Pod) {
	c := &classifier{problem: p, asks: map[string]int{}, creeds: map[[2]int]*creed{}, marks: map[string]int{"": 0}}
	told := tellApart(len(pods), func() writer {
		s := signer{problem: p, amounts: map[uintptr]string{}}
		return func(b []byte, i int) ([]byte, int) { return s.sign(b, pods[i]) }
	})
	specs := make([]spec, len(told.texts))
	var asks []ask
	for id, text := range told.texts {
		pod, key := pods[told.firsts[id]], text[told.places[id]:]
		n, ok := c.asks[key]
		if !ok {
			n = len(asks)
			c.asks[key] = n
			asks = append(asks, ask{rules: c.read(pod), first: pod})
		}
		specs[id] = spec{text: text, ask: n, need: c.needOf(pod)}
	}
	seen := told
	if p.book.Len() > 0 {
		looked := p.book.Keys()
		seen = tellApart(len(pods), func() writer {
			return func(b []byte, i int) ([]byte, int) {
				b = putInt(b, int64(told.of[i]))
				return putSeen(b, pods[i].Object, looked), len(b)
			}
		})
	}
	p.classes = make([]*class, len(seen.texts))
	for id, first := range seen.firsts {
		pod, s, mark := pods[first], &specs[told.of[first]], 0
		if seen != told {
			mark = c.markOf(seen.texts[id][seen.places[id]:])
		}
		p.classes[id] = c.newClass(pod, s, c.creedOf(pod, s.ask, mark, &asks[s.ask]))
	}
	p.enrol(pods, seen.of)
	p.sortClasses()
}

// enrol gives each class its pods; of has the number of the class of each.
func (p *problem) enrol(pods []*model.Pod, of []int) {
	ends := make([]int, len(p.classes))
	for _, id := range of {
		ends[id]++
	}
	at := 0
	for id, n := range ends {
		ends[id] = at
		at += n
	}
	list := make([]*model.Pod, len(pods))
	for i, id := range of {
		list[ends[id]] = pods[i]
		ends[id]++
	}
	at = 0
	for id, c := range p.classes {
		c.pods = list[at:ends[id]:ends[id]]
		at = ends[id]
	}
}

// sortClasses puts the classes into the order in which they are placed.
func (p *problem) sortClasses() {
	type entry struct {
		*class
		priority    int32
		turn        int
		cpu, memory int64
		text        string
	}
	entries := make([]entry, len(p.classes))
	for i, c := range p.classes {
		entries[i] = entry{class: c, priority: c.priority, turn: c.turn(), text: c.text}
		for r, v := range c.need.amount {
			switch p.cols[r] {
			case corev1.ResourceCPU:
				entries[i].cpu = v
			case corev1.ResourceMemory:
				entries[i].memory = v
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		switch {
		case a.priority != b.priority:
			return cmp.Compare(b.priority, a.priority)
		case a.turn != b.turn:
			return a.turn - b.turn
		case a.cpu != b.cpu:
			return cmp.Compare(b.cpu, a.cpu)
		case a.memory != b.memory:
			return cmp.Compare(b.memory, a.memory)
		}
		return cmp.Or(strings.Compare(a.text, b.text), strings.Compare(a.pods[0].Key, b.pods[0].Key))
	})
	for i := range entries {
		p.classes[i] = entries[i].class
	}
}

// A signer writes what the scheduler looks at in pods.
type signer struct {
	*problem
	amounts map[uintptr]string // by Requests, which pods share
}

// sign writes what the scheduler looks at in a pod, its labels aside; first what it asks for in amounts, which end where the
// second result says.
func (p signer) sign(b []byte, pod *model.Pod) (out []byte, amounts int) {
	spec := &pod.Object.Spec
	b = putString(b, p.opts.Leave[pod.Key])
	if p.lost[pod.Key] != nil {
		b = append(b, 1)
	}
	id := reflect.ValueOf(pod.Requests).Pointer()
	text, ok := p.amounts[id]
	if !ok {
		text = string(putVector(nil, p.cols[:p.plain].vector(pod.Requests)))
		p.amounts[id] = text
	}
	b = append(b, text...)
	amounts = len(b)
	b = putMap(b, spec.NodeSelector)
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		b = putNodeAffinity(b, spec.Affinity.NodeAffinity)
	} else {
		b = append(b, 0)
	}
	b = putTolerations(b, spec.Tolerations)
	b = putInt(b, int64(pod.Priority()))
	b = putInt(b, int64(len(spec.ResourceClaims)))
	b = putPorts(b, portsOf(spec))
	if defaults := p.defaultsOf(pod); social(spec) || len(defaults) > 0 {
		b = putString(b, pod.Object.Namespace)
		b = putRules(b, spec)
		b = putSpread(b, defaults)
		b = p.putOwn(b, pod.Object)
	}
	if len(spec.Volumes) > 0 {
		volumes, no := p.snapshot.VolumesOf(pod)
		b = putString(b, no.Subject)
		for _, v := range volumes {
			b = putString(b, v.Driver)
			for _, set := range v.Topology {
				b = putString(b, set.String())
			}
			b = append(b, 0)
		}
		if p.plain < len(p.cols) { // a volume that is mounted twice is attached once
			own, shared := p.vectorOf(pod)
			b = shared.put(putVector(b, own[p.plain:]))
		}
	}
	return b, amounts
}

func (p *problem) defaultsOf(pod *model.Pod) []corev1.TopologySpreadConstraint {
	if p.opts.DefaultSpread == nil || len(pod.Object.Spec.TopologySpreadConstraints) > 0 {
		return nil
	}
	return p.opts.DefaultSpread(pod)
}

// putOwn writes the values of the pod's own labels that its terms refer to.
func (p *problem) putOwn(b []byte, o *corev1.Pod) []byte {
	own := func(keys []string) {
		for _, k := range keys {
			b = putString(b, o.Labels[k])
		}
	}
	for i := range o.Spec.TopologySpreadConstraints {
		own(o.Spec.TopologySpreadConstraints[i].MatchLabelKeys)
	}
	terms := func(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
		for i := range hard {
			own(hard[i].MatchLabelKeys)
			own(hard[i].MismatchLabelKeys)
		}
		for i := range soft {
			own(soft[i].PodAffinityTerm.MatchLabelKeys)
			own(soft[i].PodAffinityTerm.MismatchLabelKeys)
		}
	}
	if a := o.Spec.Affinity; a != nil && a.PodAffinity != nil {
		terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := o.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return b
}

// read returns what a pod asks of other pods, and enters the terms into the book.
func (p *problem) read(pod *model.Pod) []topology.Rule {
	defaults := p.defaultsOf(pod)
	if !social(&pod.Object.Spec) && len(defaults) == 0 {
		return nil
	}
	rules := topology.Of(pod.Object, p.namespaces, defaults)
	if p.opts.PreferencePolicy == PreferenceIgnore {
		rules = slices.DeleteFunc(rules, func(r topology.Rule) bool { return r.Soft })
	}
	for _, r := range rules {
		p.book.Number(r.Term)
	}
	return rules
}

// markOf numbers what is to be seen of pods: the namespace and those labels that some term looks at.
func (c *classifier) markOf(seen string) int {
	id, ok := c.marks[seen]
	if !ok {
		id = len(c.marks)
		c.marks[seen] = id
	}
	return id
}

// putSeen writes the namespace of a pod and those of its labels that are in keys, which are in order.
func putSeen(b []byte, o *corev1.Pod, keys []string) []byte {
	b = putString(b, o.Namespace)
	if len(keys) <= 2*len(o.Labels) {
		for _, k := range keys {
			if v, ok := o.Labels[k]; ok {
				b = putString(putString(b, k), v)
			}
		}
		return b
	}
	var list [16]string
	own := list[:0]
	for k := range o.Labels {
		if _, looked := slices.BinarySearch(keys, k); looked {
			own = append(own, k)
		}
	}
	slices.Sort(own)
	for _, k := range own {
		b = putString(putString(b, k), o.Labels[k])
	}
	return b
}

// newClass returns the class of a pod.
func (c *classifier) newClass(pod *model.Pod, s *spec, with *creed) *class {
	cl := c.made.take()
	*cl = class{creed: with, text: s.text, need: s.need, refusal: c.refusalOf(pod), why: c.lost[pod.Key]}
	if cl.refusal.OK() {
		cl.refusal = with.impossible
	}
	return cl
}

// creedOf returns the creed of a pod. Its rules are those of the first pod that asks for the same; whether a term selects the
// pod itself depends on its labels, and is asked anew. Volumes are named where they are in the way, so pods with volumes of
// their own share none.
func (c *classifier) creedOf(pod *model.Pod, number, mark int, asks *ask) *creed {
	key := [2]int{number, mark}
	if known := c.creeds[key]; known != nil && len(pod.Object.Spec.Volumes) == 0 {
		return known
	}
	cr := &creed{pod: pod, ports: portsOf(&pod.Object.Spec), priority: pod.Priority(), rules: asks.rules}
	if pod != asks.first && len(asks.rules) > 0 {
		cr.rules = slices.Clone(asks.rules)
		for i := range cr.rules {
			cr.rules[i].Self = cr.rules[i].Term.Selects(pod.Object.Namespace, pod.Object.Labels)
		}
	}
	cr.impossible = c.stagesOf(cr, pod)
	c.creeds[key] = cr
	c.problem.creeds = append(c.problem.creeds, cr)
	return cr
}

// refusalOf returns why a pod is refused unseen, if it is.
func (c *classifier) refusalOf(pod *model.Pod) model.Verdict {
	if why := c.opts.Leave[pod.Key]; why != "" {
		return model.Verdict{Rule: model.RuleInvalid, Subject: why}
	}
	if len(pod.Object.Spec.ResourceClaims) > 0 {
		return model.Verdict{Rule: model.RuleUnsupported, Subject: "resource claims (dynamic resource allocation)"}
	}
	return model.Verdict{}
}

func (p *problem) needOf(pod *model.Pod) *need { return p.intern(p.vectorOf(pod)) }

func (p *problem) alternativesOf(terms []require.Set) *alternatives {
	b := p.buf[:0]
	for _, t := range terms {
		if t.Len() > 0 {
			b = append(b, t.String()...)
		}
		b = append(b, '\n')
	}
	p.buf = b
	a := p.labels[string(b)]
	if a == nil {
		a = &alternatives{id: len(p.labels), terms: terms}
		p.labels[string(b)] = a
	}
	return a
}

func (p *problem) toleranceOf(list []corev1.Toleration, patient bool) *tolerance {
	key := putTolerations(p.buf[:0], list)
	if patient {
		key = append(key, 1)
	}
	p.buf = key
	t := p.tolerances[string(key)]
	if t == nil {
		t = &tolerance{id: len(p.tolerances), list: list, patient: patient}
		p.tolerances[string(key)] = t
	}
	return t
}

// both returns the tolerance of two pods that share a node.
func (p *problem) both(a, b *tolerance) *tolerance {
	if a == b {
		return a
	}
	key := fmt.Sprint("both ", a.id, " ", b.id)
	t := p.tolerances[key]
	if t == nil {
		t = &tolerance{id: len(p.tolerances), list: a.list, patient: a.patient, also: b}
		p.tolerances[key] = t
	}
	return t
}

// refuses returns the first of taints that keeps pods with this tolerance away, and true if there is one.
func (t *tolerance) refuses(taints []corev1.Taint) (corev1.Taint, bool) {
	for _, taint := range taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule && t.patient {
			continue
		}
		if !slices.ContainsFunc(t.list, func(o corev1.Toleration) bool { return covers(o, taint) }) {
			return taint, true
		}
	}
	if t.also != nil {
		return t.also.refuses(taints)
	}
	return corev1.Taint{}, false
}

func covers(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != "" && t.Key != taint.Key {
		return false
	}
	if t.Operator == corev1.TolerationOpExists {
		return true
	}
	return t.Key != "" && t.Value == taint.Value && (t.Operator == "" || t.Operator == corev1.TolerationOpEqual)
}
