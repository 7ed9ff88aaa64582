package convert

import (
	"slices"

	"github.com/karpenter-go/karpenter/api/legacy"
)

// claimFields are the fields of the spec of a NodeClaim in v1.
var claimFields = append([]string{"resources"}, poolSpecFields...)

// claim converts a NodeClaim or Machine. The controller creates claims, so the result is for reading and simulation and
// not to be applied.
func (c *converter) claim(o *object) {
	spec := c.head(o, legacy.CoreGroup+"/v1", "NodeClaim")
	c.warn(o, "", "NodeClaims are created by the controller; fix: remove it, unless you restore a backup")
	p := &pool{object: o}
	if f := take(spec, "machineTemplateRef"); f.ok() {
		put(spec, "nodeClassRef", f)
	}
	if f := take(spec, "requirements"); f.ok() {
		c.requirements(o, "spec.requirements", f.value)
		put(spec, "requirements", f)
	} else {
		set(spec, "requirements", sequence())
	}
	p.setReference(c, mapping(), spec)
	p.setTaints(c, spec)
	for _, key := range []string{"kubelet", "kubeletConfiguration"} {
		if f := take(spec, key); f.ok() {
			c.warn(o, "spec."+key, "not supported in a NodeClaim of v1, removed: %s", brief(f.value))
		}
	}
	for i := 0; i+1 < len(spec.Content); {
		if key := spec.Content[i].Value; !slices.Contains(claimFields, key) {
			c.warn(o, "spec."+key, "not supported in v1, removed: %s", brief(spec.Content[i+1]))
			take(spec, key)
			continue
		}
		i += 2
	}
}
