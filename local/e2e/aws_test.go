package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/local/cluster"
)

// userData returns the user data with which an Amazon Linux 2023 instance joins the cluster.
func userData(t *testing.T, clusterName string) string {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(shared.Cluster.Dir().PKI(), "ca.crt"))
	if err != nil {
		t.Fatal(err)
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
    config: {maxPods: 23}
    flags: ["--node-labels=e2e=joins"]
`, clusterName, shared.Cluster.Endpoint(), base64.StdEncoding.EncodeToString(ca), cluster.ServiceCIDR)
	return base64.StdEncoding.EncodeToString([]byte(text))
}

// launch launches one instance, which is terminated after the test.
func launch(t *testing.T, data string) (id string) {
	t.Helper()
	image, err := ssm.NewFromConfig(shared.AWS()).GetParameter(t.Context(), &ssm.GetParameterInput{
		Name: aws.String("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"),
	})
	if err != nil {
		t.Fatal(err)
	}
	cloud := ec2.NewFromConfig(shared.AWS())
	subnets, err := cloud.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{
		{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{cluster.Name}},
	}})
	if err != nil || len(subnets.Subnets) == 0 {
		t.Fatalf("find subnets of the cluster: %v, %v", subnets, err)
	}
	out, err := cloud.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: image.Parameter.Value, InstanceType: ec2types.InstanceTypeM7aLarge,
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), UserData: aws.String(data),
		SubnetId: subnets.Subnets[0].SubnetId,
	})
	if err != nil {
		t.Fatal(err)
	}
	id = *out.Instances[0].InstanceId
	t.Cleanup(func() {
		_, err := cloud.TerminateInstances(context.Background(),
			&ec2.TerminateInstancesInput{InstanceIds: []string{id}})
		if err != nil {
			t.Error(err)
		}
	})
	return id
}

// An instance with correct user data becomes a ready node with its instance type's capacity. The node is deleted with its
// instance. kubectl and the emulator's list show the same.
func TestInstanceJoins(t *testing.T) {
	id := launch(t, userData(t, cluster.Name))
	var nodes corev1.NodeList
	shared.Await(t, &nodes, func() string {
		for i := range nodes.Items {
			node := &nodes.Items[i]
			if node.Spec.ProviderID == "aws:///"+node.Labels[corev1.LabelTopologyZone]+"/"+id && ready(node) {
				return ""
			}
		}
		return fmt.Sprintf("no ready node of instance %s among %d", id, len(nodes.Items))
	}, client.MatchingLabels{"e2e": "joins"})
	node := nodes.Items[0]
	if pods := node.Status.Allocatable.Pods().Value(); pods != 23 {
		t.Errorf("node takes %d pods, want the 23 of its user data", pods)
	}
	if cpu := node.Status.Capacity.Cpu().Value(); cpu != 2 {
		t.Errorf("node has %d CPUs, want the 2 of m7a.large", cpu)
	}
	if len(node.Spec.Taints) != 0 {
		t.Errorf("node keeps taints %v", node.Spec.Taints)
	}
	instances, err := shared.Steer().Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range instances {
		if i.ID == id && i.Node != node.Name {
			t.Errorf("instance says that it is node %q, the cluster says %q", i.Node, node.Name)
		}
	}
	_, err = ec2.NewFromConfig(shared.AWS()).TerminateInstances(t.Context(),
		&ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	shared.Await(t, &nodes, func() string {
		if len(nodes.Items) == 0 {
			return ""
		}
		return "the node outlives its instance"
	}, client.MatchingLabels{"e2e": "joins"})
}
