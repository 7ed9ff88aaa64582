package convert

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// link moves settings from NodePools to node classes: it creates an EC2NodeClass for node class fields in a NodePool,
// and moves kubelet configurations to the node classes.
func (c *converter) link() {
	for _, p := range c.pools {
		c.ownClass(p)
	}
	users := map[*class][]*pool{}
	for _, p := range c.pools {
		if k := c.find(p.class.Value); k != nil {
			users[k] = append(users[k], p)
		} else if p.kubelet != nil {
			c.warn(p.object, p.kubeletPath, "removed: kubelet settings belong to EC2NodeClass %s, which is not in the input; fix: add spec.kubelet to it: %s",
				p.class.Value, brief(p.kubelet))
		}
	}
	for _, k := range append([]*class(nil), c.classes...) {
		c.spread(k, users[k])
	}
}

// find returns the node class with a name among those that the conversion converts or creates, nil if there is none.
func (c *converter) find(name string) *class {
	for _, k := range c.classes {
		if k.name == name {
			return k
		}
	}
	return nil
}

// ownClass creates a node class from the node class fields in a NodePool. If the input has a node class of that name,
// the fields are removed with a warning.
func (c *converter) ownClass(p *pool) {
	if p.inline == nil {
		return
	}
	if c.find(p.class.Value) != nil || c.standing(p.class.Value) {
		c.warn(p.object, "spec", "removed the fields of a node class because EC2NodeClass %s is in the input: %s", p.class.Value, brief(p.inline))
		return
	}
	root := mapping("apiVersion", legacy.AWSGroup+"/v1", "kind", "EC2NodeClass", "metadata", mapping("name", clone(p.class)))
	set(root, "spec", p.inline)
	o := &object{doc: p.doc, root: root, label: p.label}
	o.lifted = p.stood
	c.classSpec(o, p.inlinePath, p.inline)
	o.lifted = nil
	p.made = append(p.made, o)
	c.classes = append(c.classes, &class{o, p.class.Value})
}

// standing reports whether the input has a node class with that name that is not converted because it is of v1.
func (c *converter) standing(name string) bool {
	for _, d := range c.docs {
		for _, o := range d.objects {
			if o.form == legacy.Foreign && scalar(get(o.root, "kind")) == "EC2NodeClass" &&
				strings.HasPrefix(scalar(get(o.root, "apiVersion")), legacy.AWSGroup+"/") &&
				scalar(at(o.root, "metadata", "name")) == name {
				return true
			}
		}
	}
	return false
}

// spread moves the kubelet configuration of NodePools to their node class k. If the configurations differ, it creates
// a copy of the node class for each further configuration.
func (c *converter) spread(k *class, pools []*pool) {
	spec := get(k.root, "spec")
	if len(pools) == 0 {
		return
	}
	original := clone(k.root)
	groups := groupByKubelet(pools)
	for i, group := range groups {
		kubelet := group[0].kubelet
		if i == 0 {
			c.giveKubelet(group, spec, kubelet)
			continue
		}
		name := k.name + "-" + group[0].name
		for n := 2; c.find(name) != nil || c.standing(name); n++ {
			name = k.name + "-" + group[0].name + "-" + number(n).Value
		}
		root := clone(original)
		get(get(root, "metadata"), "name").Value = name
		copied := &object{doc: k.doc, root: root, label: k.label}
		k.owner().made = append(k.owner().made, copied)
		c.classes = append(c.classes, &class{copied, name})
		c.giveKubelet(group, get(root, "spec"), kubelet)
		for _, p := range group {
			c.warn(p.object, p.kubeletPath, "moved to EC2NodeClass %s, a copy of %s: the NodePools of that class have different"+
				" kubelet settings", name, k.name)
			p.class.Value = name
		}
	}
}

// owner returns the object of the input after which a node class is written.
func (k *class) owner() *object {
	for _, o := range k.doc.objects {
		for _, made := range o.made {
			if made == k.object {
				return o
			}
		}
	}
	return k.object
}

// giveKubelet sets the kubelet configuration of a node class. If the node class has another one, that one stays, with
// a warning.
func (c *converter) giveKubelet(group []*pool, spec, kubelet *yaml.Node) {
	if kubelet == nil {
		return
	}
	if have := get(spec, "kubelet"); have != nil && !equal(have, kubelet) {
		c.warn(group[0].object, group[0].kubeletPath, "removed because spec.kubelet of the EC2NodeClass is set: %s", brief(kubelet))
		return
	}
	set(spec, "kubelet", clone(kubelet))
}

// groupByKubelet groups NodePools with equal kubelet settings, in the order of the input. NodePools without settings
// come first, since their node class does not change.
func groupByKubelet(pools []*pool) [][]*pool {
	var groups [][]*pool
	for _, p := range pools {
		found := false
		for i, g := range groups {
			if g[0].kubelet == nil && p.kubelet == nil || g[0].kubelet != nil && equal(g[0].kubelet, p.kubelet) {
				groups[i], found = append(g, p), true
				break
			}
		}
		switch {
		case found:
		case p.kubelet == nil:
			groups = append([][]*pool{{p}}, groups...)
		default:
			groups = append(groups, []*pool{p})
		}
	}
	return groups
}
