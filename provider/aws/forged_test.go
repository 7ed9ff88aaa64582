package aws_test

import (
	"errors"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// A NodeClaim whose status names an instance that is not of this cluster does not cause the termination or reboot of
// that instance, whatever the policies of the controller's role allow. The error has the reason.
func TestForgedProviderID(t *testing.T) {
	for _, tt := range []struct {
		name   string
		remove []string          // tags
		add    map[string]string // tags
	}{
		{"of another cluster", []string{awsv1.TagClusterPrefix + clusterName}, map[string]string{
			awsv1.TagEKSClusterName: "other", awsv1.TagClusterPrefix + "other": "owned",
		}},
		{"of a managed node group", []string{awsv1.TagNodePool, awsv1.TagNodeClass}, map[string]string{"eks:nodegroup-name": "system"}},
		{"of no cluster", []string{awsv1.TagNodePool, awsv1.TagNodeClass, awsv1.TagEKSClusterName, awsv1.TagClusterPrefix + clusterName}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			p := w.start(t)
			w.store(t, w.claim("victim"))
			victim := create(t, p, w.load(t, "victim"))
			_, id, _ := instances.ParseProviderID(victim.ProviderID)
			api := w.compute()
			if len(tt.remove) > 0 {
				in := &ec2.DeleteTagsInput{Resources: []string{id}}
				for _, key := range tt.remove {
					in.Tags = append(in.Tags, ec2types.Tag{Key: awssdk.String(key)})
				}
				if _, err := api.DeleteTags(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			for key, value := range tt.add {
				_, err := api.CreateTags(t.Context(), &ec2.CreateTagsInput{
					Resources: []string{id}, Tags: []ec2types.Tag{{Key: awssdk.String(key), Value: awssdk.String(value)}},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			w.store(t, w.claim("forged"))
			w.launched(t, "forged", victim)
			forged := w.load(t, "forged")
			forged.Status.NodeName = "node"
			if err := w.kube.Status().Update(t.Context(), forged); err != nil {
				t.Fatal(err)
			}
			for what, act := range map[string]func() error{
				"delete": func() error { return p.Delete(t.Context(), w.load(t, "forged")) },
				"reboot": func() error { return p.Reboot(t.Context(), w.load(t, "forged"), "") },
			} {
				err := act()
				if err == nil || errors.Is(err, cloud.ErrNotFound) || !strings.Contains(err.Error(), id) {
					t.Errorf("%s gives %v, want an error about %s", what, err, id)
				}
			}
			tagged := len(w.calls(t, "CreateTags"))
			w.reconcile(t, "nodeclaim.tagging", "forged")
			if n := len(w.calls(t, "CreateTags")); n != tagged {
				t.Errorf("the victim was tagged")
			}
			if n := len(w.alive(t)); n != 1 {
				t.Errorf("%d instances run, want the victim", n)
			}
			if n := len(w.calls(t, "RebootInstances")); n != 0 {
				t.Errorf("the victim was rebooted %d times", n)
			}
		})
	}
}
