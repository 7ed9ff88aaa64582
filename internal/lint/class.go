package lint

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// class applies the rules about one node class.
func (l *linter) class(o *object, c *awsv1.EC2NodeClass) {
	for i, t := range c.Spec.AMISelectorTerms {
		if strings.HasPrefix(strings.ToLower(t.Alias), "al2@") {
			l.at(o, "image-family-ends", itemField("spec.amiSelectorTerms", i, "alias"), "use alias al2023@latest",
				"Amazon Linux 2 has no images from Kubernetes 1.33 on")
		}
	}
	for field, value := range map[string]string{"spec.role": c.Spec.Role, "spec.instanceProfile": ptr.Deref(c.Spec.InstanceProfile, "")} {
		if strings.HasPrefix(value, "arn:") {
			l.at(o, "arn-for-name", field, "write "+value[strings.LastIndexByte(value, '/')+1:],
				"holds an ARN, and IAM finds it by its name alone: the class will not get ready")
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
		l.at(o, "refused", field, "change it as the message says; docs/nodeclasses.md has what spec.kubelet takes", "the controller refuses"+
			" the class: %s", strings.TrimPrefix(problem, field+": "))
	}
}

// nodeClass finds a node class of a pool that is not among the files, where there are node classes at all.
func (l *linter) nodeClass(o *object, ref *apiv1.NodeClassReference) {
	some := false
	for kind := range l.names {
		some = some || strings.HasSuffix(kind, "NodeClass")
	}
	if ref == nil || !some || l.names[ref.Kind][ref.Name] {
		return
	}
	fix := "add the " + ref.Kind + ", or name one that is there; until then the pool is not ready"
	if near := nearest(ref.Name, slices.Collect(maps.Keys(l.names[ref.Kind])), 3); near != "" {
		fix = "did you mean " + near + "? Until the " + ref.Kind + " is there the pool is not ready"
	}
	l.at(o, "missing-node-class", "spec.template.spec.nodeClassRef.name", fix, "%s %s is not among these files, though other node"+
		" classes are", ref.Kind, ref.Name)
}
