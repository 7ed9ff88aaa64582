package lint

import (
	"strings"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// class applies the rules about one node class.
func (l *linter) class(o *object, c *awsv1.EC2NodeClass) {
	for i, t := range c.Spec.AMISelectorTerms {
		if strings.HasPrefix(strings.ToLower(t.Alias), "al2@") {
			l.at(o, "image-family-ends", itemField("spec.amiSelectorTerms", i, "alias"), "use alias al2023@latest",
				"Amazon Linux 2 has no images from Kubernetes 1.33 on")
		}
	}
}

// classes finds pools whose node class is not among the files, where there are node classes at all.
func (l *linter) classes() {
	have, some := map[string]bool{}, false
	for _, o := range l.objects {
		if kind := o.content.GetKind(); strings.HasSuffix(kind, "NodeClass") {
			have[kind+"/"+o.content.GetName()] = true
			some = true
		}
	}
	for _, p := range l.pools {
		ref := p.pool.Spec.Template.Spec.NodeClassRef
		if some && !have[ref.Kind+"/"+ref.Name] {
			l.at(p.object, "missing-node-class", "spec.template.spec.nodeClassRef.name", "add the "+ref.Kind+", or name one that is"+
				" there; until then the pool is not ready", "%s %s is not among these files, though other node classes are", ref.Kind, ref.Name)
		}
	}
}
