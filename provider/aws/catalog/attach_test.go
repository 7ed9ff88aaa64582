package catalog

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// The disks of a node are subtracted from EC2's limit. Network interfaces are subtracted if they count against the
// limit.
func TestAttachments(t *testing.T) {
	stated := func(n int32, kind ec2types.AttachmentLimitType) ec2types.InstanceTypeInfo {
		return ec2types.InstanceTypeInfo{EbsInfo: &ec2types.EbsInfo{MaximumEbsAttachments: &n, AttachmentLimitType: kind}}
	}
	local := stated(28, ec2types.AttachmentLimitTypeShared)
	local.InstanceStorageInfo = &ec2types.InstanceStorageInfo{Disks: []ec2types.DiskInfo{{Count: awssdk.Int32(4)}}}
	for name, tt := range map[string]struct {
		info       ec2types.InstanceTypeInfo
		hypervisor string
		disks      int
		want       int
	}{
		"limit of its own":             {info: stated(32, ec2types.AttachmentLimitTypeDedicated), want: 31},
		"two disks of its own":         {info: stated(32, ec2types.AttachmentLimitTypeDedicated), disks: 2, want: 30},
		"shared with interfaces":       {info: stated(28, ec2types.AttachmentLimitTypeShared), want: 25},
		"and with local disks":         {info: local, want: 21},
		"nothing stated":               {want: 25},
		"nothing stated of bare metal": {hypervisor: "", want: 25},
		"nothing stated of Xen":        {hypervisor: "xen", want: 39},
		"fewer than it takes itself":   {info: stated(2, ec2types.AttachmentLimitTypeShared), want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := Machine{Hypervisor: tt.hypervisor}
			m.readAttachments(tt.info)
			s := Shape{Disks: make([]*awsv1.BlockDeviceMapping, tt.disks)}
			if got := Attachments(m, s); got != tt.want {
				t.Errorf("%d volumes, want %d", got, tt.want)
			}
		})
	}
	if got := machine(t, "t2.micro"); Attachments(got, Shape{}) != 39 {
		t.Errorf("t2.micro of the shipped table attaches %d", Attachments(got, Shape{}))
	}
}
