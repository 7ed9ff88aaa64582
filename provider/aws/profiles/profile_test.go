package profiles

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/smithy-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// account is a fake of IAM with profiles and the role "nodes".
type account struct {
	profiles map[string]*iamtypes.InstanceProfile
	calls    []string
	// taken makes CreateInstanceProfile fail, because another process has just created the profile.
	taken bool
	// beforeAdd, if set, is called before a role is added to a profile.
	beforeAdd func()
}

func missing(operation, message string) error {
	return &smithy.OperationError{
		ServiceID: "IAM", OperationName: operation, Err: &smithy.GenericAPIError{Code: "NoSuchEntity", Message: message},
	}
}

func (a *account) GetInstanceProfile(
	_ context.Context, in *iam.GetInstanceProfileInput, _ ...func(*iam.Options),
) (*iam.GetInstanceProfileOutput, error) {
	a.calls = append(a.calls, "get")
	p := a.profiles[*in.InstanceProfileName]
	if p == nil {
		return nil, missing("GetInstanceProfile", "no such profile")
	}
	return &iam.GetInstanceProfileOutput{InstanceProfile: p}, nil
}

func (a *account) CreateInstanceProfile(
	_ context.Context, in *iam.CreateInstanceProfileInput, _ ...func(*iam.Options),
) (*iam.CreateInstanceProfileOutput, error) {
	a.calls = append(a.calls, "create")
	a.profiles[*in.InstanceProfileName] = &iamtypes.InstanceProfile{
		InstanceProfileName: in.InstanceProfileName, Path: in.Path, Tags: in.Tags,
	}
	if a.taken {
		return nil, &smithy.GenericAPIError{Code: "EntityAlreadyExists"}
	}
	return &iam.CreateInstanceProfileOutput{}, nil
}

func (a *account) AddRoleToInstanceProfile(
	_ context.Context, in *iam.AddRoleToInstanceProfileInput, _ ...func(*iam.Options),
) (*iam.AddRoleToInstanceProfileOutput, error) {
	a.calls = append(a.calls, "add")
	if a.beforeAdd != nil {
		a.beforeAdd()
	}
	if !strings.HasPrefix(*in.RoleName, "nodes") {
		return nil, missing("AddRoleToInstanceProfile", "The role with name "+*in.RoleName+" cannot be found.")
	}
	p := a.profiles[*in.InstanceProfileName]
	if p == nil {
		return nil, missing("AddRoleToInstanceProfile", "Instance Profile "+*in.InstanceProfileName+" cannot be found.")
	}
	p.Roles = append(p.Roles, iamtypes.Role{RoleName: in.RoleName})
	return &iam.AddRoleToInstanceProfileOutput{}, nil
}

func (a *account) ListInstanceProfiles(
	_ context.Context, in *iam.ListInstanceProfilesInput, _ ...func(*iam.Options),
) (*iam.ListInstanceProfilesOutput, error) {
	out := &iam.ListInstanceProfilesOutput{}
	for _, p := range a.profiles {
		if strings.HasPrefix(aws.ToString(p.Path), *in.PathPrefix) {
			out.InstanceProfiles = append(out.InstanceProfiles, *p)
		}
	}
	return out, nil
}

func (a *account) RemoveRoleFromInstanceProfile(
	_ context.Context, in *iam.RemoveRoleFromInstanceProfileInput, _ ...func(*iam.Options),
) (*iam.RemoveRoleFromInstanceProfileOutput, error) {
	a.calls = append(a.calls, "remove")
	a.profiles[*in.InstanceProfileName].Roles = nil
	return &iam.RemoveRoleFromInstanceProfileOutput{}, nil
}

func (a *account) DeleteInstanceProfile(
	_ context.Context, in *iam.DeleteInstanceProfileInput, _ ...func(*iam.Options),
) (*iam.DeleteInstanceProfileOutput, error) {
	a.calls = append(a.calls, "delete")
	p := a.profiles[*in.InstanceProfileName]
	if p == nil {
		return nil, missing("DeleteInstanceProfile", "no such profile")
	}
	if len(p.Roles) > 0 {
		return nil, &smithy.GenericAPIError{Code: "DeleteConflict"}
	}
	delete(a.profiles, *in.InstanceProfileName)
	return &iam.DeleteInstanceProfileOutput{}, nil
}

