// Package disks emulates a CSI driver: claims of the storage class zonal get a volume in the zone of the node that the
// scheduler has chosen, nodes of the hollow kubelet (package hollow) can have at most PerNode of them attached, and a
// volume is attached and detached as Kubernetes requests. There is no storage. AWS's driver, ebs.csi.aws.com, is
// emulated too, for storage classes that name it.
//
// A volume stays attached while it has the annotation disks.csi.local/hold. So a test can inspect a node that is
// drained and waits for its volumes.
package disks
