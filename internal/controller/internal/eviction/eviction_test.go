package eviction

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The event has the name of the PodDisruptionBudget if the response of the API server has it.
func TestRefusal(t *testing.T) {
	refused := func(message string) error {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: message}}
		return err
	}
	web := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"named": {refused("The disruption budget web-pdb needs 2 healthy pods and has 2 currently"),
			"PodDisruptionBudget default/web-pdb allows no disruption"},
		"in other words": {refused("web-pdb needs 2 healthy pods"), "its PodDisruptionBudget allows no disruption"},
		"two": {apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget")),
			"selected by more than one PodDisruptionBudget, which the eviction API refuses"},
	} {
		if got := Refusal(web, tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
