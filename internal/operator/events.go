package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// eventRecorder returns a recorder of core/v1 events, which kubectl describe shows. It ends when ctx is done.
func eventRecorder(ctx context.Context, mgr ctrl.Manager) (telemetry.Recorder, error) {
	kube, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make client for events: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(mgr.GetScheme(), corev1.EventSource{Component: telemetry.Component})
	return telemetry.NewRecorder(recorder, clock.RealClock{}), nil
}
