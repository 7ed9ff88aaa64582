package compile

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Class is a set of pods that are equal to kube-scheduler: a node that is feasible for one is feasible for all.
type Class struct {
	*Spec
	Index  int          // index in Problem.Classes
	Pods   []*model.Pod // in key order
	Demand *catalog.Demand
	// Refused is the reason why the plan refuses all pods of the class without trying any node. It is OK if the plan
	// tries them.
	Refused model.Verdict

	text string // an encoding of the amounts and other requirements; it breaks ties in sortClasses
}

// A Spec is the requirements of pods except the amounts of resources. Classes without volumes share a Spec if they have the
// same requirements. If the plan has topology terms, they must also have the same namespace and equal values of the labels
// that terms read.
type Spec struct {
	// Pod is one of the pods. The others have the same requirements.
	Pod *model.Pod
	// Stages are the requirements of the pods together with preferences. Each stage has fewer preferences than the one
	// before, the last has none. PreferNoSchedule taints count as a preference here. A refused class may have no stages.
	Stages []Stage
	// Required are the node selector and required node affinity, without the topology of volumes. A spread constraint that
	// honors node affinity counts only pods on nodes that meet them.
	Required *catalog.NodeTerms
	// Rules are the pods' affinity, anti-affinity and spread constraints.
	Rules []topology.Rule
	Ports []catalog.Port
	// Members are the topology groups that count the pods: indices in Problem.Groups, rising. NodeMembers are those of
	// Members over the hostname.
	Members, NodeMembers []int
	// Free says that the pods have no topology constraints and no host ports, and that required affinity or anti-affinity
	// does not select them.
	Free     bool
	Priority int32

	impossible model.Verdict // the verdict of compileStages
}

// Needs returns what pods of the class require of a new node in stage s.
func (c *Class) Needs(s *Stage) catalog.Needs {
	return catalog.Needs{Terms: s.Terms, Tolerations: s.Tolerations, Demand: c.Demand, Ports: c.Ports, Daemons: s.Daemons}
}

// Last returns the stage without preferences. There must be stages.
func (s *Spec) Last() *Stage { return &s.Stages[len(s.Stages)-1] }

// placementRank orders classes of equal priority; lower ranks are placed first. Classes with required affinity over the
// hostname have 0, because bundles place pods of other classes together with theirs. Classes with other required
// affinity have 2, because their pods follow pods of other classes into a domain. All others have 1.
func (s *Spec) placementRank() int {
	rank := 1
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Kind == topology.Affinity && !r.Soft {
			if r.Term.Key == corev1.LabelHostname {
				return 0
			}
			rank = 2
		}
	}
	return rank
}

// A ruleSet is the requirements of pods that may differ in amounts of resources, in labels and in namespaces. text is their
// encoding by appendRequirements. rules are their constraints on other pods, with Rule.Self for the labels of first, the
// first of the pods.
type ruleSet struct {
	text  string
	rules []topology.Rule
	first *model.Pod
}

// classify sets Problem.Classes, in placement order: by falling priority, rising placementRank, falling cpu, falling
// memory, then by Class.text and the key of the first pod. Large pods are placed before small ones, because small ones fit
// into the gaps that large ones leave.
func classify(c *compiler) {
	required := intern(len(c.pods), func(b []byte, pod int) []byte { return c.appendRequirements(b, c.pods[pod]) })
	setOf := required.numbers
	sets := make([]ruleSet, len(required.texts))
	for n, text := range required.texts {
		pod := c.pods[required.firsts[n]]
		sets[n] = ruleSet{text: text, rules: rulesOf(c, pod), first: pod}
	}
	read := termsRead(c, sets)
	keys := read.Keys()
	found := intern(len(c.pods), func(b []byte, pod int) []byte {
		b = encode.Int(c.appendAmounts(b, c.pods[pod]), int64(setOf[pod]))
		if read.Len() > 0 {
			b = appendSeen(b, c.pods[pod].Object, keys)
		}
		return b
	})
	tried := shareWork(c, sets, setOf, read, found.firsts)
	specs := map[string]*Spec{}
	c.Classes = make([]*Class, len(found.texts))
	for id, first := range found.firsts {
		pod, set := c.pods[first], &sets[setOf[first]]
		amounts := string(c.appendAmounts(nil, pod))
		class := &Class{Demand: c.Intern.Demand(c.Volumes.Demand(pod)), text: amounts + set.text}
		c.Classes[id] = class
		if tried != nil && !tried[setOf[first]] {
			class.Refused, class.Spec = notTried, &Spec{Pod: pod, Priority: pod.Priority(), Free: true}
			continue
		}
		class.Spec = specOf(c, specs, found.texts[id][len(amounts):], pod, set)
		class.Refused = class.impossible
	}
	for i, id := range found.numbers {
		c.Classes[id].Pods = append(c.Classes[id].Pods, c.pods[i])
	}
	sortClasses(c)
}

