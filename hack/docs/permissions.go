package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/provider/aws/policy"
)

// placeholders are the values of a policy in the form that envsubst replaces.
var placeholders = policy.Scope{
	Partition: "${AWS_PARTITION}", Region: "${AWS_REGION}", Account: "${AWS_ACCOUNT_ID}", Cluster: "${CLUSTER_NAME}",
	NodeRole: "${NODE_ROLE}", Queue: "${INTERRUPTION_QUEUE}", Suffix: "${AWS_DNS_SUFFIX}",
}

// permissionFiles returns the policies of the controller on AWS, and the page about them.
func permissionFiles() (map[string][]byte, error) {
	files := map[string][]byte{filepath.Join("docs", "permissions.md"): permissionsPage()}
	for _, p := range policy.All(placeholders) {
		text, err := p.Document()
		if err != nil {
			return nil, err
		}
		files[filepath.Join("deploy", "aws", p.Name+".json")] = text
	}
	return files, nil
}

// permissionsPage renders docs/permissions.md.
func permissionsPage() []byte {
	var b strings.Builder
	b.WriteString(generated + `
# Permissions

For operators and reviewers: what the controller's role is allowed to do on AWS, and [in the cluster](#rbac). The policies are in
[deploy/aws](../deploy/aws), with placeholders for ` + "`envsubst`" + `. A test runs the controller against an emulated AWS that enforces them: no call
of the controller is denied, and no permission is unused.

` + files() + `
These commands attach all files. Leave out those that are not needed:

` + "```" + `sh account
export AWS_PARTITION=aws AWS_DNS_SUFFIX=amazonaws.com # in China aws-cn and amazonaws.com.cn, in GovCloud aws-us-gov and amazonaws.com
export AWS_REGION=us-east-1 AWS_ACCOUNT_ID=123456789012 CLUSTER_NAME=production
export NODE_ROLE=KarpenterNodeRole-production INTERRUPTION_QUEUE=production
for p in deploy/aws/*.json; do
  name=Karpenter-$CLUSTER_NAME-$(basename $p .json)
  aws iam create-policy --policy-name $name --policy-document "$(envsubst < $p)"
  aws iam attach-role-policy --role-name KarpenterControllerRole-$CLUSTER_NAME \
    --policy-arn arn:$AWS_PARTITION:iam::$AWS_ACCOUNT_ID:policy/$name
done
` + "```" + `

` + "`ssm:GetParameter`" + ` is for images of AWS. Add your parameters if an EC2NodeClass has ` + "`ssmParameter`" + ` terms of your own.
Images that are encrypted with a key of yours need ` + "`kms:CreateGrant`" + ` and similar permissions in the policy of the key.

## Missing permissions

[` + "`karpenter doctor aws`" + `](doctor.md#permissions-on-aws) checks 14 of these permissions before the installation, for the credentials
with which it runs. Afterwards a missing permission shows here:

| Missing | Shows in |
|---|---|
| ` + "`ec2:CreateLaunchTemplate`, `ec2:CreateFleet`, `ec2:RunInstances`; `iam:PassRole` with `spec.instanceProfile`" + ` | EC2NodeClass, condition ` + "`ValidationSucceeded`" + ` False: a launch is tried as a dry run before the class is ready. [Reasons](nodeclasses.md#conditions-and-reasons) |
| reads of images, subnets, security groups and placement groups, ` + "`ssm:GetParameter`" + `, changes of instance profiles and ` + "`iam:PassRole`" + ` | EC2NodeClass, the condition of that step: Unknown with the reason ` + "`NotResolved`" + ` and the error of AWS. A condition that was True stays True |
| ` + "`ec2:TerminateInstances`" + ` | event ` + "`FailedTermination`" + ` on the node and NodeClaim |
| ` + "`ec2:DescribeInstanceTypes`, `ec2:DescribeInstanceTypeOfferings`" + ` | at the start: the controller exits with code 3, and the line ` + "`stopped`" + ` of its log has the error. Later: as the periodic tasks below |
| ` + "`ec2:GetConsoleOutput`, `eks:DescribeAccessEntry`" + ` | the log, once after each start, level ` + "`INFO`: `not authorized to read instance consoles...`, `failed to read whether the cluster admits nodes`" + `. Condition ` + "`NodeJoinDelayed`" + ` states fewer causes |
| ` + "`pricing:GetProducts`, `ec2:DescribeSpotPriceHistory`" + ` | the log, once until prices are read, level ` + "`INFO`: `failed to refresh prices, using cached prices`" + `. [What that changes](prices.md#if-prices-cannot-be-read) |
| those of periodic tasks: instance types, instances without NodeClaim, launch templates and instance profiles to delete, zonal shift, the version of Kubernetes from EKS | the log, level ` + "`ERROR`: `periodic task failed, retrying`" + ` with the task, when it fails first, when the error changes, and once an hour |
| all others, such as ` + "`sqs:ReceiveMessage`, `ec2:CreateTags`" + ` | the log, level ` + "`ERROR`" + `: when the call fails first and when the error changes, and whenever it is repeated or once an hour; at most one line a minute for each cause |
`)
	b.WriteString(features + statements())
	b.WriteString(rbac)
	return []byte(b.String())
}

