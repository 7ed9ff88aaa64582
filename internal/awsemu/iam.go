package awsemu

import (
	"fmt"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// iamActions returns IAM's operations.
func (e *Emulator) iamActions() map[string]handler {
	return map[string]handler{
		"GetRole":                       e.getRole,
		"GetInstanceProfile":            e.getInstanceProfile,
		"CreateInstanceProfile":         e.createInstanceProfile,
		"DeleteInstanceProfile":         e.deleteInstanceProfile,
		"AddRoleToInstanceProfile":      e.addRoleToInstanceProfile,
		"RemoveRoleFromInstanceProfile": e.removeRoleFromInstanceProfile,
		"ListInstanceProfiles":          e.listInstanceProfiles,
		"TagInstanceProfile":            e.tagInstanceProfile,
	}
}

type roleXML struct {
	Path    string `xml:"Path"`
	Name    string `xml:"RoleName"`
	ID      string `xml:"RoleId"`
	ARN     string `xml:"Arn"`
	Created string `xml:"CreateDate"`
	Trust   string `xml:"AssumeRolePolicyDocument"`
}

type profileXML struct {
	Path    string                  `xml:"Path"`
	Name    string                  `xml:"InstanceProfileName"`
	ID      string                  `xml:"InstanceProfileId"`
	ARN     string                  `xml:"Arn"`
	Created string                  `xml:"CreateDate"`
	Roles   wire.Members[roleXML]   `xml:"Roles"`
	Tags    wire.Members[iamTagXML] `xml:"Tags"`
}

type iamTagXML struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

// iamTime is the time format of IAM.
const iamTime = "2006-01-02T15:04:05Z"

// trustEC2 is the trust policy of a node role, URL-encoded as IAM sends it.
const trustEC2 = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C%22Principal%22%3A%7B" +
	"%22Service%22%3A%22ec2.amazonaws.com%22%7D%2C%22Action%22%3A%22sts%3AAssumeRole%22%7D%5D%7D"

// roleToXML writes a role.
func roleToXML(r world.Role) roleXML {
	return roleXML{"/", r.Name, r.ID, r.ARN, r.Created.UTC().Format(iamTime), trustEC2}
}

// profileToXML writes an instance profile with its roles.
func (e *Emulator) profileToXML(p world.Profile) profileXML {
	out := profileXML{Path: p.Path, Name: p.Name, ID: p.ID, ARN: p.ARN, Created: p.Created.UTC().Format(iamTime)}
	for _, name := range p.Roles {
		if role, err := e.world.Role(name); err == nil {
			out.Roles.Items = append(out.Roles.Items, roleToXML(role))
		}
	}
	for _, k := range sortedKeys(p.Tags) {
		out.Tags.Items = append(out.Tags.Items, iamTagXML{k, p.Tags[k]})
	}
	return out
}

// iamTags reads the parameters Tags.member.N.
func iamTags(f wire.Form) map[string]string {
	tags := map[string]string{}
	for _, t := range f.Each("Tags.member") {
		tags[t.String("Key")] = t.String("Value")
	}
	return tags
}

func (e *Emulator) getRole(r *request) (any, *wire.Error) {
	role, err := e.world.Role(r.form.String("RoleName"))
	if err != nil {
		return nil, err
	}
	return struct {
		Role roleXML `xml:"Role"`
	}{roleToXML(role)}, nil
}

type oneProfileXML struct {
	Profile profileXML `xml:"InstanceProfile"`
}

func (e *Emulator) getInstanceProfile(r *request) (any, *wire.Error) {
	p, err := e.world.Profile(r.form.String("InstanceProfileName"))
	if err != nil {
		return nil, err
	}
	return oneProfileXML{e.profileToXML(p)}, nil
}

func (e *Emulator) createInstanceProfile(r *request) (any, *wire.Error) {
	name := r.form.String("InstanceProfileName")
	if name == "" || len(name) > 128 {
		return nil, wire.Errorf("ValidationError",
			"1 validation error detected: Value '%s' at 'instanceProfileName' failed to satisfy constraint: Member must have length between 1 and 128", name)
	}
	p, err := e.world.CreateProfile(name, r.form.String("Path"), iamTags(r.form))
	if err != nil {
		return nil, err
	}
	return oneProfileXML{e.profileToXML(p)}, nil
}

func (e *Emulator) deleteInstanceProfile(r *request) (any, *wire.Error) {
	return nil, e.world.DeleteProfile(r.form.String("InstanceProfileName"))
}

func (e *Emulator) addRoleToInstanceProfile(r *request) (any, *wire.Error) {
	return nil, e.world.AddRoleToProfile(r.form.String("InstanceProfileName"), r.form.String("RoleName"))
}

func (e *Emulator) removeRoleFromInstanceProfile(r *request) (any, *wire.Error) {
	return nil, e.world.RemoveRoleFromProfile(r.form.String("InstanceProfileName"), r.form.String("RoleName"))
}

func (e *Emulator) tagInstanceProfile(r *request) (any, *wire.Error) {
	return nil, e.world.TagProfile(r.form.String("InstanceProfileName"), iamTags(r.form))
}

type listProfilesXML struct {
	Profiles  wire.Members[profileXML] `xml:"InstanceProfiles"`
	Truncated bool                     `xml:"IsTruncated"`
	Marker    string                   `xml:"Marker,omitempty"`
}

// listInstanceProfiles lists the profiles below a path, without tags.
func (e *Emulator) listInstanceProfiles(r *request) (any, *wire.Error) {
	page := wire.Page{Max: r.form.Int("MaxItems"), Token: r.form.String("Marker")}
	if page.Max == 0 {
		page.Max = 100
	}
	profiles, marker, err := wire.Cut(e.world.Profiles(r.form.String("PathPrefix")), func(p world.Profile) string { return p.Name }, page)
	if err != nil {
		return nil, wire.Errorf("ValidationError", "Invalid Marker.")
	}
	out := listProfilesXML{Truncated: marker != "", Marker: marker}
	for _, p := range profiles {
		p.Tags = nil
		out.Profiles.Items = append(out.Profiles.Items, e.profileToXML(p))
	}
	return out, r.form.Err()
}

// stsActions returns STS's operations.
func (e *Emulator) stsActions() map[string]handler {
	return map[string]handler{
		"GetCallerIdentity":         e.getCallerIdentity,
		"AssumeRoleWithWebIdentity": e.assumeRoleWithWebIdentity,
		"AssumeRole":                e.assumeRoleWithWebIdentity,
	}
}

type callerXML struct {
	ARN     string `xml:"Arn"`
	UserID  string `xml:"UserId"`
	Account string `xml:"Account"`
}

func (e *Emulator) getCallerIdentity(*request) (any, *wire.Error) {
	return callerXML{
		fmt.Sprintf("arn:%s:iam::%s:user/emulated", e.world.Partition(), e.world.Account()), "AIDAEMULATED", e.world.Account(),
	}, nil
}

type assumedXML struct {
	Credentials credentialsXML `xml:"Credentials"`
	User        assumedUserXML `xml:"AssumedRoleUser"`
}

type credentialsXML struct {
	Key     string `xml:"AccessKeyId"`
	Secret  string `xml:"SecretAccessKey"`
	Token   string `xml:"SessionToken"`
	Expires string `xml:"Expiration"`
}

type assumedUserXML struct {
	ID  string `xml:"AssumedRoleId"`
	ARN string `xml:"Arn"`
}

// assumeRoleWithWebIdentity returns credentials that expire after an hour by default. The emulator does not check
// credentials. AssumeRole uses this handler, too.
func (e *Emulator) assumeRoleWithWebIdentity(r *request) (any, *wire.Error) {
	role, session := r.form.String("RoleArn"), r.form.String("RoleSessionName")
	if role == "" || session == "" {
		return nil, wire.Errorf("ValidationError", "RoleArn and RoleSessionName must be set")
	}
	if r.action == "AssumeRoleWithWebIdentity" && r.form.String("WebIdentityToken") == "" {
		return nil, wire.Errorf("InvalidIdentityToken", "No web identity token was given")
	}
	seconds := r.form.Int("DurationSeconds")
	if seconds == 0 {
		seconds = 3600
	}
	expires := e.cfg.Clock.Now().UTC().Add(secondsOf(seconds))
	return assumedXML{
		credentialsXML{"ASIAEMULATED", "emulated", "emulated-" + e.world.NewUUID(), expires.Format(iamTime)},
		assumedUserXML{"AROAEMULATED:" + session, fmt.Sprintf("arn:%s:sts::%s:assumed-role/%s/%s", e.world.Partition(), e.world.Account(), lastSegment(role), session)},
	}, r.form.Err()
}
