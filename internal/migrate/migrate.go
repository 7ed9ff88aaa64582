package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Options are the facts that the files do not contain.
type Options struct {
	// Cluster is the cluster's name. Default: the name in the groups.
	Cluster string
	// Region is the region of the groups, for prices. Default: the region in the groups, otherwise us-east-1.
	Region string
	// Price returns the price of an instance type in dollars per hour. ok is false if the price is not known. Price
	// may be nil.
	Price func(region, instanceType string, spot bool) (dollars float64, ok bool)
}

// A File has outputs of AWS CLI commands, one after the other, in JSON.
type File struct {
	Name string
	Data []byte
}

// A Result is the result of the conversion of all groups.
type Result struct {
	// Manifests are NodePools and EC2NodeClasses, as YAML, one document each.
	Manifests []string
	// Notes are remarks that the user should read.
	Notes []Note
	// Steps are the steps of the migration, in order.
	Steps []Step
}

// A Note is a sentence about a group.
type Note struct {
	Group   string `json:"group"`
	Message string `json:"message"`
}

func (n Note) String() string { return n.Group + ": " + n.Message }

// Groups converts the groups in the files to NodePools, node classes and the steps of the migration. It returns an
// error if a file cannot be read or there is no group to convert.
func Groups(files []File, o Options) (Result, error) {
	var groups, managed []group
	for _, f := range files {
		found, err := read(f)
		if err != nil {
			return Result{}, err
		}
		groups = append(groups, found...)
	}
	m := &migration{options: o, classes: map[string]string{}, taken: map[string]bool{}}
	// An Auto Scaling group that belongs to an EKS group in the files is omitted, because both are the same group.
	known := map[string]bool{}
	for _, g := range groups {
		known[g.name] = known[g.name] || g.managed
	}
	groups = slices.DeleteFunc(groups, func(g group) bool {
		if g.behind == "" {
			return false
		}
		managed = append(managed, g)
		if !known[g.behind] {
			m.note(g, "ignored, it belongs to the EKS node group %s; fix: pass the output of aws eks describe-nodegroup for %s, too", g.behind, g.behind)
		}
		return true
	})
	if len(groups) == 0 && len(managed) > 0 {
		return Result{}, fmt.Errorf("%s: all groups belong to EKS node groups; pass the output of aws eks describe-nodegroup", files[0].Name)
	}
	if len(groups) == 0 {
		return Result{}, fmt.Errorf("%s: no node group found; use the JSON output of aws eks describe-nodegroup or aws autoscaling describe-auto-scaling-groups", files[0].Name)
	}
	for _, g := range groups {
		m.group(g)
	}
	m.plan(groups)
	return Result{m.documents, m.notes, m.steps}, nil
}

// migration is the state of one call.
type migration struct {
	options   Options
	classes   map[string]string // names of node classes by their spec
	taken     map[string]bool   // kinds and names of pools and classes
	documents []string
	notes     []Note
	steps     []Step
}

func (m *migration) note(g group, format string, args ...any) {
	m.notes = append(m.notes, Note{g.name, fmt.Sprintf(format, args...)})
}

// invalid matches characters that are not allowed in names of objects.
var invalid = regexp.MustCompile(`[^a-z0-9-]+`)

// name returns an unused name for an object of the kind ("pool" or "class"). It is similar to wish.
func (m *migration) name(kind, wish string) string {
	base := strings.Trim(invalid.ReplaceAllString(strings.ToLower(wish), "-"), "-")
	if len(base) > 50 {
		base = strings.Trim(base[:50], "-")
	}
	if base == "" {
		base = "group"
	}
	name := base
	for n := 2; m.taken[kind+name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	m.taken[kind+name] = true
	return name
}

// group adds the NodePool of a group, and its node class unless an earlier group has a node class with equal spec.
func (m *migration) group(g group) {
	if m.options.Cluster != "" {
		g.cluster = m.options.Cluster
	}
	if g.cluster == "" {
		g.cluster = "CLUSTER_NAME"
		m.note(g, "cluster unknown; fix: pass --cluster-name, or replace CLUSTER_NAME in the manifests")
	}
	spec := m.class(g)
	class, ok := m.classes[spec]
	if !ok {
		class = m.name("class", g.name)
		m.classes[spec] = class
		m.documents = append(m.documents, "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata:\n  name: "+class+"\n"+spec)
	}
	m.documents = append(m.documents, m.pool(g, class))
}
