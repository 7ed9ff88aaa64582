package offline

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
)

// ClassDrift returns the nodes of s that drift if the EC2NodeClass is changed from stored to changed. drifted has the
// reason of each by the name of the node. unknown are sentences about selectors that have changed: whether they
// select other objects is not known without the cloud. Nodes with another hash than that of stored have drifted
// already and are left out.
func ClassDrift(s *model.Snapshot, stored, changed *awsv1.EC2NodeClass) (drifted map[string]string, unknown []string) {
	drifted = map[string]string{}
	nodes := nodesOf(s, changed.Name)
	amis, known := imagesByID(changed)
	amisChange := !equality.Semantic.DeepEqual(stored.Spec.AMISelectorTerms, changed.Spec.AMISelectorTerms)
	left := 0
	for _, n := range nodes {
		switch {
		case hashDiffers(n.Claim, nodeclass.Hash(changed)):
			if !hashDiffers(n.Claim, nodeclass.Hash(stored)) {
				drifted[n.Name] = string(aws.DriftNodeClass)
			}
		case amisChange && known && n.Claim.Status.ImageID != "" && !slices.Contains(amis, n.Claim.Status.ImageID):
			drifted[n.Name] = string(aws.DriftAMI)
		default:
			left++
		}
	}
	if left == 0 {
		return drifted, nil
	}
	for _, c := range []struct {
		field   string
		changes bool
		reason  string
	}{
		{"amiSelectorTerms", amisChange && !known, string(aws.DriftAMI)},
		{"securityGroupSelectorTerms", differ(stored.Spec.SecurityGroupSelectorTerms, changed.Spec.SecurityGroupSelectorTerms), string(aws.DriftSecurityGroup)},
		{"subnetSelectorTerms", differ(stored.Spec.SubnetSelectorTerms, changed.Spec.SubnetSelectorTerms), string(aws.DriftSubnet)},
		{"capacityReservationSelectorTerms", differ(stored.Spec.CapacityReservationSelectorTerms, changed.Spec.CapacityReservationSelectorTerms), string(aws.DriftReservation)},
		{"placementGroupSelector", differ(stored.Spec.PlacementGroupSelector, changed.Spec.PlacementGroupSelector), string(aws.DriftPlacement)},
	} {
		if c.changes {
			unknown = append(unknown, fmt.Sprintf("spec.%s of EC2NodeClass %s: up to %s may drift too (%s); what it selects is not known without the cloud",
				c.field, changed.Name, units.Counted(left, "more node"), c.reason))
		}
	}
	return drifted, unknown
}

func differ(a, b any) bool { return !equality.Semantic.DeepEqual(a, b) }

// nodesOf returns the nodes whose claim refers to the EC2NodeClass, without nodes that are being deleted.
func nodesOf(s *model.Snapshot, class string) []*model.Node {
	var out []*model.Node
	for _, n := range s.Nodes() {
		if n.Claim == nil || n.Deleting {
			continue
		}
		if ref := n.Claim.Spec.NodeClassRef; ref != nil && ref.Group == awsv1.Group && ref.Name == class {
			out = append(out, n)
		}
	}
	return out
}

// hashDiffers reports whether the claim was made from a class with another hash. It returns false if the claim has no
// hash of the current hash version.
func hashDiffers(claim *apiv1.NodeClaim, hash string) bool {
	a := claim.Annotations
	return a[awsv1.AnnotationEC2NodeClassHash] != "" && a[awsv1.AnnotationEC2NodeClassHashVersion] == nodeclass.HashVersion &&
		a[awsv1.AnnotationEC2NodeClassHash] != hash
}

// imagesByID returns the IDs of the images that a class selects. ok is false if a term selects by something else, or
// there are no terms.
func imagesByID(class *awsv1.EC2NodeClass) (ids []string, ok bool) {
	for _, term := range class.Spec.AMISelectorTerms {
		if term.ID == "" {
			return nil, false
		}
		ids = append(ids, term.ID)
	}
	return ids, len(ids) > 0
}
