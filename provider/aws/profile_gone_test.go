package aws_test

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
)

// If a launch fails because its instance profile was deleted, the class is reconciled. A profile that Karpenter has
// created is created again.
func TestVanishedProfile(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	client := iam.New(iam.Options{
		Region: w.region, BaseEndpoint: awssdk.String(w.url), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	name, role := awssdk.String(w.class(t).Status.InstanceProfile), awssdk.String("KarpenterNodeRole-"+clusterName)
	_, err := client.RemoveRoleFromInstanceProfile(t.Context(), &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: role})
	w.order(t, err)
	_, err = client.DeleteInstanceProfile(t.Context(), &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
	w.order(t, err)

	w.store(t, w.claim("one"))
	if i, err := p.Create(t.Context(), w.load(t, "one")); err == nil {
		t.Fatalf("%s was launched without its profile", i.ProviderID)
	}
	w.reconcile(t, "nodeclass", "default")
	if _, err := p.Create(t.Context(), w.load(t, "one")); err != nil {
		t.Errorf("create once the profile was made again: %v", err)
	}
}

// If spec.instanceProfile of a class does not exist, the class becomes not ready after a failed launch.
func TestNamedProfileDoesNotExist(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	class := w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.Role, s.InstanceProfile = "", ptr.To("none") })
	if !condition.Ready(class) {
		t.Fatalf("the class is not ready before a launch: %+v", class.Status.Conditions)
	}
	w.store(t, w.claim("one"))
	if i, err := p.Create(t.Context(), w.load(t, "one")); err == nil {
		t.Fatalf("%s was launched without its profile", i.ProviderID)
	}
	w.reconcile(t, "nodeclass", "default")
	c := condition.Get(w.class(t), awsv1.ConditionTypeInstanceProfileReady)
	if c.Status != metav1.ConditionFalse || c.Reason != awsv1.ReasonInstanceProfileNotFound || condition.Ready(w.class(t)) {
		t.Errorf("condition is %+v", c)
	}
	class = w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.Role, s.InstanceProfile = "KarpenterNodeRole-"+clusterName, nil })
	if !condition.Ready(class) {
		t.Errorf("with a role the class is not ready: %+v", class.Status.Conditions)
	}
}
