// Package legacy lists the kinds of the API before karpenter.sh/v1, their present names, and the
// labels and annotations that were renamed. Documents of these kinds are only converted, never
// served.
//
// There are deliberately no Go types for them. Manifests are converted as YAML, which keeps
// comments and templates, and an unknown field is reported instead of lost in decoding.
package legacy

import "strings"

// Groups of the API.
const (
	CoreGroup = "karpenter.sh"
	AWSGroup  = "karpenter.k8s.aws"
)

// A Form is the kind of a legacy document.
type Form int

// Forms.
const (
	// Foreign is a document of another program, or one that is v1 already.
	Foreign Form = iota
	// Provisioner is a pool of v1alpha5 or before: absent fields have the defaults of that time.
	Provisioner
	// NodeTemplate is a v1alpha1 AWSNodeTemplate.
	NodeTemplate
	// NodePool is a v1beta1 NodePool.
	NodePool
	// NodeClass is a v1beta1 EC2NodeClass.
	NodeClass
	// NodeClaim is a v1beta1 NodeClaim.
	NodeClaim
	// Machine is a v1alpha5 Machine, the predecessor of NodeClaim.
	Machine
)

// forms has the Form of each kind, by the name of the kind.
var forms = map[string]Form{
	"Provisioner":     Provisioner,
	"AWSNodeTemplate": NodeTemplate,
	"NodePool":        NodePool,
	"EC2NodeClass":    NodeClass,
	"NodeClaim":       NodeClaim,
	"Machine":         Machine,
}

// FormOf returns the Form of a document with this apiVersion and kind. Any group with karpenter in its name is
// accepted, because manifests mix up the groups: Provisioner was in karpenter.sh, provisioning.karpenter.sh and others.
func FormOf(apiVersion, kind string) Form {
	form, ok := forms[kind]
	if !ok {
		return Foreign
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	if !strings.Contains(group, "karpenter") {
		return Foreign
	}
	old := form == Provisioner || form == NodeTemplate || form == Machine // kinds that no later version has
	if !old && !strings.HasPrefix(version, "v1alpha") && !strings.HasPrefix(version, "v1beta") {
		return Foreign
	}
	return form
}

// Renamed maps the keys of labels, annotations and taints of the old API to the present keys.
var Renamed = map[string]string{
	"karpenter.sh/provisioner-name":                 "karpenter.sh/nodepool",
	"karpenter.sh/do-not-evict":                     "karpenter.sh/do-not-disrupt",
	"karpenter.sh/do-not-consolidate":               "karpenter.sh/do-not-disrupt",
	"karpenter.sh/machine-name":                     "karpenter.sh/nodeclaim",
	"karpenter.sh/provisioner-hash":                 "karpenter.sh/nodepool-hash",
	"karpenter.k8s.aws/awsnodetemplate":             "karpenter.k8s.aws/ec2nodeclass",
	"karpenter.k8s.aws/awsnodetemplate-hash":        "karpenter.k8s.aws/ec2nodeclass-hash",
	"karpenter.sh/disruption":                       "karpenter.sh/disrupted",
	"node.k8s.aws/capacity-type":                    "karpenter.sh/capacity-type",
	"karpenter.k8s.aws/capacity-type":               "karpenter.sh/capacity-type",
	"karpenter.k8s.aws/instance-accelerators-count": "karpenter.k8s.aws/instance-accelerator-count",
}