// features is the section about permissions that only some features need.
const features = `
## Permissions of single features

| Only for | Permission |
|---|---|
| ` + "`--interruption-queue`" + ` | policy Interruption: all permissions of SQS |
| ` + "`--enable-zonal-shift`" + ` | policy ZonalShift |
| gates ` + "`NodeRepair` and `RebootForRepair`" + ` | statement RebootOwn |
| condition ` + "`NodeJoinDelayed`" + ` | statements ReadOwnConsoles and ReadAccessEntries |
| EC2NodeClasses with ` + "`spec.role`" + ` | statements MakeProfiles, TagOwnProfiles and ChangeOwnProfiles |
| ` + "`capacityReservationSelectorTerms`" + ` | ` + "`ec2:DescribeCapacityReservations`" + ` |
| ` + "`placementGroupSelector`" + ` | ` + "`ec2:DescribePlacementGroups`" + ` |
| images by alias or ` + "`ssmParameter`" + ` | statement ReadImageParameters |
| list prices; not with ` + "`--isolated-vpc`" + ` or in GovCloud | statement ReadPrices |
`

// unless says when a policy, by its name, is not needed. Policies without an entry are always needed.
var unless = map[string]string{
	"InstanceProfiles": "if every EC2NodeClass has `spec.instanceProfile`: all statements but two, [below](#instanceprofiles)",
	"Interruption":     "without `--interruption-queue`",
	"ZonalShift":       "without `--enable-zonal-shift`",
}

// files renders the table of the policy files.
func files() string {
	var b strings.Builder
	b.WriteString("| File in `deploy/aws` | The controller | Not needed |\n|---|---|---|\n")
	for _, p := range policy.All(placeholders) {
		allows, _, _ := strings.Cut(p.Why, ".") // the first sentence, without what follows a semicolon
		allows, _, _ = strings.Cut(allows, ";")
		fmt.Fprintf(&b, "| [%s.json](../deploy/aws/%s.json) | %s | %s |\n", p.Name, p.Name, allows, cmp.Or(unless[p.Name], "–"))
	}
	return b.String()
}

// statements renders a section for each policy, with a table of its statements.
func statements() string {
	var b strings.Builder
	for _, p := range policy.All(placeholders) {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n| Statement | Actions | On | If |\n|---|---|---|---|\n", p.Name, capital(p.Why))
		for _, s := range p.Statements {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.Sid, codes(s.Action), codes(resources(s.Resource)), conditions(s.Condition))
		}
	}
	return b.String()
}

