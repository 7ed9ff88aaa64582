package aws_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/policy"
)

// permitted returns the published policies as documents, by name.
func permitted(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, p := range policy.All(policy.Scope{
		Partition: "aws", Region: "us-east-1", Account: "123456789012", Cluster: clusterName,
		NodeRole: "KarpenterNodeRole-" + clusterName, Queue: clusterName,
	}) {
		text, err := p.Document()
		if err != nil {
			t.Fatal(err)
		}
		docs[p.Name] = string(text)
	}
	return docs
}

// actionsOf lists the actions that documents allow.
func actionsOf(t *testing.T, docs map[string]string) []string {
	t.Helper()
	all := map[string]bool{}
	for _, text := range docs {
		var d struct{ Statement []struct{ Action []string } }
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Statement {
			for _, a := range s.Action {
				all[a] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (w *world) hold(t *testing.T, docs map[string]string) {
	t.Helper()
	if err := w.control.SetPolicy(t.Context(), slices.Sorted(maps.Values(docs))...); err != nil {
		t.Fatal(err)
	}
}

// live makes every call of AWS that a controller makes, from the creation of a class to its deletion.
func (w *world) live(t *testing.T) {
	t.Helper()
	p := w.startWith(t, func(c *aws.Config) {
		c.Settings.InterruptionQueue, c.Settings.EnableZonalShift, c.Settings.EKSControlPlane = clusterName, true, true
	})
	for _, task := range []string{"providers.pricing", "providers.version", "zonalshift", "providers.instancetype"} {
		w.reconcile(t, task, "")
	}
	w.reserve(t, control.Reservation{Type: "m5.4xlarge", Zone: "us-east-1b", Count: 1})
	reserved := create(t, p, w.anyCapacity(t, "reserved"))
	w.launched(t, "reserved", reserved)
	spot := w.running(t, p, "spot", "spot")
	w.running(t, p, "plain", "on-demand")
	for _, name := range []string{"spot", "plain"} {
		claim := w.load(t, name)
		claim.Status.NodeName = "node-" + name
		if err := w.kube.Status().Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		w.reconcile(t, "nodeclaim.tagging", name)
	}
	if _, err := p.List(t.Context()); err != nil {
		t.Error(err)
	}
	w.late(t, "plain")
	if _, err := w.control.Interrupt(t.Context(), control.Interrupt{Instance: instanceID(spot)}); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "interruption", "")
	w.reconcile(t, "interruption.instancestatus", "")
	if err := p.Reboot(t.Context(), w.load(t, "plain"), "operation"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"reserved", "spot", "plain"} {
		claim := w.load(t, name)
		if err := p.Delete(t.Context(), claim); err != nil {
			t.Error(err)
		}
		claim.Finalizers = nil
		if err := w.kube.Update(t.Context(), claim); err != nil {
			t.Error(err)
		}
		if err := w.kube.Delete(t.Context(), claim); err != nil && claim.DeletionTimestamp == nil {
			t.Error(err)
		}
	}
	if _, err := w.control.Place(t.Context(), control.Placement{Name: "rack", Strategy: "cluster"}); err != nil {
		t.Fatal(err)
	}
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) {
		s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "rack"}
	})
	placed := w.claimFor(t, "placed", "m5.large")
	create(t, p, placed)
	for _, task := range []string{"instance.garbagecollection", "launchtemplate.garbagecollection", "instanceprofile.garbagecollection"} {
		w.reconcile(t, task, "")
	}
	if err := w.kube.Delete(t.Context(), w.load(t, "placed")); err != nil {
		t.Fatal(err)
	}
	if err := w.kube.Delete(t.Context(), w.class(t)); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "nodeclass", "default")
}

// The published policies allow all that the controller does, and everything in them is used.
func TestPolicyIsEnough(t *testing.T) {
	w := newWorld(t)
	w.afterNew = func() {} // launches are rehearsed
	docs := permitted(t)
	w.hold(t, docs)
	w.live(t)
	used := map[string]bool{"iam:PassRole": true, "iam:TagInstanceProfile": true, "ec2:CreateTags": true} // used with others
	calls, err := w.control.Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	prefix := map[string]string{"arc": "arc-zonal-shift"}
	for _, c := range calls {
		if c.Code == fault.Unauthorized || strings.HasPrefix(c.Code, "AccessDenied") {
			t.Errorf("%s:%s with %v is denied", c.Service, c.Action, c.Params)
		}
		service := c.Service
		if p := prefix[service]; p != "" {
			service = p
		}
		used[service+":"+strings.TrimSuffix(c.Action, "Batch")] = true
	}
	for _, a := range actionsOf(t, docs) {
		if !used[a] {
			t.Errorf("%s is allowed, and never used", a)
		}
	}
}

