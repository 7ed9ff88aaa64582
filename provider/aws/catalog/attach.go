package catalog

import (
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// ebsDriver is the CSI driver of EBS.
const ebsDriver = "ebs.csi.aws.com"

// The attach limits of types for which EC2 publishes none. On Xen, the limit applies to volumes alone. On all other
// types, it applies to the sum of volumes, network interfaces and local disks.
const (
	nitroAttachments = 28
	xenAttachments   = 40
)

// ownInterfaces is the number of network interfaces of a new node: its primary interface, and one that the VPC CNI
// attaches for addresses of pods.
const ownInterfaces = 2

// readAttachments sets the number of local disks, and the limit of attached EBS volumes if EC2 publishes one.
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

// Attachments returns how many volumes of pods can be attached to a node on m, at least 0. It is EC2's limit less the
// EBS disks of the node, of which there is at least one. If the limit is not for EBS volumes alone, network
// interfaces and local disks are subtracted too. The limit that the CSI driver reports for a running node takes
// precedence.
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
