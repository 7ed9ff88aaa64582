package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// instanceRules are about how instances were launched.
type instanceRules struct {
	*judge
	// versions has the versions of each EC2NodeClass, oldest first.
	versions map[string][]classVersion
}

// A classVersion is a version of an EC2NodeClass, which was replaced at the time until. The time is zero for the present version.
type classVersion struct {
	class *awsv1.EC2NodeClass
	until time.Time
}

// launchedBefore is the age of a version of an EC2NodeClass with which an instance may still be launched. It covers watches that are
// late, and launches that are repeated.
const launchedBefore = 15 * time.Minute

func newInstanceRules(j *judge) instanceRules {
	return instanceRules{judge: j, versions: map[string][]classVersion{}}
}

// written records the versions of EC2NodeClasses.
func (r instanceRules) written(before, after client.Object) {
	class, ok := cmp.Or(after, before).(*awsv1.EC2NodeClass)
	if !ok {
		return
	}
	all := slices.DeleteFunc(r.versions[class.Name], func(v classVersion) bool {
		return !v.until.IsZero() && time.Since(v.until) > launchedBefore
	})
	if n := len(all); n > 0 && all[n-1].until.IsZero() {
		all[n-1].until = time.Now()
	}
	if after != nil {
		all = append(all, classVersion{class: class})
	}
	r.versions[class.Name] = all
}

// launched checks that an instance is as a recent version of its EC2NodeClass says.
func (r instanceRules) launched(id string) {
	i, ok := r.world.account.emulator.Instance(id)
	if !ok {
		return
	}
	name := i.Tags[awsv1.TagNodeClass]
	difference := "" // from the newest version
	for _, v := range slices.Backward(r.versions[name]) {
		if !v.until.IsZero() && i.Launched.Sub(v.until) > launchedBefore {
			break
		}
		d := differs(i, v.class)
		if d == "" {
			return
		}
		difference = cmp.Or(difference, d)
	}
	r.violate(ruleAsClass, "instance %s of EC2NodeClass %q: %s", id, name, cmp.Or(difference, "there was none"))
}

// differs says in what an instance is not as an EC2NodeClass says. It is empty if there is no difference.
func differs(i world.Instance, class *awsv1.EC2NodeClass) string {
	spec, status := class.Spec, class.Status
	if !slices.ContainsFunc(status.AMIs, func(a awsv1.AMI) bool { return a.ID == i.Image.ID }) {
		return "its image is " + i.Image.ID
	}
	if !slices.ContainsFunc(status.Subnets, func(s awsv1.Subnet) bool { return s.ID == i.Subnet }) {
		return "its subnet is " + i.Subnet
	}
	var groups []string
	for _, g := range status.SecurityGroups {
		groups = append(groups, g.ID)
	}
	slices.Sort(groups)
	if has := slices.Sorted(slices.Values(i.Groups)); !slices.Equal(has, groups) {
		return fmt.Sprintf("its security groups are %v, not %v", has, groups)
	}
	if p := i.Data.Profile; p[strings.LastIndex(p, "/")+1:] != status.InstanceProfile {
		return "its instance profile is " + p
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Tags)) {
		want := spec.Tags[key]
		if i.Tags[key] != want {
			return fmt.Sprintf("its tag %s is %q, not %q", key, i.Tags[key], want)
		}
		if value := i.Data.Tags["network-interface"][key]; value != want {
			return fmt.Sprintf("the tag %s of its network interfaces is %q, not %q", key, value, want)
		}
	}
	if want := ptr.Deref(spec.DetailedMonitoring, false); i.Data.Monitoring != want {
		return fmt.Sprintf("its detailed monitoring is %v", i.Data.Monitoring)
	}
	if want := metadataOf(class); i.Data.Metadata != want {
		return fmt.Sprintf("its metadata options are %+v, not %+v", i.Data.Metadata, want)
	}
	for _, n := range i.Data.NICs {
		if spec.AssociatePublicIPAddress != nil && !reflect.DeepEqual(n.PublicIP, spec.AssociatePublicIPAddress) {
			return "it has another setting of associatePublicIPAddress"
		}
		if want := int(ptr.Deref(spec.IPPrefixCount, 0)); n.IPv4Prefixes != want {
			return fmt.Sprintf("a network interface has %d prefixes, not %d", n.IPv4Prefixes, want)
		}
	}
	return differsInDisks(i, spec.BlockDeviceMappings)
}

// metadataOf returns the metadata options of the instances of a class. The API server has set the defaults, other than that pods see no tags.
func metadataOf(class *awsv1.EC2NodeClass) world.MetadataOptions {
	m := ptr.Deref(class.Spec.MetadataOptions, awsv1.MetadataOptions{})
	return world.MetadataOptions{
		Endpoint: ptr.Deref(m.HTTPEndpoint, ""), IPv6: ptr.Deref(m.HTTPProtocolIPv6, ""), Tokens: ptr.Deref(m.HTTPTokens, ""),
		HopLimit: int(ptr.Deref(m.HTTPPutResponseHopLimit, 0)), Tags: "disabled",
	}
}

// differsInDisks says in what the disks of an instance are not as the mappings say.
func differsInDisks(i world.Instance, mappings []*awsv1.BlockDeviceMapping) string {
	for _, m := range mappings {
		device := ptr.Deref(m.DeviceName, "")
		at := slices.IndexFunc(i.Data.BlockDevices, func(d world.BlockDevice) bool { return d.Device == device })
		if at < 0 {
			return "it has no disk " + device
		}
		if m.EBS == nil {
			continue
		}
		e := m.EBS
		want := world.BlockDevice{
			Device: device, VolumeType: ptr.Deref(e.VolumeType, ""), SnapshotID: ptr.Deref(e.SnapshotID, ""), KMSKey: ptr.Deref(e.KMSKeyID, ""),
			IOPS: int(ptr.Deref(e.IOPS, 0)), Throughput: int(ptr.Deref(e.Throughput, 0)), InitRate: int(ptr.Deref(e.VolumeInitializationRate, 0)),
			DeleteOnTermination: ptr.Deref(e.DeleteOnTermination, false), Encrypted: ptr.Deref(e.Encrypted, false),
		}
		if e.VolumeSize != nil {
			want.SizeGiB = int(math.Ceil(e.VolumeSize.AsApproximateFloat64() / (1 << 30)))
		}
		has := i.Data.BlockDevices[at]
		if e.DeleteOnTermination == nil {
			has.DeleteOnTermination = false // EC2 has a default of its own
		}
		if has != want {
			return fmt.Sprintf("its disk is %+v, not %+v", has, want)
		}
	}
	return ""
}
