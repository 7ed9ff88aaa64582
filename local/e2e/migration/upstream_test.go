package migration

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// Keys and values that upstream's v1.x writes, as literals, so that these tests do not depend on this project's constants.
const (
	poolHashKey, poolHashVersionKey   = "karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version"
	classHashKey, classHashVersionKey = "karpenter.k8s.aws/ec2nodeclass-hash", "karpenter.k8s.aws/ec2nodeclass-hash-version"
	claimFinalizer                    = "karpenter.sh/termination"
	classFinalizer                    = "karpenter.k8s.aws/termination"
	// defaultHash is upstream's hash of a template with class default and expireAfter 720h, and no other hashed field.
	defaultHash = "6821555240594823858"
	// classHash and classVersion are the hash of upstream's node class and its version. This project uses another algorithm, so
	// any number will do.
	classHash, classVersion = "14403193129158846410", "v6"
)

// upstreamType is the instance type of all of upstream's nodes.
const upstreamType = "m7i.large"

// typeLabels returns the labels that upstream sets on nodes of upstreamType.
func typeLabels() map[string]string {
	out := map[string]string{
		"node.kubernetes.io/instance-type": upstreamType, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"topology.kubernetes.io/region": cluster.Region,
	}
	for key, value := range map[string]string{
		"instance-category": "m", "instance-family": "m7i", "instance-generation": "7", "instance-size": "large",
		"instance-cpu": "2", "instance-cpu-manufacturer": "intel", "instance-memory": "8192", "instance-hypervisor": "nitro",
		"instance-encryption-in-transit-supported": "true", "instance-capability-flex": "false", "instance-tenancy": "default",
	} {
		out["karpenter.k8s.aws/"+key] = value
	}
	return out
}

// upstreamClass returns a node class with the fields that upstream sets.
func upstreamClass() *awsv1.EC2NodeClass {
	mine := map[string]string{"karpenter.sh/discovery": cluster.Name}
	return &awsv1.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: "default", Finalizers: []string{classFinalizer},
			Annotations: map[string]string{classHashKey: classHash, classHashVersionKey: classVersion},
		},
		Spec: awsv1.EC2NodeClassSpec{
			Role:                       "KarpenterNodeRole-local",
			AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
			SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: mine}},
			SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: mine}},
		},
	}
}

// upstreamPool returns a pool with the fields that upstream sets. Its nodes have only one type, so no replacement is cheaper.
func upstreamPool(name string, budgets ...apiv1.Budget) *apiv1.NodePool {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{poolHashKey: defaultHash, poolHashVersionKey: "v3", "karpenter.sh/stored-version-migrated": "true"},
	}}
	pool.Spec.Disruption.Budgets = budgets
	pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("0s")
	pool.Spec.Template.Spec = apiv1.NodeClaimTemplateSpec{
		ExpireAfter:  apiv1.MustParseNillableDuration("720h"),
		NodeClassRef: &apiv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"},
		Requirements: []apiv1.NodeSelectorRequirementWithMinValues{
			{Key: "karpenter.sh/capacity-type", Operator: "In", Values: []string{"on-demand"}},
			{Key: "node.kubernetes.io/instance-type", Operator: "In", Values: []string{upstreamType}},
		},
	}
	return pool
}

// An upstreamNode is a node of upstream with its claim and the ID of its instance.
type upstreamNode struct {
	claim *apiv1.NodeClaim
	node  *corev1.Node
	id    string // of the instance
}

// upstreamNode launches an instance as upstream does, waits until it has joined, and creates upstream's objects for it.
func (p *place) upstreamNode(t *testing.T, pool *apiv1.NodePool, name string) upstreamNode {
	t.Helper()
	i := p.launch(t, launch{
		labels: map[string]string{"karpenter.sh/nodepool": pool.Name, "karpenter.sh/capacity-type": "on-demand"},
		tags: map[string]string{
			"karpenter.sh/nodepool": pool.Name, "karpenter.sh/nodeclaim": name, "karpenter.k8s.aws/ec2nodeclass": "default",
			"kubernetes.io/cluster/" + cluster.Name: "owned", "eks:eks-cluster-name": cluster.Name,
		},
	})
	node := p.joined(t, i.id)
	labels := typeLabels()
	maps.Copy(labels, map[string]string{
		"karpenter.sh/nodepool": pool.Name, "karpenter.sh/capacity-type": "on-demand", "karpenter.k8s.aws/ec2nodeclass": "default",
		"topology.kubernetes.io/zone": i.zone, "topology.k8s.aws/zone-id": i.zoneID,
	})
	annotations := map[string]string{
		poolHashKey: defaultHash, poolHashVersionKey: "v3", classHashKey: classHash, classHashVersionKey: classVersion,
		"karpenter.k8s.aws/tagged": "true", "compatibility.karpenter.k8s.aws/cluster-name-tagged": "true",
		"karpenter.k8s.aws/instance-profile-name": "local_9387251637712374928", "karpenter.sh/nodeclaim-min-values-relaxed": "false",
		"karpenter.sh/stored-version-migrated": "true",
	}
	claim := upstreamClaim(pool, name, labels, annotations)
	p.put(t, claim)
	told(claim, i, node)
	if err := p.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	p.register(t, node, claim)
	return upstreamNode{claim: claim, node: node, id: i.id}
}

