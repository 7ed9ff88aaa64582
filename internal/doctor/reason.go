package doctor

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// remedies are what to do about the reasons why pools and node classes are not ready.
var remedies = map[string]string{
	awsv1.ReasonSubnetsNotFound: "correct spec.subnetSelectorTerms, or tag the subnets: aws ec2 create-tags --resources SUBNET" +
		" --tags Key=karpenter.sh/discovery,Value=CLUSTER",
	awsv1.ReasonSecurityGroupsNotFound: "correct spec.securityGroupSelectorTerms, or tag the group: aws ec2 create-tags --resources GROUP" +
		" --tags Key=karpenter.sh/discovery,Value=CLUSTER",
	awsv1.ReasonAMINotFound:                         "correct spec.amiSelectorTerms: name, tags, id and owner, in the controller's region; alias: al2023@latest always has one",
	awsv1.ReasonUnsupportedAlias:                    "choose a family that has images for this version of Kubernetes, such as alias: al2023@latest",
	awsv1.ReasonRoleNotFound:                        "make the role that spec.role names (deploy/ has it), or name one that is there",
	awsv1.ReasonInstanceProfileNotFound:             "make the instance profile that spec.instanceProfile names, or set spec.role instead",
	awsv1.ReasonPlacementGroupNotFound:              "make the placement group: aws ec2 create-placement-group --group-name NAME --strategy cluster",
	awsv1.ReasonCreateFleetAuthCheckFailed:          "give the controller's role the permissions of docs/permissions.md; karpenter doctor aws names those that are missing",
	awsv1.ReasonCreateLaunchTemplateAuthCheckFailed: "give the controller's role the permissions of docs/permissions.md; karpenter doctor aws names those that are missing",
	awsv1.ReasonRunInstancesAuthCheckFailed:         "give the controller's role the permissions of docs/permissions.md; karpenter doctor aws names those that are missing",
	awsv1.ReasonKubeletExpressionsDisabled:          "set settings.featureGates.nodeClassCEL in the chart's values, or write numbers in spec.kubelet",
	apiv1.ReasonNodeClassNotFound:                   "make the node class that spec.template.spec.nodeClassRef names, or name one that is there",
	apiv1.ReasonNodeClassTerminating:                "the node class is being deleted: name another one in spec.template.spec.nodeClassRef",
}

// remedy is what to do about the first of the conditions that something is known of.
func remedy(conditions []metav1.Condition) string {
	for _, c := range conditions {
		if c.Type != awsv1.ConditionTypeReady && c.Status == metav1.ConditionFalse && remedies[c.Reason] != "" {
			return remedies[c.Reason]
		}
	}
	return "do what the message says; docs/nodeclasses.md and docs/troubleshooting.md have all reasons"
}

// counted writes a number of things: 1 claim, 2 claims.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