// The policies do not allow changes of resources of others. A missing permission is reported in the class's condition.
func TestPolicyIsNoMoreThanThat(t *testing.T) {
	w := newWorld(t)
	w.afterNew = func() {}
	p := w.start(t)
	i := create(t, p, w.claimFor(t, "ours", "m5.large"))
	docs := permitted(t)
	w.hold(t, docs)
	client := ec2.New(ec2.Options{
		Region: "us-east-1", BaseEndpoint: awssdk.String(w.url), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		RetryMaxAttempts: 1,
	})
	_, err := client.RunInstances(t.Context(), &ec2.RunInstancesInput{MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), InstanceType: "m5.large"})
	if fault.Code(err) != fault.Unauthorized {
		t.Errorf("an instance without tags: %v", err)
	}
	if _, err = client.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{instanceID(i)}}); fault.Code(err) != fault.Unauthorized {
		t.Errorf("taking tags away: %v", err)
	}
	foreign := map[string]string{}
	for name, text := range docs {
		foreign[name] = strings.ReplaceAll(text, `kubernetes.io/cluster/`+clusterName, `kubernetes.io/cluster/another`)
	}
	w.hold(t, foreign)
	if _, err = client.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{instanceID(i)}}); fault.Code(err) != fault.Unauthorized {
		t.Errorf("ending another cluster's instance: %v", err)
	}
	if _, err = client.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: []string{instanceID(i)}}); fault.Code(err) != fault.Unauthorized {
		t.Errorf("rebooting another cluster's instance: %v", err)
	}
	w.hold(t, docs)
	if _, err = client.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{instanceID(i)}}); err != nil {
		t.Errorf("ending our own: %v", err)
	}
	w.profilesOfOthers(t)

	less := maps.Clone(docs)
	less["NodeLifecycle"] = strings.ReplaceAll(less["NodeLifecycle"], "ec2:CreateFleet", "ec2:NoFleet")
	w.hold(t, less)
	class := w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.Tags = map[string]string{"team": "web"} })
	c := condition.Get(class, awsv1.ConditionTypeValidationSucceeded)
	if c.Reason != awsv1.ReasonCreateFleetAuthCheckFailed || !strings.Contains(c.Message, "not authorized to create fleets") {
		t.Errorf("without CreateFleet the condition is %+v", c)
	}
	w.hold(t, docs)
	if class = w.respec(t, func(*awsv1.EC2NodeClassSpec) {}); !condition.Ready(class) {
		t.Errorf("allowed again, the class is %+v", class.Status.Conditions)
	}
}

// profilesOfOthers checks that a profile without the tags of the cluster cannot be tagged as one of the cluster, and that tags of a
// profile of the cluster can be changed.
func (w *world) profilesOfOthers(t *testing.T) {
	t.Helper()
	client := iam.New(iam.Options{
		Region: "us-east-1", BaseEndpoint: awssdk.String(w.url), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		RetryMaxAttempts: 1,
	})
	var tags []iamtypes.Tag
	for key, value := range map[string]string{
		"kubernetes.io/cluster/" + clusterName: "owned", "eks:eks-cluster-name": clusterName,
		"topology.kubernetes.io/region": "us-east-1", "karpenter.k8s.aws/ec2nodeclass": "default",
	} {
		tags = append(tags, iamtypes.Tag{Key: awssdk.String(key), Value: awssdk.String(value)})
	}
	docs := permitted(t)
	w.hold(t, nil)
	foreign, own := awssdk.String("foreign"), awssdk.String("own")
	if _, err := client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: foreign}); err != nil {
		t.Fatal(err)
	}
	w.hold(t, docs)
	_, err := client.TagInstanceProfile(t.Context(), &iam.TagInstanceProfileInput{InstanceProfileName: foreign, Tags: tags})
	if !strings.HasPrefix(fault.Code(err), "AccessDenied") {
		t.Errorf("tagging a profile of other origin as ours: %v", err)
	}
	if _, err := client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: own, Tags: tags}); err != nil {
		t.Errorf("creating our own profile: %v", err)
	}
	if _, err := client.TagInstanceProfile(t.Context(), &iam.TagInstanceProfileInput{InstanceProfileName: own, Tags: tags}); err != nil {
		t.Errorf("tagging our own profile: %v", err)
	}
	_, err = client.TagInstanceProfile(t.Context(), &iam.TagInstanceProfileInput{InstanceProfileName: own, Tags: tags[:1]})
	if !strings.HasPrefix(fault.Code(err), "AccessDenied") {
		t.Errorf("tagging our own profile without all tags of the cluster: %v", err)
	}
}

// No policy has the name of a service of one partition.
func TestPolicyOfPartition(t *testing.T) {
	for suffix, scope := range map[string]policy.Scope{
		"amazonaws.com": {Partition: "aws-us-gov"}, "amazonaws.com.cn": {Partition: "aws-cn"}, "${suffix}": {Suffix: "${suffix}"},
	} {
		found := false
		for _, p := range policy.All(scope) {
			text, err := p.Document()
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), `"ec2.`+suffix+`"`)
			if strings.Contains(strings.ReplaceAll(string(text), `"ec2.`+suffix+`"`, ""), "amazonaws.com") {
				t.Errorf("%s names a service of another partition:\n%s", p.Name, text)
			}
		}
		if !found {
			t.Errorf("no policy passes a role to ec2.%s", suffix)
		}
	}
}

// A managed policy can have 6144 characters, without white space. Policies with the longest names must not exceed that.
func TestPolicySize(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, p := range policy.All(policy.Scope{Partition: "aws-us-gov", Region: "us-gov-west-1", Account: "123456789012", Cluster: long, NodeRole: "KarpenterNodeRole-" + long[:40], Queue: long[:80]}) {
		text, err := p.Document()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Join(strings.Fields(string(text)), "")); n > 6144 {
			t.Errorf("policy %s has %d characters", p.Name, n)
		}
	}
}
