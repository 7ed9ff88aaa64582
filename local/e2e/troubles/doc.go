// Package troubles has the end-to-end test of the sentences that users read: on a running cluster, each kind of trouble has
// one correct sentence and one correct fix, the same in karpenter explain, in the event, in karpenter top and, as the label
// rule, in the metrics.
package troubles