func keeper() (*Profiles, *account, *clocktesting.FakePassiveClock) {
	a := &account{profiles: map[string]*iamtypes.InstanceProfile{}}
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	return New(Config{API: a, Removal: a, Cluster: "c", Region: "r", Clock: clock}), a, clock
}

func class(role string) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "u"}}
	c.Spec.Role = role
	return c
}

func ensure(t *testing.T, p *Profiles, c *awsv1.EC2NodeClass) string {
	t.Helper()
	name, err := p.Ensure(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.Status.InstanceProfile = name
	return name
}

func TestEnsure(t *testing.T) {
	p, a, clock := keeper()
	c := class("some/path/nodes")
	name := ensure(t, p, c)
	made := a.profiles[name]
	if made == nil || *made.Path != "/karpenter/r/c/u/" || len(made.Roles) != 1 || *made.Roles[0].RoleName != "nodes" {
		t.Fatalf("made %+v", made)
	}
	tags := map[string]string{}
	for _, tag := range made.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if tags["kubernetes.io/cluster/c"] != "owned" || tags["topology.kubernetes.io/region"] != "r" || len(tags) != 4 {
		t.Errorf("tags are %v", tags)
	}
	a.calls = nil
	if ensure(t, p, c); len(a.calls) != 0 {
		t.Errorf("asked again at once: %v", a.calls)
	}
	clock.SetTime(time.Unix(16*60, 0))
	if again := ensure(t, p, c); again != name || !slices.Equal(a.calls, []string{"get"}) {
		t.Errorf("later: %s, %v", again, a.calls)
	}
	other, _, _ := keeper()
	other.api, other.removal = a, a
	if again := ensure(t, other, class("nodes")); again != name {
		t.Errorf("another process made %s, not %s", again, name)
	}
	c.Spec.Role = "nodes-2"
	if changed := ensure(t, p, c); changed == name || len(a.profiles) != 2 {
		t.Errorf("another role has profile %s", changed)
	}
}

// A profile of another origin that has the role is kept, so that nodes do not drift when the controller is replaced.
func TestEnsureKeepsWhatIsRight(t *testing.T) {
	p, a, _ := keeper()
	a.profiles["old"] = &iamtypes.InstanceProfile{InstanceProfileName: aws.String("old"), Roles: []iamtypes.Role{{RoleName: aws.String("nodes")}}}
	c := class("nodes")
	c.Status.InstanceProfile = "old"
	if name := ensure(t, p, c); name != "old" {
		t.Errorf("replaced by %s", name)
	}
	c.Spec.InstanceProfile = ptr.To("given")
	if name := ensure(t, p, c); name != "given" {
		t.Errorf("a given profile became %s", name)
	}
}

func TestMissingRole(t *testing.T) {
	p, a, clock := keeper()
	c := class("nobody")
	if _, err := p.Ensure(t.Context(), c); !errors.Is(err, ErrNoRole) {
		t.Fatalf("error is %v", err)
	}
	if len(a.profiles) != 0 {
		t.Error("a profile without role was left behind")
	}
	a.calls = nil
	if _, err := p.Ensure(t.Context(), c); !errors.Is(err, ErrNoRole) || len(a.calls) != 0 {
		t.Errorf("at once: %v after %v", err, a.calls)
	}
	clock.SetTime(time.Unix(61, 0))
	if _, err := p.Ensure(t.Context(), c); !errors.Is(err, ErrNoRole) || len(a.calls) == 0 {
		t.Errorf("a minute later: %v after %v", err, a.calls)
	}
}

// A profile may disappear before its role is added. The role exists then, so the other classes with that role are not affected.
func TestProfileDisappears(t *testing.T) {
	p, a, _ := keeper()
	a.beforeAdd = func() { clear(a.profiles) }
	if _, err := p.Ensure(t.Context(), class("nodes")); err == nil || errors.Is(err, ErrNoRole) {
		t.Errorf("error is %v", err)
	}
	a.beforeAdd = nil
	other := class("nodes")
	other.UID = "v"
	ensure(t, p, other)
}

// Sweep may run while Ensure creates a profile. It keeps that profile, although no class has its name yet.
func TestSweepKeepsProfileInCreation(t *testing.T) {
	p, a, _ := keeper()
	a.beforeAdd = func() {
		if err := p.Sweep(t.Context(), func(string) bool { return false }); err != nil {
			t.Error(err)
		}
	}
	if name := ensure(t, p, class("nodes")); a.profiles[name] == nil {
		t.Errorf("%s was deleted", name)
	}
}

// A profile that another process has created in the meantime is not deleted if the role cannot be added.
func TestMissingRoleOfTakenProfile(t *testing.T) {
	p, a, _ := keeper()
	a.taken = true
	if _, err := p.Ensure(t.Context(), class("nobody")); !errors.Is(err, ErrNoRole) {
		t.Fatalf("error is %v", err)
	}
	if len(a.profiles) != 1 || slices.Contains(a.calls, "delete") {
		t.Errorf("%d profiles after %v", len(a.profiles), a.calls)
	}
}

// The profile that an earlier version of upstream created is deleted with its class if it has the tag of the cluster.
func TestLegacyRemoval(t *testing.T) {
	sum := fnv.New64()
	sum.Write([]byte("rdefault")) // region and name of the class
	name := fmt.Sprintf("c_%d", sum.Sum64())
	owned := []iamtypes.Tag{{Key: aws.String("kubernetes.io/cluster/c"), Value: aws.String("owned")}}
	for what, tt := range map[string]struct {
		cluster string
		tags    []iamtypes.Tag
		stays   bool
	}{
		"ours": {"c", owned, false}, "of other origin": {"c", nil, true},
	} {
		p, a, _ := keeper()
		a.profiles[name] = &iamtypes.InstanceProfile{
			InstanceProfileName: aws.String(name), Path: aws.String("/"), Tags: tt.tags, Roles: []iamtypes.Role{{RoleName: aws.String("nodes")}},
		}
		if err := p.RemoveOf(t.Context(), class("nodes")); err != nil || (a.profiles[name] != nil) != tt.stays {
			t.Errorf("%s: %v, left are %v", what, err, a.profiles)
		}
	}
	for cluster, wants := range map[string]int{"c": 1, "not/a name": 0} {
		p, a, _ := keeper()
		p.cluster = cluster
		if err := p.RemoveOf(t.Context(), class("nodes")); err != nil || len(a.calls) != wants {
			t.Errorf("cluster %q without such a profile: %v, calls %v", cluster, err, a.calls)
		}
	}
}

func TestRemoval(t *testing.T) {
	p, a, clock := keeper()
	c := class("nodes")
	mine := ensure(t, p, c)
	a.profiles["theirs"] = &iamtypes.InstanceProfile{InstanceProfileName: aws.String("theirs"), Path: aws.String("/")}
	for n := range 2 {
		name := fmt.Sprint("left-", n)
		a.profiles[name] = &iamtypes.InstanceProfile{
			InstanceProfileName: aws.String(name), Path: aws.String("/karpenter/r/c/x/"), Roles: []iamtypes.Role{{RoleName: aws.String("nodes")}},
		}
	}
	used := func(name string) bool { return name == "left-1" }
	if err := p.Sweep(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	if a.profiles["left-0"] != nil || a.profiles["left-1"] == nil || a.profiles[mine] == nil || a.profiles["theirs"] == nil {
		t.Errorf("left are %v", a.profiles)
	}
	clock.SetTime(time.Unix(3601, 0)) // new profiles are kept for an hour
	if err := p.Sweep(t.Context(), used); err != nil || a.profiles[mine] != nil {
		t.Errorf("after an hour: %v, %v", err, a.profiles)
	}
	c.Status.InstanceProfile = ""
	mine = ensure(t, p, c)
	if err := p.RemoveOf(t.Context(), c); err != nil || a.profiles[mine] != nil || a.profiles["left-1"] == nil {
		t.Errorf("after removal of the class: %v, %v", err, a.profiles)
	}
}
