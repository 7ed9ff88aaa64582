package awsemu

import (
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// ec2Actions returns EC2's operations.
func (e *Emulator) ec2Actions() map[string]handler {
	table := map[string]handler{
		"DescribeInstanceTypes":          e.describeInstanceTypes,
		"DescribeInstanceTypeOfferings":  e.describeInstanceTypeOfferings,
		"DescribeSpotPriceHistory":       e.describeSpotPriceHistory,
		"DescribeAvailabilityZones":      e.describeAvailabilityZones,
		"DescribeSubnets":                e.describeSubnets,
		"DescribeSecurityGroups":         e.describeSecurityGroups,
		"DescribeImages":                 e.describeImages,
		"DescribeLaunchTemplates":        e.describeLaunchTemplates,
		"DescribeLaunchTemplateVersions": e.describeLaunchTemplateVersions,
		"DeleteLaunchTemplate":           e.deleteLaunchTemplate,
		"DescribeInstances":              e.describeInstances,
		"DescribeInstanceStatus":         e.describeInstanceStatus,
		"RebootInstances":                e.rebootInstances,
		"StartInstances":                 e.startInstances,
		"StopInstances":                  e.stopInstances,
		"TerminateInstances":             e.terminateInstances,
		"GetConsoleOutput":               e.getConsoleOutput,
		"CreateTags":                     e.createTags,
		"DeleteTags":                     e.deleteTags,
		"DescribeCapacityReservations":   e.describeCapacityReservations,
		"DescribePlacementGroups":        e.describePlacementGroups,
		"DescribeInstanceAttribute":      e.describeInstanceAttribute,
		"ModifyInstanceAttribute":        e.modifyInstanceAttribute,
		"DescribeRegions":                e.describeRegions,
		"DescribeVpcs":                   e.describeVpcs,
		"DescribeTags":                   e.describeTags,
	}
	for action, handle := range table {
		table[action] = dryRun(handle)
	}
	// These operations check their parameters before they handle a dry run.
	table["CreateLaunchTemplate"] = e.createLaunchTemplate
	table["CreateFleet"] = e.createFleet
	table["RunInstances"] = e.runInstances
	return table
}

// dryRun returns a handler that responds to a dry run without calling handle.
func dryRun(handle handler) handler {
	return func(r *request) (any, *wire.Error) {
		if r.form.Bool("DryRun") {
			return nil, wouldSucceed()
		}
		return handle(r)
	}
}

// wouldSucceed returns EC2's response to a dry run that would have succeeded.
func wouldSucceed() *wire.Error {
	return wire.Errorf("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
}

// tagXML is a tag in EC2's XML.
type tagXML struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

// tagSet returns tags sorted by key.
func tagSet(tags map[string]string) wire.Set[tagXML] {
	out := wire.Set[tagXML]{}
	for _, k := range sortedKeys(tags) {
		out.Items = append(out.Items, tagXML{k, tags[k]})
	}
	return out
}

// tagsOf reads the parameters Tag.N.Key and Tag.N.Value.
func tagsOf(f wire.Form) map[string]string {
	tags := map[string]string{}
	for _, t := range f.Each("Tag") {
		tags[t.String("Key")] = t.String("Value")
	}
	return tags
}

// tagSpecs reads the parameters TagSpecification.N. It returns the tags by resource type.
func tagSpecs(f wire.Form) world.Tags {
	out := world.Tags{}
	for _, spec := range f.Each("TagSpecification") {
		kind := spec.String("ResourceType")
		if out[kind] == nil {
			out[kind] = map[string]string{}
		}
		for k, v := range tagsOf(spec) {
			out[kind][k] = v
		}
	}
	return out
}

// one returns the values with which a filter is compared, for an item that has exactly one value.
func one(value string) ([]string, bool) { return []string{value}, true }

// boolText returns a boolean as text of EC2's filters.
func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
