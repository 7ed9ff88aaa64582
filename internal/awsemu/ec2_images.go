package awsemu

import (
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type imageXML struct {
	ID             string                    `xml:"imageId"`
	Location       string                    `xml:"imageLocation"`
	State          string                    `xml:"imageState"`
	Owner          string                    `xml:"imageOwnerId"`
	Created        string                    `xml:"creationDate"`
	Public         bool                      `xml:"isPublic"`
	Architecture   string                    `xml:"architecture"`
	Type           string                    `xml:"imageType"`
	Platform       string                    `xml:"platform,omitempty"`
	OwnerAlias     string                    `xml:"imageOwnerAlias,omitempty"`
	Name           string                    `xml:"name"`
	Description    string                    `xml:"description,omitempty"`
	RootType       string                    `xml:"rootDeviceType"`
	RootDevice     string                    `xml:"rootDeviceName"`
	Mappings       wire.Set[imageMappingXML] `xml:"blockDeviceMapping"`
	Virtualization string                    `xml:"virtualizationType"`
	Tags           wire.Set[tagXML]          `xml:"tagSet"`
	Hypervisor     string                    `xml:"hypervisor"`
	ENA            bool                      `xml:"enaSupport"`
	Deprecation    string                    `xml:"deprecationTime,omitempty"`
}

type imageMappingXML struct {
	Device string         `xml:"deviceName"`
	EBS    imageVolumeXML `xml:"ebs"`
}

type imageVolumeXML struct {
	Delete    bool   `xml:"deleteOnTermination"`
	Snapshot  string `xml:"snapshotId"`
	GiB       int    `xml:"volumeSize"`
	Type      string `xml:"volumeType"`
	Encrypted bool   `xml:"encrypted"`
}

type describeImagesXML struct {
	Images wire.Set[imageXML] `xml:"imagesSet"`
	Next   string             `xml:"nextToken,omitempty"`
}

// describeImages lists AMIs. It omits deprecated ones unless the request includes them or names images by id.
func (e *Emulator) describeImages(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 1, 1000)
	if failure != nil {
		return nil, failure
	}
	ids, owners := r.form.List("ImageId"), r.form.List("Owner")
	for _, id := range ids {
		if !strings.HasPrefix(id, "ami-") {
			return nil, wire.Errorf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
		}
	}
	images, failure := selectIDs(e.world.Images(), ids, func(i world.Image) string { return i.ID },
		"InvalidAMIID.NotFound", "The image id '[%s]' does not exist")
	if failure != nil {
		return nil, failure
	}
	now, deprecated := e.world.Now(), r.form.Bool("IncludeDeprecated")
	images = slices.DeleteFunc(images, func(i world.Image) bool {
		old := !i.Deprecated.IsZero() && !i.Deprecated.After(now)
		return old && !deprecated && len(ids) == 0 || !e.ownedBy(i, owners)
	})
	images, failure = wire.Keep(images, wire.Filters(r.form), imageLookup)
	if failure != nil {
		return nil, failure
	}
	images, next, failure := wire.Cut(images, func(i world.Image) string { return i.ID }, page)
	if failure != nil {
		return nil, failure
	}
	out := describeImagesXML{Next: next}
	for _, i := range images {
		out.Images.Items = append(out.Images.Items, imageToXML(i, e.world.Account()))
	}
	return out, r.form.Err()
}

// ownedBy reports whether one of the owners (account, alias or self) owns the image. If owners is empty, it returns true.
func (e *Emulator) ownedBy(i world.Image, owners []string) bool {
	return len(owners) == 0 || slices.ContainsFunc(owners, func(o string) bool {
		return o == i.Owner || o == i.OwnerAlias && o != "" || o == "self" && i.Owner == e.world.Account()
	})
}

// imageLookup returns the values of an image for the filters of DescribeImages.
func imageLookup(i world.Image) wire.Lookup {
	return func(name string) ([]string, bool) {
		switch name {
		case "image-id":
			return one(i.ID)
		case "name":
			return one(i.Name)
		case "state":
			return one("available")
		case "architecture":
			return one(i.Arch)
		case "owner-id":
			return one(i.Owner)
		case "owner-alias":
			return one(i.OwnerAlias)
		case "description":
			return one(i.Description)
		case "platform":
			return one(i.Platform)
		case "image-type":
			return one("machine")
		case "is-public":
			return one(boolText(i.OwnerAlias != ""))
		case "virtualization-type":
			return one("hvm")
		case "root-device-type":
			return one("ebs")
		case "root-device-name":
			return one(i.RootDevice)
		case "creation-date":
			return one(wire.Time(i.Created))
		}
		return wire.TagLookup(i.Tags, name)
	}
}

// imageToXML encodes an image for DescribeImages.
func imageToXML(i world.Image, account string) imageXML {
	out := imageXML{
		ID: i.ID, Location: i.OwnerAlias + "/" + i.Name, State: "available", Owner: i.Owner,
		Created: wire.Time(i.Created), Public: i.OwnerAlias != "", Architecture: i.Arch, Type: "machine",
		Platform: i.Platform, OwnerAlias: i.OwnerAlias, Name: i.Name, Description: i.Description,
		RootType: "ebs", RootDevice: i.RootDevice, Virtualization: "hvm", Tags: tagSet(i.Tags),
		Hypervisor: "xen", ENA: true,
		Mappings: wire.SetOf(imageMappingXML{i.RootDevice, imageVolumeXML{
			Delete: true, Snapshot: "snap" + strings.TrimPrefix(i.ID, "ami"), GiB: i.RootGiB, Type: "gp3",
		}}),
	}
	if i.OwnerAlias == "" {
		out.Location = account + "/" + i.Name
	}
	if !i.Deprecated.IsZero() {
		out.Deprecation = wire.Time(i.Deprecated)
	}
	return out
}
