package telemetry

import "github.com/prometheus/client_golang/prometheus"

// DeletionCostMetrics are the metrics of the annotation controller.kubernetes.io/pod-deletion-cost, which Karpenter
// sets on pods.
type DeletionCostMetrics struct {
	// NodesWithPendingAnnotationWrites has the label nodepool.
	NodesWithPendingAnnotationWrites *prometheus.GaugeVec
	// PodAnnotationWritesTotal has the label result. Its value is one of the Write constants.
	PodAnnotationWritesTotal *prometheus.CounterVec
}

// Results of writing the deletion cost of a pod.
const (
	WriteUpdated  = "updated"
	WriteNotFound = "skipped_notfound"
	WriteConflict = "skipped_conflict"
	WriteError    = "error"
)

func newDeletionCostMetrics(d declarer) *DeletionCostMetrics {
	return &DeletionCostMetrics{
		NodesWithPendingAnnotationWrites: d.gauge("nodes_with_pending_annotation_writes",
			"Nodes with pods whose deletion cost is still to be written, by NodePool.", "nodepool"),
		PodAnnotationWritesTotal: d.counter("pod_annotation_writes_total",
			"Writes of the deletion cost of pods, by result.", "result"),
	}
}
