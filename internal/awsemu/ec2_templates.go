package awsemu

import (
	"slices"
	"strconv"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type templateXML struct {
	ID      string           `xml:"launchTemplateId"`
	Name    string           `xml:"launchTemplateName"`
	Created string           `xml:"createTime"`
	By      string           `xml:"createdBy"`
	Default int              `xml:"defaultVersionNumber"`
	Latest  int              `xml:"latestVersionNumber"`
	Tags    wire.Set[tagXML] `xml:"tagSet"`
}

type oneTemplateXML struct {
	Template templateXML `xml:"launchTemplate"`
}

// describeTemplate encodes a launch template without its data.
func describeTemplate(t world.Template) templateXML {
	return templateXML{t.ID, t.Name, wire.Time(t.Created), t.CreatedBy, t.Default, len(t.Versions), tagSet(t.Tags)}
}

// createLaunchTemplate stores a launch template.
func (e *Emulator) createLaunchTemplate(r *request) (any, *wire.Error) {
	name, data := r.form.String("LaunchTemplateName"), templateData(r.form.Sub("LaunchTemplateData"))
	tags := tagSpecs(r.form)["launch-template"]
	if tags == nil {
		tags = map[string]string{}
	}
	if err := r.form.Err(); err != nil {
		return nil, err
	}
	if r.form.Bool("DryRun") {
		if err := e.world.CheckTemplate(name, data, tags); err != nil {
			return nil, err
		}
		return nil, wouldSucceed()
	}
	return e.replays.once(r, func() (any, *wire.Error) {
		t, err := e.world.CreateTemplate(name, data, tags)
		if err != nil {
			return nil, err
		}
		return oneTemplateXML{describeTemplate(t)}, nil
	})
}

// deleteLaunchTemplate removes a launch template by id or name.
func (e *Emulator) deleteLaunchTemplate(r *request) (any, *wire.Error) {
	t, err := e.world.DeleteTemplate(templateRef(r.form))
	if err != nil {
		return nil, err
	}
	return oneTemplateXML{describeTemplate(t)}, nil
}

type describeTemplatesXML struct {
	Templates wire.Set[templateXML] `xml:"launchTemplates"`
	Next      string                `xml:"nextToken,omitempty"`
}

// describeLaunchTemplates lists launch templates.
func (e *Emulator) describeLaunchTemplates(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 1, 200)
	if failure != nil {
		return nil, failure
	}
	templates := e.world.Templates()
	templates, failure = selectIDs(templates, r.form.List("LaunchTemplateId"), func(t world.Template) string { return t.ID },
		"InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.")
	if failure != nil {
		return nil, failure
	}
	templates, failure = selectIDs(templates, r.form.List("LaunchTemplateName"), func(t world.Template) string { return t.Name },
		"InvalidLaunchTemplateName.NotFoundException", "At least one of the launch templates specified in the request does not exist: %s")
	if failure != nil {
		return nil, failure
	}
	templates, failure = wire.Keep(templates, wire.Filters(r.form), func(t world.Template) wire.Lookup {
		return func(name string) ([]string, bool) {
			switch name {
			case "launch-template-name":
				return one(t.Name)
			case "launch-template-id":
				return one(t.ID)
			case "create-time":
				return one(wire.Time(t.Created))
			}
			return wire.TagLookup(t.Tags, name)
		}
	})
	if failure != nil {
		return nil, failure
	}
	templates, next, failure := wire.Cut(templates, func(t world.Template) string { return t.ID }, page)
	if failure != nil {
		return nil, failure
	}
	out := describeTemplatesXML{Next: next}
	for _, t := range templates {
		out.Templates.Items = append(out.Templates.Items, describeTemplate(t))
	}
	return out, r.form.Err()
}

type templateVersionXML struct {
	ID      string          `xml:"launchTemplateId"`
	Name    string          `xml:"launchTemplateName"`
	Version int             `xml:"versionNumber"`
	Created string          `xml:"createTime"`
	By      string          `xml:"createdBy"`
	Default bool            `xml:"defaultVersion"`
	Data    templateDataXML `xml:"launchTemplateData"`
}

type describeVersionsXML struct {
	Versions wire.Set[templateVersionXML] `xml:"launchTemplateVersionSet"`
}

// describeLaunchTemplateVersions lists versions of one launch template. If the request names no version, it lists all
// versions, newest first. If the request names no template, it lists the versions of every template.
func (e *Emulator) describeLaunchTemplateVersions(r *request) (any, *wire.Error) {
	versions := r.form.List("LaunchTemplateVersion")
	refs := []world.TemplateRef{templateRef(r.form)}
	if refs[0] == (world.TemplateRef{}) {
		refs = nil
		for _, t := range e.world.Templates() {
			refs = append(refs, world.TemplateRef{ID: t.ID})
		}
	}
	var out describeVersionsXML
	for _, ref := range refs {
		t, _, err := e.world.TemplateVersion(ref)
		if err != nil {
			return nil, err
		}
		wanted := versions
		if len(wanted) == 0 {
			for n := range t.Versions {
				wanted = append(wanted, strconv.Itoa(n+1))
			}
			slices.Reverse(wanted) // newest first
		}
		for _, v := range wanted {
			t, n, err := e.world.TemplateVersion(world.TemplateRef{ID: t.ID, Version: v})
			if err != nil {
				return nil, err
			}
			out.Versions.Items = append(out.Versions.Items, templateVersionXML{
				t.ID, t.Name, n, wire.Time(t.Created), t.CreatedBy, n == t.Default, templateToXML(t.Versions[n-1]),
			})
		}
	}
	return out, nil
}
