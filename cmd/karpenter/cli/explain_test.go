package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// serveCluster points KUBECONFIG at a cluster of the pod shop/web and its events. With nil events, listing events is forbidden.
func serveCluster(t *testing.T, events []corev1.Event) {
	t.Helper()
	resources := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: "v1"}
	lists := map[string]any{
		"/api":  &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/apis": &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}, "/api/v1": resources,
	}
	for _, kind := range []string{"Pod", "Node", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "ConfigMap", "Event"} {
		plural := strings.ToLower(kind) + "s"
		lists["/api/v1/"+plural] = &metav1.List{TypeMeta: metav1.TypeMeta{Kind: kind + "List", APIVersion: "v1"}}
		resources.APIResources = append(resources.APIResources, metav1.APIResource{
			Name: plural, SingularName: strings.ToLower(kind), Kind: kind, Verbs: []string{"list"},
			Namespaced: kind == "Pod" || kind == "Event" || kind == "ConfigMap",
		})
	}
	s, _, err := settings.Restore(nil)
	if err != nil {
		t.Fatal(err)
	}
	lists["/api/v1/namespaces/kube-system/configmaps/"+decisions.MapName] = &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: decisions.MapName},
		Data:       map[string]string{decisions.SettingsKey: s.Published()},
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u-web"}}
	pod.Spec.NodeName = "n2"
	lists["/api/v1/pods"] = &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{pod}}
	if events != nil {
		lists["/api/v1/namespaces/shop/events"] = &corev1.EventList{
			TypeMeta: metav1.TypeMeta{Kind: "EventList", APIVersion: "v1"}, Items: events,
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := lists[r.URL.Path]
		asksForEvents := strings.HasSuffix(r.URL.Path, "/events")
		switch {
		case !ok && !asksForEvents:
			http.NotFound(w, r)
			return
		case !ok || asksForEvents && r.URL.Query().Get("fieldSelector") != "involvedObject.uid=u-web":
			w.WriteHeader(http.StatusForbidden)
			answer = &metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "you may not see " + r.URL.Path,
			}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfigOf(t, server.URL)
}

// kubeconfigOf points KUBECONFIG at the API server with the address.
func kubeconfigOf(t *testing.T, address string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", address)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
}

// told are the events of two plans for a pod. The node of the first plan was gone before the pod was bound to it.
func told() []corev1.Event {
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	event := func(name, message string, count int32, last time.Time) corev1.Event {
		return corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}, Reason: telemetry.EventNominated, Message: message,
			Source: corev1.EventSource{Component: telemetry.Component}, Count: count, LastTimestamp: metav1.NewTime(last),
		}
	}
	return []corev1.Event{
		event("b", "Planned onto n2, which has room; it was planned onto n1, which is gone", 1, noon.Add(time.Minute)),
		event("a", "Planned onto n1, which has room", 2, noon),
	}
}

// For a pod in a cluster, the explanation includes the controller's events, which show why the pod was planned again.
func TestExplainTellsEvents(t *testing.T) {
	serveCluster(t, told())
	out, stderr, err := run(t, explainCommand(), "pod", "web", "-n", "shop")
	if err != nil {
		t.Fatal(err)
	}
	want := "pod shop/web (no requests)\n  runs on node n2\n" +
		"  event at 2026-01-05T12:00:00Z (Nominated, 2 times): Planned onto n1, which has room\n" +
		"  event at 2026-01-05T12:01:00Z (Nominated): " +
		"Planned onto n2, which has room; it was planned onto n1, which is gone\n" +
		"\nsettings of the controller: ConfigMap kube-system/karpenter-decisions\n"
	if diff := cmp.Diff(want, out); diff != "" || stderr != "" {
		t.Errorf("prints (-want +got):\n%s%s", diff, stderr)
	}
	out, _, err = run(t, explainCommand(), "pod", "web", "-n", "shop", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	end := `"notes":["runs on node n2"],"events":[` +
		`{"reason":"Nominated","message":"Planned onto n1, which has room","count":2,"last":"2026-01-05T12:00:00Z"},` +
		`{"reason":"Nominated","message":"Planned onto n2, which has room; it was planned onto n1, which is gone","count":1,` +
		`"last":"2026-01-05T12:01:00Z"}],"controller":{"settings":"ConfigMap kube-system/karpenter-decisions",` +
		`"launchesPaused":false,"disruptionPaused":false,"notes":[]}}` + "\n"
	if !strings.HasSuffix(out, end) {
		t.Errorf("prints\n%swant it to end with\n%s", out, end)
	}
}

// A user without permission to list events gets a warning and the rest of the explanation.
func TestExplainWithoutEvents(t *testing.T) {
	serveCluster(t, nil)
	out, stderr, err := run(t, explainCommand(), "pod", "web", "-n", "shop", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var answer offline.PodAnswer
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Outcome != offline.NotAsked || answer.Told == nil || len(answer.Told) > 0 {
		t.Errorf("the answer is %s", out)
	}
	want := "warning: the events of the pod are omitted: list events of shop/web: " +
		"you may not see /api/v1/namespaces/shop/events\n"
	if diff := cmp.Diff(want, stderr); diff != "" {
		t.Errorf("warns (-want +got):\n%s", diff)
	}
}
