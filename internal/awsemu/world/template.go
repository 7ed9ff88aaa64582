package world

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// maxUserData is the maximum size of decoded user data, in bytes.
const maxUserData = 16384

// Tags are tags by resource type (instance, volume, ...), then by key.
type Tags map[string]map[string]string

// A Template is a launch template. Versions are numbered from 1.
type Template struct {
	ID, Name  string
	CreatedBy string
	Created   time.Time
	Tags      map[string]string
	Default   int
	Versions  []TemplateData
}

// TemplateData has the properties of instances launched from a template.
type TemplateData struct {
	ImageID, InstanceType, KeyName string
	UserData                       string // base64
	Profile                        string // name or ARN of the instance profile
	Monitoring, EBSOptimized       bool
	BlockDevices                   []BlockDevice
	Metadata                       MetadataOptions
	NICs                           []NIC
	SecurityGroups                 []string
	Tags                           Tags
	Placement                      Placement
	Enclave                        bool
	NestedVirtualization           string
	ReservationPreference          string
	ReservationID                  string
	MarketType                     string
}

// A BlockDevice maps a device name to an EBS volume.
type BlockDevice struct {
	Device, VolumeType, SnapshotID, KMSKey string
	SizeGiB, IOPS, Throughput, InitRate    int
	DeleteOnTermination, Encrypted         bool
}

// MetadataOptions are the options of the instance metadata service.
type MetadataOptions struct {
	Endpoint, IPv6, Tokens, Tags string
	HopLimit                     int
}

// A NIC is a network interface in a launch request.
type NIC struct {
	Device, Card              int
	Type                      string // interface, efa or efa-only
	Subnet                    string
	Groups                    []string
	PublicIP                  *bool
	IPv4Prefixes, IPv6Address int
	IPv6Prefixes              int
	PrimaryIPv6               bool
}

// Placement determines the host of an instance in its zone.
type Placement struct {
	Tenancy, GroupID, GroupName string
	Partition                   int
}

// TemplateRef refers to a template by id or name, and to a version: $Latest, $Default, a number, or empty for the default.
type TemplateRef struct{ ID, Name, Version string }

// CreateTemplate stores a new template.
func (w *World) CreateTemplate(name string, data TemplateData, tags map[string]string) (Template, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.checkTemplate(name, data, tags); err != nil {
		return Template{}, err
	}
	t := &Template{
		ID: w.newID("lt"), Name: name, Created: w.cfg.Clock.Now(),
		CreatedBy: "arn:" + w.Partition() + ":iam::" + w.cfg.Account + ":root",
		Tags:      tags, Default: 1, Versions: []TemplateData{data},
	}
	w.templates[t.ID] = t
	return *t, nil
}

// CheckTemplate returns the error of CreateTemplate for an invalid request.
func (w *World) CheckTemplate(name string, data TemplateData, tags map[string]string) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.checkTemplate(name, data, tags)
}

func (w *World) checkTemplate(name string, data TemplateData, tags map[string]string) *wire.Error {
	if len(name) < 3 || len(name) > 128 || strings.ContainsFunc(name, badInTemplateName) {
		return wire.Errorf("InvalidLaunchTemplateName.MalformedException",
			"The launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: - ( ) . / _")
	}
	for _, t := range w.templates {
		if t.Name == name {
			return wire.Errorf("InvalidLaunchTemplateName.AlreadyExistsException",
				"Launch template name already in use.")
		}
	}
	if err := checkUserData(data.UserData); err != nil {
		return err
	}
	if data.ImageID != "" && !strings.HasPrefix(data.ImageID, "ami-") && !strings.HasPrefix(data.ImageID, "resolve:ssm:") {
		return wire.Errorf("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", data.ImageID)
	}
	for _, set := range data.Tags {
		if err := CheckTags(set); err != nil {
			return err
		}
	}
	return CheckTags(tags)
}

// badInTemplateName reports whether template names must not contain the character.
func badInTemplateName(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("()./_-", r)
}

// checkUserData returns an error for user data that is not valid base64 or is too long.
func checkUserData(data string) *wire.Error {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return wire.Errorf("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(raw) > maxUserData {
		return wire.Errorf("InvalidUserData.Malformed", "User data is limited to %d bytes", maxUserData)
	}
	return nil
}

// CheckTags returns an error for tags that EC2 does not accept.
func CheckTags(tags map[string]string) *wire.Error {
	if len(tags) > 50 {
		return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
	}
	for k, v := range tags {
		switch {
		case k == "" || len(k) > 128:
			return wire.Errorf("InvalidParameterValue", "Tag keys must be between 1 and 128 characters: '%s'.", k)
		case len(v) > 256:
			return wire.Errorf("InvalidParameterValue", "Tag value exceeds the maximum length of 256 characters.")
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			return wire.Errorf("InvalidParameterValue",
				"Value ( %s ) for parameter key is invalid. Tag keys starting with 'aws:' are reserved for internal use", k)
		}
	}
	return nil
}

// Templates returns the templates that the describe calls return already, sorted by id.
func (w *World) Templates() []Template {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Template
	for _, t := range w.templates {
		if !w.hidden(t.Created) {
			out = append(out, *t)
		}
	}
	slices.SortFunc(out, func(a, b Template) int { return compareText(a.ID, b.ID) })
	return out
}

// DeleteTemplate removes a template by id or name.
func (w *World) DeleteTemplate(ref TemplateRef) (Template, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.template(ref)
	if err != nil {
		return Template{}, err
	}
	delete(w.templates, t.ID)
	return *t, nil
}

// TemplateVersion returns one version of a template and its number.
func (w *World) TemplateVersion(ref TemplateRef) (Template, int, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, n, err := w.templateVersion(ref)
	if err != nil {
		return Template{}, 0, err
	}
	return *t, n, nil
}

// template finds a template by id or name, unless it is still hidden from the describe calls.
func (w *World) template(ref TemplateRef) (*Template, *wire.Error) {
	if ref.ID != "" {
		if t, ok := w.templates[ref.ID]; ok && !w.hidden(t.Created) {
			return t, nil
		}
		return nil, wire.Errorf("InvalidLaunchTemplateId.NotFound",
			"The specified launch template, with template ID %s, does not exist.", ref.ID)
	}
	if ref.Name == "" {
		return nil, wire.Errorf("MissingParameter",
			"The request must contain the parameter LaunchTemplateId or LaunchTemplateName")
	}
	for _, t := range w.templates {
		if t.Name == ref.Name && !w.hidden(t.Created) {
			return t, nil
		}
	}
	return nil, wire.Errorf("InvalidLaunchTemplateName.NotFoundException",
		"The specified launch template, with template name %s, does not exist.", ref.Name)
}

// templateVersion finds a template and returns it with the number of the version.
func (w *World) templateVersion(ref TemplateRef) (*Template, int, *wire.Error) {
	t, err := w.template(ref)
	if err != nil {
		return nil, 0, err
	}
	switch ref.Version {
	case "$Latest":
		return t, len(t.Versions), nil
	case "$Default", "":
		return t, t.Default, nil
	}
	n, parseErr := strconv.Atoi(ref.Version)
	if parseErr != nil || n < 1 || n > len(t.Versions) {
		return nil, 0, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound",
			"Could not find launch template version %s for launch template %s.", ref.Version, t.ID)
	}
	return t, n, nil
}

// hidden reports whether the describe calls do not return an object with the given time of creation yet.
func (w *World) hidden(made time.Time) bool {
	return w.cfg.Clock.Now().Before(made.Add(w.hiddenFor))
}