func upstreamClaim(pool *apiv1.NodePool, name string, labels, annotations map[string]string) *apiv1.NodeClaim {
	yes := true
	spec := pool.Spec.Template.Spec
	return &apiv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: pool.Name + "-", Labels: labels, Annotations: annotations, Finalizers: []string{claimFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: pool.Name, UID: pool.UID, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: apiv1.NodeClaimSpec{
			NodeClassRef: spec.NodeClassRef, ExpireAfter: spec.ExpireAfter,
			Requirements: append(slices.Clone(spec.Requirements),
				apiv1.NodeSelectorRequirementWithMinValues{Key: "karpenter.sh/nodepool", Operator: "In", Values: []string{pool.Name}}),
			Resources: apiv1.ResourceRequirements{Requests: corev1.ResourceList{
				"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("2"),
			}},
		},
	}
}

// told sets the status of a claim whose node is ready.
func told(claim *apiv1.NodeClaim, i instance, node *corev1.Node) {
	claim.Status.NodeName, claim.Status.ProviderID, claim.Status.ImageID = node.Name, node.Spec.ProviderID, i.image
	claim.Status.Capacity, claim.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	claim.Status.LastPodEventTime = now
	for _, c := range []string{"Launched", "Registered", "Initialized", "ConsistentStateFound", "Ready"} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
			Type: c, Status: "True", Reason: c, LastTransitionTime: now, ObservedGeneration: claim.Generation,
		})
	}
}

// register writes the labels and other fields of a Node that upstream writes.
func (p *place) register(t *testing.T, node *corev1.Node, claim *apiv1.NodeClaim) {
	t.Helper()
	yes, before := true, node.DeepCopy()
	maps.Copy(node.Labels, claim.Labels)
	node.Labels["karpenter.sh/registered"], node.Labels["karpenter.sh/initialized"] = "true", "true"
	node.Finalizers = append(node.Finalizers, claimFinalizer)
	for key, value := range claim.Annotations {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, value)
	}
	node.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: claim.Name, UID: claim.UID, BlockOwnerDeletion: &yes,
	}}
	if err := p.Patch(t.Context(), node, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.remove(t, node) })
}

// launch describes an instance that joins the cluster.
type launch struct {
	labels map[string]string // labels from kubelet's arguments
	taints string            // taints as the value of kubelet's flag
	tags   map[string]string
}

// instance is the launched instance.
type instance struct{ id, zone, zoneID, image string }

// launch launches an instance, which is terminated when the test ends.
func (p *place) launch(t *testing.T, order launch) instance {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	cloud := ec2.NewFromConfig(p.AWS())
	ours := []ec2types.Filter{{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{cluster.Name}}}
	subnets, err := cloud.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: ours})
	if err != nil || len(subnets.Subnets) == 0 {
		t.Fatalf("find subnets: %v, %v", subnets, err)
	}
	groups, err := cloud.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: ours})
	if err != nil || len(groups.SecurityGroups) == 0 {
		t.Fatalf("find security groups: %v, %v", groups, err)
	}
	image, err := ssm.NewFromConfig(p.AWS()).GetParameter(ctx, &ssm.GetParameterInput{
		Name: aws.String("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"),
	})
	if err != nil {
		t.Fatal(err)
	}
	in := &ec2.RunInstancesInput{
		ImageId: image.Parameter.Value, InstanceType: upstreamType, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: subnets.Subnets[0].SubnetId, UserData: aws.String(p.userData(t, order)),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance}},
	}
	for _, g := range groups.SecurityGroups {
		in.SecurityGroupIds = append(in.SecurityGroupIds, *g.GroupId)
	}
	for key, value := range order.tags {
		in.TagSpecifications[0].Tags = append(in.TagSpecifications[0].Tags, ec2types.Tag{Key: &key, Value: &value})
	}
	out, err := cloud.RunInstances(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	id := *out.Instances[0].InstanceId
	t.Cleanup(func() { p.terminate(t, id) })
	return instance{
		id: id, image: *image.Parameter.Value,
		zone: *subnets.Subnets[0].AvailabilityZone, zoneID: *subnets.Subnets[0].AvailabilityZoneId,
	}
}

func (p *place) terminate(t *testing.T, id string) {
	t.Helper()
	_, err := ec2.NewFromConfig(p.AWS()).TerminateInstances(context.WithoutCancel(t.Context()),
		&ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Error(err)
	}
}

// userData returns the user data with which an Amazon Linux 2023 instance joins the cluster.
func (p *place) userData(t *testing.T, order launch) string {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(p.Cluster.Dir().PKI(), "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(order.labels)) {
		labels = append(labels, key+"="+order.labels[key])
	}
	flags := fmt.Sprintf("%q", "--node-labels="+strings.Join(labels, ","))
	if order.taints != "" {
		flags += fmt.Sprintf(", %q", "--register-with-taints="+order.taints)
	}
	text := fmt.Sprintf(`apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: %s
  kubelet:
    config: {maxPods: 29}
    flags: [%s]
`, cluster.Name, p.Cluster.Endpoint(), base64.StdEncoding.EncodeToString(ca), cluster.ServiceCIDR, flags)
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// joined waits until the Node of an instance is ready, and returns it.
func (p *place) joined(t *testing.T, id string) *corev1.Node {
	t.Helper()
	var found *corev1.Node
	p.Poll(t, func(context.Context) string {
		var nodes corev1.NodeList
		if err := p.List(t.Context(), &nodes); err != nil {
			return err.Error()
		}
		for i := range nodes.Items {
			if n := &nodes.Items[i]; strings.HasSuffix(n.Spec.ProviderID, "/"+id) && ready(n) {
				found = n
				return ""
			}
		}
		return "instance " + id + " has no ready node"
	})
	return found
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
