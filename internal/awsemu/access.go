package awsemu

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/authz"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// SetPolicy applies the policy documents to all callers from now on. Without documents, everything is allowed.
func (e *Emulator) SetPolicy(documents ...string) error {
	if len(documents) == 0 {
		e.policy.Store(nil)
		return nil
	}
	raw := make([][]byte, len(documents))
	for i, d := range documents {
		raw[i] = []byte(d)
	}
	p, err := authz.Parse(raw...)
	if err != nil {
		return err
	}
	e.policy.Store(p)
	return nil
}

// authorize returns an error if the policy does not allow the call. Calls of STS need no permission.
func (e *Emulator) authorize(r *request) *wire.Error {
	p := e.policy.Load()
	if p == nil || r.service == "sts" {
		return nil
	}
	for _, need := range e.needs(r) {
		need.Context["aws:RequestedRegion"] = []string{e.world.Region()}
		if !p.Allows(need) {
			return denial(r, need)
		}
	}
	return nil
}

// denial returns the error response of a service to a call without permission.
func denial(r *request, need authz.Request) *wire.Error {
	text := fmt.Sprintf("not authorized to perform: %s on resource: %s because no identity-based policy allows the %s action",
		need.Action, need.Resource, need.Action)
	switch r.service {
	case "ec2":
		return wire.Errorf("UnauthorizedOperation", "You are %s", text)
	case "iam":
		return wire.Errorf("AccessDenied", "User is %s", text)
	}
	err := wire.Errorf("AccessDeniedException", "User is %s", text)
	if r.service != "eks" && r.service != "arc" {
		err.Status = http.StatusBadRequest
	}
	return err
}

// needs returns the permissions that a call needs, nil if its body cannot be decoded.
func (e *Emulator) needs(r *request) []authz.Request {
	switch r.service {
	case "ec2":
		return e.ec2Needs(r)
	case "iam":
		return e.iamNeeds(r)
	case "ssm":
		var in struct{ Name string }
		if r.decode(&in) != nil {
			return nil
		}
		if strings.HasPrefix(in.Name, "arn:") {
			return single("ssm:"+r.action, in.Name)
		}
		return single("ssm:"+r.action, fmt.Sprintf("arn:%s:ssm:%s::parameter/%s", e.world.Partition(), e.world.Region(), strings.TrimPrefix(in.Name, "/")))
	case "sqs":
		var in queueRequest
		if r.decode(&in) != nil {
			return nil
		}
		name := in.QueueName
		if name == "" {
			name = lastSegment(in.QueueUrl)
		}
		action := strings.TrimSuffix(r.action, "Batch") // permissions have the name without Batch
		return single("sqs:"+action, fmt.Sprintf("arn:%s:sqs:%s:%s:%s", e.world.Partition(), e.world.Region(), e.world.Account(), name))
	case "eks":
		if cluster, principal, ok := strings.Cut(r.path, "/access-entries/"); ok {
			return single("eks:"+r.action, fmt.Sprintf("arn:%s:eks:%s:%s:access-entry/%s/role/%s/%s/emulated",
				e.world.Partition(), e.world.Region(), e.world.Account(), cluster, e.world.Account(), lastSegment(principal)))
		}
		cluster := strings.TrimSuffix(r.path, "/access-entries")
		return single("eks:"+r.action, fmt.Sprintf("arn:%s:eks:%s:%s:cluster/%s", e.world.Partition(), e.world.Region(), e.world.Account(), cluster))
	case "arc":
		need := single("arc-zonal-shift:"+r.action, "*")
		need[0].Context["arc-zonal-shift:ResourceIdentifier"] = []string{r.path}
		return need
	}
	return single(r.service+":"+r.action, "*")
}

// single returns a list with one request: the action on the resource.
func single(action, resource string) []authz.Request {
	return []authz.Request{{Action: action, Resource: resource, Context: map[string][]string{}}}
}

// tagContext adds the tags to the context and returns it. Each key gets the prefix. For request tags, it also sets aws:TagKeys.
func tagContext(context map[string][]string, prefix string, tags map[string]string) map[string][]string {
	for k, v := range tags {
		context[prefix+k] = []string{v}
	}
	if prefix == "aws:RequestTag/" && len(tags) > 0 {
		context["aws:TagKeys"] = slices.Sorted(maps.Keys(tags))
	}
	return context
}