// termsRead returns the terms of the rules of sets and of required anti-affinity of running and DaemonSet pods.
func termsRead(c *compiler, sets []ruleSet) *topology.Book {
	read := topology.NewBook()
	for n := range c.book.Len() {
		read.Number(c.book.Term(n))
	}
	for _, set := range sets {
		for _, r := range set.rules {
			read.Number(r.Term)
		}
	}
	return read
}

// sortClasses puts the classes in placement order, see classify.
func sortClasses(c *compiler) {
	amount := func(class *Class, name corev1.ResourceName) int64 {
		if i := slices.Index(c.Dimensions.Names, name); i >= 0 {
			return class.Demand.Amount[i]
		}
		return 0
	}
	slices.SortFunc(c.Classes, func(a, b *Class) int {
		return cmp.Or(
			cmp.Compare(b.Priority, a.Priority),
			cmp.Compare(a.placementRank(), b.placementRank()),
			cmp.Compare(amount(b, corev1.ResourceCPU), amount(a, corev1.ResourceCPU)),
			cmp.Compare(amount(b, corev1.ResourceMemory), amount(a, corev1.ResourceMemory)),
			strings.Compare(a.text, b.text),
			strings.Compare(a.Pods[0].Key, b.Pods[0].Key),
		)
	})
	for i, class := range c.Classes {
		class.Index = i
	}
}

// maxPreferences is the largest number of preferences of a pod about other pods that are considered, and the largest number of its
// preferred node affinity terms.
const maxPreferences = 16

// rulesOf returns the pod's affinity, anti-affinity and spread constraints, including default ones. Of preferences, it returns
// maxPreferences at most: spread first, then those with the largest weights. If Settings.IgnorePreferences is set, it returns none.
func rulesOf(c *compiler, pod *model.Pod) []topology.Rule {
	rules := topology.Of(pod.Object, c.namespaces, c.defaultsOf(pod))
	hard := slices.IndexFunc(rules, func(r topology.Rule) bool { return r.Soft }) // preferences are last
	switch {
	case hard < 0:
	case c.Settings.IgnorePreferences:
		rules = rules[:hard]
	case len(rules)-hard > maxPreferences:
		slices.SortStableFunc(rules[hard:], func(a, b topology.Rule) int {
			isSpread := func(r topology.Rule) int { return int(encode.Bool(r.Kind == topology.Spread)) }
			return cmp.Or(isSpread(b)-isSpread(a), cmp.Compare(b.Weight, a.Weight))
		})
		rules = slices.Clone(rules[:hard+maxPreferences])
	}
	return rules
}

// specOf returns the spec of a class with this pod, and adds it to known and c.specs if it is new. key encodes the pod's ruleSet,
// and its namespace and labels as far as terms read them. Pods of a ruleSet share its rules, except Rule.Self: whether a
// term selects the pod itself depends on its labels. Each class with volumes gets its own spec, because refusals name the
// volumes.
func specOf(c *compiler, known map[string]*Spec, key string, pod *model.Pod, set *ruleSet) *Spec {
	if s := known[key]; s != nil && len(pod.Object.Spec.Volumes) == 0 {
		return s
	}
	s := &Spec{Pod: pod, Ports: catalog.PortsOf(&pod.Object.Spec), Priority: pod.Priority(), Rules: set.rules}
	if pod != set.first && len(set.rules) > 0 {
		s.Rules = slices.Clone(set.rules)
		for i := range s.Rules {
			s.Rules[i].Self = s.Rules[i].Term.Selects(pod.Object.Namespace, pod.Object.Labels)
		}
	}
	s.impossible = compileStages(c, s, pod)
	known[key] = s
	c.specs = append(c.specs, s)
	return s
}
