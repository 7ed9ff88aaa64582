// Package disks plays a CSI driver: claims of the storage class zonal get a
// volume in the zone of the node that the scheduler has chosen, nodes of the
// hollow kubelet can have so many of them attached, and a volume is attached
// and detached as Kubernetes requests. There is no storage. AWS's driver,
// ebs.csi.aws.com, is played as well, for storage classes that name it.
//
// A volume with the annotation disks.csi.local/hold stays attached while it is
// there: so a test can look at a node that waits for its volumes.
package disks