// iamNeeds returns the permissions that a call of IAM needs. Adding a role to a profile also needs iam:PassRole for
// EC2, and creating a profile with tags also needs iam:TagInstanceProfile. The tags of the request are then those of the profile too: the
// policy that upstream publishes requires both for iam:TagInstanceProfile, and its controller creates profiles with tags.
func (e *Emulator) iamNeeds(r *request) []authz.Request {
	action, name := "iam:"+r.action, r.form.String("InstanceProfileName")
	arn := func(path string) string {
		return fmt.Sprintf("arn:%s:iam::%s:instance-profile%s%s", e.world.Partition(), e.world.Account(), orDefault(path, "/"), name)
	}
	switch r.action {
	case "GetRole":
		return single(action, e.roleARN(r.form.String("RoleName")))
	case "ListInstanceProfiles":
		return single(action, fmt.Sprintf("arn:%s:iam::%s:instance-profile/", e.world.Partition(), e.world.Account()))
	case "CreateInstanceProfile":
		need := single(action, arn(r.form.String("Path")))
		tags := iamTags(r.form)
		tagContext(need[0].Context, "aws:RequestTag/", tags)
		if len(tags) > 0 {
			context := tagContext(maps.Clone(need[0].Context), "aws:ResourceTag/", tags)
			need = append(need, authz.Request{Action: "iam:TagInstanceProfile", Resource: need[0].Resource, Context: context})
		}
		return need
	}
	need := single(action, arn(""))
	if p, err := e.world.Profile(name); err == nil {
		need = single(action, p.ARN)
		tagContext(need[0].Context, "aws:ResourceTag/", p.Tags)
	}
	if r.action == "TagInstanceProfile" {
		tagContext(need[0].Context, "aws:RequestTag/", iamTags(r.form))
	}
	if r.action == "AddRoleToInstanceProfile" {
		pass := single("iam:PassRole", e.roleARN(r.form.String("RoleName")))
		pass[0].Context["iam:PassedToService"] = []string{"ec2." + e.world.Domain()}
		need = append(need, pass...)
	}
	return need
}

func (e *Emulator) roleARN(name string) string {
	return fmt.Sprintf("arn:%s:iam::%s:role/%s", e.world.Partition(), e.world.Account(), name)
}

// ec2Needs returns the permissions that a call of EC2 needs.
func (e *Emulator) ec2Needs(r *request) []authz.Request {
	action := "ec2:" + r.action
	tagged := func(resource string, tags map[string]string) authz.Request {
		return authz.Request{Action: action, Resource: resource, Context: tagContext(map[string][]string{}, "aws:ResourceTag/", tags)}
	}
	switch r.action {
	case "CreateLaunchTemplate":
		return e.making(r, action, "CreateLaunchTemplate", world.Tags{"launch-template": tagSpecs(r.form)["launch-template"]})
	case "DeleteLaunchTemplate":
		t := e.templateNamed(templateRef(r.form))
		return []authz.Request{tagged(e.ec2ARN("launch-template", t.ID), t.Tags)}
	case "TerminateInstances", "RebootInstances", "StartInstances", "StopInstances", "GetConsoleOutput", "ModifyInstanceAttribute":
		var out []authz.Request
		ids := r.form.List("InstanceId")
		if id := r.form.String("InstanceId"); id != "" {
			ids = []string{id}
		}
		for _, id := range ids {
			i, _ := e.world.Instance(id)
			out = append(out, tagged(e.ec2ARN("instance", id), i.Tags))
		}
		return out
	case "CreateTags":
		var out []authz.Request
		for _, id := range r.form.List("ResourceId") {
			i, _ := e.world.Instance(id)
			need := tagged(e.ec2ARN(kindOf(id), id), i.Tags)
			tagContext(need.Context, "aws:RequestTag/", tagsOf(r.form))
			out = append(out, need)
		}
		return out
	case "RunInstances":
		return e.runNeeds(r, []world.TemplateRef{templateVersionRef(r.form.Sub("LaunchTemplate"))}, tagSpecs(r.form), "ec2:RunInstances")
	case "CreateFleet":
		return e.fleetNeeds(r)
	}
	return single(action, "*")
}

