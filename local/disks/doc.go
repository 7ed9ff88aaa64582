// Package disks emulates a CSI driver. A PersistentVolumeClaim of the storage class zonal gets a volume in the zone of the
// node that the scheduler has chosen. A node of the hollow kubelet (package hollow) can have at most PerNode volumes of a
// driver attached. Volumes are attached and detached as Kubernetes requests. There is no storage. AWS's driver,
// ebs.csi.aws.com, is emulated as well, for storage classes that name it.
//
// A volume stays attached while it has the annotation disks.csi.local/hold. So a test can inspect a node that is drained and
// waits for its volumes.
package disks
