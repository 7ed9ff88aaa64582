// Package eviction requests evictions of pods by the API of Kubernetes, for all controllers that drain nodes.
package eviction

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Request requests the eviction of the pod, and counts the request by the response. A pod of another UID that has the name is not
// evicted: the error is then a conflict.
func Request(ctx context.Context, c client.Client, m *telemetry.PodMetrics, pod *corev1.Pod) error {
	err := c.SubResource("eviction").Create(ctx, pod.DeepCopy(), &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	})
	m.EvictionRequestsTotal.WithLabelValues(code(err)).Inc()
	return err
}

// Refused reports whether the API server refused the eviction because of PodDisruptionBudgets. If more than one selects
// the pod, the API server returns an internal error. It is handled in the same way, because the user must change a
// PodDisruptionBudget, and other pods are not affected.
func Refused(err error) bool {
	return apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "more than one PodDisruptionBudget")
}

// Refusal describes why the API server refused to evict a pod. The name of the PodDisruptionBudget is taken from the text of the
// response. If that text has an unexpected form, the result has no name.
func Refusal(pod *corev1.Pod, err error) string {
	if !apierrors.IsTooManyRequests(err) {
		return "selected by more than one PodDisruptionBudget, which the eviction API refuses"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			rest, named := strings.CutPrefix(cause.Message, "The disruption budget ")
			if name, _, ok := strings.Cut(rest, " "); named && ok && cause.Type == policyv1.DisruptionBudgetCause {
				return fmt.Sprintf("PodDisruptionBudget %s/%s allows no disruption", pod.Namespace, name)
			}
		}
	}
	return "its PodDisruptionBudget allows no disruption"
}

// code returns the HTTP status of a response for the label of metrics, and 500 for an error without a status.
func code(err error) string {
	if err == nil {
		return strconv.Itoa(http.StatusOK)
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code != 0 {
		return strconv.Itoa(int(status.Status().Code))
	}
	return strconv.Itoa(http.StatusInternalServerError)
}