// kindOf returns the kind of resource with the given id, by the prefix of the id.
func kindOf(id string) string {
	prefix, _, _ := strings.Cut(id, "-")
	return map[string]string{"i": "instance", "lt": "launch-template", "subnet": "subnet", "sg": "security-group", "ami": "image"}[prefix]
}

func (e *Emulator) ec2ARN(kind, id string) string {
	owner := e.world.Account()
	if kind == "image" {
		owner = ""
	}
	return fmt.Sprintf("arn:%s:ec2:%s:%s:%s/%s", e.world.Partition(), e.world.Region(), owner, kind, id)
}

// templateNamed returns a launch template. If there is none, it returns a template with the ID "none".
func (e *Emulator) templateNamed(ref world.TemplateRef) world.Template {
	ref.Version = ""
	if t, _, err := e.world.TemplateVersion(ref); err == nil {
		return t
	}
	return world.Template{ID: "none"}
}

// making returns the permissions to create resources of the kinds in tags, and to tag those that get tags.
func (e *Emulator) making(r *request, action, create string, tags world.Tags) []authz.Request {
	var out []authz.Request
	for _, kind := range slices.Sorted(maps.Keys(tags)) {
		context := tagContext(map[string][]string{}, "aws:RequestTag/", tags[kind])
		resource := e.ec2ARN(kind, "*")
		out = append(out, authz.Request{Action: action, Resource: resource, Context: context})
		if len(tags[kind]) == 0 {
			continue
		}
		tagging := maps.Clone(context)
		tagging["ec2:CreateAction"] = []string{create}
		out = append(out, authz.Request{Action: "ec2:CreateTags", Resource: resource, Context: tagging})
	}
	return out
}

// fleetNeeds returns the permissions for a fleet and for the instances that it launches.
func (e *Emulator) fleetNeeds(r *request) []authz.Request {
	tags := tagSpecs(r.form)
	out := e.making(r, "ec2:CreateFleet", "CreateFleet", world.Tags{"fleet": tags["fleet"]})
	var refs []world.TemplateRef
	for _, c := range r.form.Each("LaunchTemplateConfigs") {
		refs = append(refs, templateVersionRef(c.Sub("LaunchTemplateSpecification")))
	}
	delete(tags, "fleet")
	return append(out, e.runNeeds(r, refs, tags, "ec2:CreateFleet")...)
}

// runNeeds returns the permissions to launch instances with the tags: to use the templates and the resources that they name, and
// to create the instances.
func (e *Emulator) runNeeds(r *request, refs []world.TemplateRef, tags world.Tags, action string) []authz.Request {
	made := world.Tags{"instance": nil, "volume": nil, "network-interface": nil}
	maps.Copy(made, tags)
	var out []authz.Request
	use := func(kind, id string, resourceTags map[string]string) {
		for _, a := range slices.Compact([]string{action, "ec2:RunInstances"}) {
			out = append(out, authz.Request{Action: a, Resource: e.ec2ARN(kind, id),
				Context: tagContext(map[string][]string{}, "aws:ResourceTag/", resourceTags)})
		}
	}
	for _, ref := range refs {
		if ref == (world.TemplateRef{}) {
			continue
		}
		t := e.templateNamed(ref)
		use("launch-template", t.ID, t.Tags)
		if len(t.Versions) == 0 {
			continue
		}
		data := t.Versions[len(t.Versions)-1]
		for kind, set := range data.Tags {
			made[kind] = merged(made[kind], set)
		}
		use("image", data.ImageID, nil)
		for _, n := range data.NICs {
			for _, g := range n.Groups {
				use("security-group", g, nil)
			}
		}
		if data.ReservationID != "" {
			use("capacity-reservation", data.ReservationID, nil)
		}
		if data.Placement.GroupID != "" {
			use("placement-group", data.Placement.GroupID, nil)
		}
	}
	for key, values := range r.values {
		if strings.HasSuffix(key, ".SubnetId") && len(values) > 0 {
			use("subnet", values[0], nil)
		}
	}
	return append(out, e.making(r, "ec2:RunInstances", "RunInstances", made)...)
}

// merged returns a new map with the entries of both. Those of b take precedence.
func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}
