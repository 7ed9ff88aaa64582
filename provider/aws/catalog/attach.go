package catalog

import (
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// ebsDriver is the CSI driver of EBS.
const ebsDriver = "ebs.csi.aws.com"

// EC2's limits where it does not state one: volumes, interfaces and local disks together on Nitro, volumes alone on Xen.
const (
	nitroAttachments = 28
	xenAttachments   = 40
)

// ownInterfaces are the network interfaces of a young node: its own and a spare one for addresses of pods.
const ownInterfaces = 2

// readAttachments sets the number of local disks and the limit on attached EBS volumes, if EC2 states one.
func (m *Machine) readAttachments(t ec2types.InstanceTypeInfo) {
	if s := t.InstanceStorageInfo; s != nil {
		for _, d := range s.Disks {
			m.LocalDisks += int64(value(d.Count))
		}
	}
	if t.EbsInfo != nil && value(t.EbsInfo.MaximumEbsAttachments) > 0 {
		m.EBSAttachments = int64(*t.EbsInfo.MaximumEbsAttachments)
		m.EBSDedicated = t.EbsInfo.AttachmentLimitType == ec2types.AttachmentLimitTypeDedicated
	}
}

// Attachments returns how many volumes pods may have attached to m: what EC2 allows without the node's own disks and, where
// they count too, its interfaces. Once the driver runs, it publishes each node's number, which takes precedence.
func Attachments(m Machine, s Shape) int {
	all, alone := m.EBSAttachments, m.EBSDedicated
	switch {
	case all > 0:
	case m.Hypervisor == string(ec2types.InstanceTypeHypervisorXen):
		all, alone = xenAttachments, true
	default:
		all = nitroAttachments
	}
	all -= max(int64(len(s.Disks)), 1)
	if !alone {
		all -= ownInterfaces + m.LocalDisks
	}
	return int(max(all, 0))
}
