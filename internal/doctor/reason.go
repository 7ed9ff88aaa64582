package doctor

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// remedies are the fixes for conditions of NodePools and node classes, by the reason of the condition.
var remedies = map[string]string{
	awsv1.ReasonSubnetsNotFound: "correct spec.subnetSelectorTerms, or tag the subnets: aws ec2 create-tags --resources SUBNET" +
		" --tags Key=karpenter.sh/discovery,Value=CLUSTER",
	awsv1.ReasonSecurityGroupsNotFound: "correct spec.securityGroupSelectorTerms, or tag the group: aws ec2 create-tags --resources GROUP" +
		" --tags Key=karpenter.sh/discovery,Value=CLUSTER",
	awsv1.ReasonAMINotFound:                         "correct spec.amiSelectorTerms: name, tags, id and owner, in the controller's region; alias: al2023@latest always matches",
	awsv1.ReasonUnsupportedAlias:                    "choose a family that has images for this version of Kubernetes, such as alias: al2023@latest",
	awsv1.ReasonRoleNotFound:                        "create the role that spec.role names (deploy/cloudformation), or name an existing one",
	awsv1.ReasonInstanceProfileNotFound:             "create the instance profile that spec.instanceProfile names, or set spec.role instead",
	awsv1.ReasonPlacementGroupNotFound:              "create the placement group: aws ec2 create-placement-group --group-name NAME --strategy cluster",
	awsv1.ReasonCreateFleetAuthCheckFailed:          "give the controller's role the permissions of docs/permissions.md; karpenter doctor aws lists those that are missing",
	awsv1.ReasonCreateLaunchTemplateAuthCheckFailed: "give the controller's role the permissions of docs/permissions.md; karpenter doctor aws lists those that are missing",
	awsv1.ReasonRunInstancesAuthCheckFailed:         "give the controller's role the permissions of docs/permissions.md; karpenter doctor aws lists those that are missing",
	awsv1.ReasonKubeletExpressionsDisabled:          "set settings.featureGates.nodeClassCEL in the chart's values, or use numbers in spec.kubelet",
	clusterapiv1alpha1.ReasonClusterNotFound:        "correct spec.clusterName and spec.namespace, which cannot be changed: create another ClusterAPINodeClass",
	clusterapiv1alpha1.ReasonClusterPaused:          "resume the Cluster: set its spec.paused to false, or remove the annotation cluster.x-k8s.io/paused",
	clusterapiv1alpha1.ReasonNoTemplates:            "correct spec.machineDeploymentSelector, or add spec.templates: docs/clusterapi.md",
	clusterapiv1alpha1.ReasonInvalidTemplates:       "correct the templates that the message names: docs/clusterapi.md#capacity-labels-and-taints",
	clusterapiv1alpha1.ReasonUnknownPrices:          "give the templates a price, by annotation or a table: docs/clusterapi.md#prices",
	clusterapiv1alpha1.ReasonPricesNotRead:          "correct the table that the message names: docs/clusterapi.md#prices",
	clusterapiv1alpha1.ReasonNotReachable:           "check the management cluster, its kubeconfig and the network: docs/clusterapi.md#two-clusters",
	apiv1.ReasonNodeClassNotFound:                   "create the node class that spec.template.spec.nodeClassRef names, or name an existing one",
	apiv1.ReasonNodeClassTerminating:                "the node class is being deleted: name another one in spec.template.spec.nodeClassRef",
}

// fails reports whether the condition is False, or Unknown because a management cluster does not answer. Conditions that
// are Unknown for other reasons are not determined yet.
func fails(c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse || c.Status == metav1.ConditionUnknown && c.Reason == clusterapiv1alpha1.ReasonNotReachable
}

// remedy returns the fix for the first failed condition, other than Ready, whose reason is in remedies. If there is none,
// it returns a general text.
func remedy(conditions []metav1.Condition) string {
	for _, c := range conditions {
		if c.Type != awsv1.ConditionTypeReady && fails(c) && remedies[c.Reason] != "" {
			return remedies[c.Reason]
		}
	}
	return "correct the field that the message names; docs/nodeclasses.md and docs/troubleshooting.md list all reasons"
}

// counted returns the number with the noun in singular or plural: 1 claim, 2 claims.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
