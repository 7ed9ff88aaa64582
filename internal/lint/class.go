package lint

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// class applies the rules for node classes.
func (l *linter) class(o *object, c *awsv1.EC2NodeClass) {
	for i, t := range c.Spec.AMISelectorTerms {
		if strings.HasPrefix(strings.ToLower(t.Alias), "al2@") {
			l.at(o, "image-family-ends", itemField("spec.amiSelectorTerms", i, "alias"), "use alias al2023@latest",
				"Amazon Linux 2 has no images for Kubernetes 1.33 and newer")
		}
	}
	for field, value := range map[string]string{"spec.role": c.Spec.Role, "spec.instanceProfile": ptr.Deref(c.Spec.InstanceProfile, "")} {
		if strings.HasPrefix(value, "arn:") {
			l.at(o, "arn-for-name", field, "set it to "+value[strings.LastIndexByte(value, '/')+1:],
				"is an ARN, but must be a name: the EC2NodeClass cannot become Ready")
		}
	}
	if l.options.Judge == nil {
		return
	}
	if problem := l.options.Judge(c); problem != "" {
		field := "spec"
		for _, name := range []string{"spec.kubelet", "spec.tags"} {
			if strings.HasPrefix(problem, name) {
				field = name
			}
		}
		l.at(o, "invalid-manifest", field, "change it as the message says; see docs/nodeclasses.md", "the controller"+
			" rejects the EC2NodeClass: %s", strings.TrimPrefix(problem, field+": "))
	}
}

// nodeClass reports a nodeClassRef of a NodePool to a node class that is not in the files. It reports nothing if the
// files contain no node classes at all.
func (l *linter) nodeClass(o *object, ref *apiv1.NodeClassReference) {
	some := false
	for kind := range l.names {
		some = some || strings.HasSuffix(kind, "NodeClass")
	}
	if ref == nil || !some || l.names[ref.Kind][ref.Name] {
		return
	}
	fix := "add the " + ref.Kind + ", or name another one: the NodePool is not Ready without it"
	if near := nearest(ref.Name, slices.Collect(maps.Keys(l.names[ref.Kind])), 3); near != "" {
		fix = "change the name to " + near + ", or add the " + ref.Kind + ": the NodePool is not Ready without it"
	}
	l.at(o, "missing-node-class", "spec.template.spec.nodeClassRef.name", fix, "%s %s is not among the files, although"+
		" other node classes are", ref.Kind, ref.Name)
}