// rbac is the section on permissions in the cluster. The roles themselves are templates of the chart.
const rbac = `
## RBAC

A test compares these roles with the audit log of an end-to-end run: a permission that nothing needs fails it, with exceptions that name
their reason (` + "`local/e2e/rights_test.go`" + `). The chart creates all roles; they are in [charts/karpenter/templates](../charts/karpenter/templates).

| Role | Allows |
|---|---|
| ClusterRole of the core | reads NodePools, NodeClaims, pods, nodes, volumes, namespaces, DaemonSets, LimitRanges and PDBs |
| | lists and watches ResourceSlices. Only ` + "`--ignore-dra-requests=false`" + ` needs this. It is always granted, as by upstream's chart |
| | with ` + "`settings.schedulerConfig`" + `, the variable ` + "`SCHEDULER_CONFIG`" + ` in ` + "`controller.env`" + `, or any ` + "`controller.envFrom`" + `: lists and watches Services, ReplicationControllers, ReplicaSets and StatefulSets |
| | with the gate ` + "`NodeOverlay`" + `: reads NodeOverlays and writes their status |
| | with ` + "`controller.dashboard.enabled`" + `: lists ResourceClaims and ResourceClaimTemplates |
| | with the gate ` + "`CapacityBuffer`" + `: reads CapacityBuffers, PodTemplates, Deployments, StatefulSets, ReplicaSets and ResourceQuotas, and writes the status of CapacityBuffers |
| | writes NodeClaims, nodes, events, and the metadata and status of NodePools; evicts and deletes pods |
| | with ` + "`extraPermissions.nominations`" + ` (default): writes the status of pods |
| | with the gate ` + "`PodDeletionCostManagement`" + `: patches pods |
| | with ` + "`controller.metrics.authentication`" + ` or ` + "`controller.dashboard.authentication`" + `: creates TokenReviews and SubjectAccessReviews |
| ClusterRole of the provider | ` + "`aws`, `kwok`, `clusterapi`" + `: reads its node classes and writes their metadata and status |
| | ` + "`kwok`" + `: creates and writes nodes |
| | ` + "`clusterapi`" + `, without ` + "`settings.managementKubeconfig`" + `: reads Clusters, MachineDeployments and templates, creates and deletes what a Machine consists of, creates, writes and deletes Machines |
| | ` + "`remote`" + `: reads the node classes in ` + "`settings.providerNodeClasses`" + ` and writes their status |
| Role in the namespace of the controller | leases; with ` + "`extraPermissions.throttle`" + ` (default) reads the ConfigMap ` + "`karpenter-throttle`" + `; with provider ` + "`clusterapi`" + ` reads all ConfigMaps of the namespace; with ` + "`extraPermissions.configMaps`" + ` (default) creates ConfigMaps, reads ` + "`karpenter-price-book`" + `, writes ` + "`karpenter-discovered-memory`" + `, ` + "`karpenter-cost`" + ` and ` + "`karpenter-decisions`" + `; with ` + "`tests.enabled`" + ` (default) reads the Deployment of the controller; with provider ` + "`remote`" + ` reads and writes ` + "`karpenter-providers`" + ` |
| Role in kube-system | reads the Service ` + "`kube-dns`" + `; with ` + "`extraPermissions.awsAuth`" + ` (default) reads the ConfigMap ` + "`aws-auth`" + ` |
| ClusterRole ` + "`<fullname>-admin`" + `, not for the controller | is aggregated to the ClusterRole ` + "`admin`" + ` of Kubernetes. Users who are bound to ` + "`admin`" + ` by a ClusterRoleBinding may write NodePools, NodeClaims, NodeOverlays and node classes, and so run code on nodes |
| ClusterRole ` + "`<fullname>-view`" + `, not for the controller | is aggregated to the ClusterRole ` + "`view`" + ` of Kubernetes, and so to ` + "`edit`" + ` and ` + "`admin`" + `. Users who are bound to it by a ClusterRoleBinding may read NodePools, NodeClaims, NodeOverlays and node classes; EC2NodeClasses are left out, because user data may have secrets. CapacityBuffers may be read in each namespace where a user has the role, and written by none of these roles |

For these gates, the chart reads ` + "`settings.featureGates`" + ` and the variable ` + "`FEATURE_GATES`" + ` in ` + "`controller.env`" + `. In ` + "`controller.envFrom`" + `,
` + "`FEATURE_GATES`" + ` and ` + "`IGNORE_DRA_REQUESTS`" + ` have no effect: the chart sets both, and ` + "`env`" + ` of a container takes precedence over ` + "`envFrom`" + `.
` + "`SCHEDULER_CONFIG`" + ` has an effect there, unless ` + "`settings.schedulerConfig`" + ` is set.

At its start, the controller checks whether it may list and watch the kinds that only some features need. If it may not, the feature is
off, or does without the kind. A log line ` + "`not authorized to list and watch a resource`" + ` names the feature and the resource. A permission that
is granted later takes effect at the next start.

| Feature | Without the permission |
|---|---|
| ` + "`--scheduler-config`" + ` | selectors are derived from the kinds that may be read; pods without a selector have no default constraints |
| ` + "`--ignore-dra-requests=false`" + ` | nodes do not wait for the drivers of dynamic resources |
| gates ` + "`NodeOverlay`" + `, ` + "`CapacityBuffer`" + ` | off |
| ResourceQuotas for CapacityBuffers | quotas do not limit buffers |
| LimitRanges of DaemonSet pods | the defaults of LimitRanges do not count for DaemonSet pods of new nodes |

` + "`karpenter doctor cluster --as system:serviceaccount:NAMESPACE:NAME`" + ` checks the permissions of the controller in the cluster, and
` + "`helm test`" + ` does the same.

### Users of the commands

The commands use the permissions of the user of ` + "`KUBECONFIG`" + `. If an optional permission is missing, a warning names what is left
out.

| Command | Needs |
|---|---|
| ` + "`plan`" + `, ` + "`explain`" + `, ` + "`top`" + `, ` + "`capture`" + `, ` + "`mcp`" + `; ` + "`cost`" + ` with ` + "`--now`" + ` or without a stored ledger | list, for all namespaces: NodePools, NodeClaims, EC2NodeClasses, NodeOverlays, Nodes, Pods, DaemonSets, Namespaces, PodDisruptionBudgets, PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSINodes. ` + "`top`" + ` also watches them. Kinds that the cluster does not serve are left out |
| | optional, for the [settings of the controller](explain.md#settings-of-the-controller): get the ConfigMaps ` + "`karpenter-decisions`" + ` and ` + "`karpenter-throttle`" + ` in its namespace, or list Deployments |
| | optional: list ConfigMaps named ` + "`karpenter-price-book`" + ` in all namespaces; list LimitRanges, without a warning; for ` + "`explain pod`" + `, list events; for ` + "`cost`" + `, list ` + "`pods.metrics.k8s.io`" + ` |
| | optional, with the gate ` + "`CapacityBuffer`" + `: list CapacityBuffers and ResourceQuotas, and get PodTemplates and workloads |
| | with default spread constraints (` + "`--scheduler-config`" + `): list Services, ReplicationControllers, ReplicaSets, StatefulSets |
| ` + "`cost`" + ` | list ConfigMaps named ` + "`karpenter-cost`" + ` in all namespaces. Without this permission, it needs those of ` + "`plan`" + ` |
| ` + "`capture`" + ` | also, optional: list LimitRanges, PriorityClasses, RuntimeClasses, KWOKNodeClasses and ClusterAPINodeClasses; with ` + "`--follow`" + `, list and watch pods only |
| ` + "`timeline`" + `, ` + "`top`" + ` | get the ConfigMap ` + "`karpenter-decisions`" + ` in the namespace of the controller; ` + "`top`" + ` and ` + "`timeline --follow`" + ` also watch it |
| ` + "`disrupt node`" + ` | the permissions of ` + "`plan`" + `, and get and patch NodeClaims |
| ` + "`consolidate now`" + ` | get, list and patch NodePools |
| ` + "`doctor cluster`" + ` | list what it checks; ` + "`--as`" + ` needs the permission to impersonate |
| ` + "`provider check`" + ` with ` + "`--nodepool`" + ` | get the NodePool and its node class; create, get, list, patch and delete NodeClaims, and patch their status |
| all others | none: they read files |
`

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// codes renders words as code, separated by commas.
func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// resources shortens ARNs to their last part, which names the resource.
func resources(arns []string) []string {
	out := make([]string, len(arns))
	for i, a := range arns {
		parts := strings.SplitN(a, ":", 6)
		out[i] = parts[len(parts)-1]
	}
	return out
}

// conditions renders conditions in words.
func conditions(c policy.Conditions) string {
	var out []string
	for operator, keys := range c {
		for key, value := range keys {
			switch v := value.(type) {
			case []string:
				out = append(out, fmt.Sprintf("`%s` among `%s`", key, strings.Join(v, "`, `")))
			default:
				words := map[string]string{"StringLike": "`%s` is there", "StringEqualsIfExists": "`%s`, if there, is `%v`"}[operator]
				if words == "" {
					words = "`%s` is `%v`"
				}
				if strings.Count(words, "%") == 1 {
					out = append(out, fmt.Sprintf(words, key))
					continue
				}
				out = append(out, fmt.Sprintf(words, key, v))
			}
		}
	}
	if len(out) == 0 {
		return "–"
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
