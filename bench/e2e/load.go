package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/bench/workload"
)

// An App is pods of one size.
type App struct {
	Name     string
	Replicas int
	// Pod is one of them.
	Pod *corev1.Pod
}

// Apps returns the deployments that n pods of the profile are made of, by name.
func Apps(p workload.Profile, n int, seed uint64) []App {
	byName := map[string]*App{}
	for _, pod := range workload.Pods(p, n, seed) {
		name := pod.Labels["app"]
		if byName[name] == nil {
			byName[name] = &App{Name: name, Pod: pod}
		}
		byName[name].Replicas++
	}
	var apps []App
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		apps = append(apps, *byName[name])
	}
	return apps
}

// Quarter returns the apps with a quarter of their pods, and one at least.
func Quarter(apps []App) []App {
	out := slices.Clone(apps)
	for i := range out {
		out[i].Replicas = max(1, out[i].Replicas/4)
	}
	return out
}

// Pods returns all pods of the apps, as pending ones.
func Pods(apps []App) []*corev1.Pod {
	var all []*corev1.Pod
	for _, a := range apps {
		for i := range a.Replicas {
			p := a.Pod.DeepCopy()
			p.Name = fmt.Sprintf("%s-%d", a.Name, i)
			all = append(all, p)
		}
	}
	return all
}

// manifest is a JSON object of the API.
type manifest = map[string]any

// deployment returns the app as a Deployment whose pods end at once when they are told to.
func (a App) deployment() any {
	labels := manifest{"app": a.Name}
	return manifest{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": manifest{"name": a.Name, "namespace": "default"},
		"spec": manifest{
			"replicas": a.Replicas, "selector": manifest{"matchLabels": labels},
			"template": manifest{
				"metadata": manifest{"labels": labels},
				"spec": manifest{
					"terminationGracePeriodSeconds": 0, "containers": a.Pod.Spec.Containers,
				},
			},
		},
	}
}

const deploymentsPath = "/apis/apps/v1/namespaces/default/deployments"

// make makes the deployments.
func (a *API) make(ctx context.Context, apps []App) error {
	objects := make([]sent, len(apps))
	for i, app := range apps {
		objects[i] = sent{deploymentsPath, app.deployment()}
	}
	return a.each(ctx, http.MethodPost, "application/json", objects)
}

// scale gives the deployments the number of pods that the apps have now.
func (a *API) scale(ctx context.Context, apps []App) error {
	objects := make([]sent, len(apps))
	for i, app := range apps {
		objects[i] = sent{deploymentsPath + "/" + app.Name, manifest{"spec": manifest{"replicas": app.Replicas}}}
	}
	return a.each(ctx, http.MethodPatch, "application/merge-patch+json", objects)
}

// pool returns a node class and a pool for Linux on amd64, on demand, that consolidates after the time given and may take any
// number of nodes away at once.
func pool(consolidateAfter string) []any {
	const group, class = "karpenter.kwok.sh", "KWOKNodeClass"
	in := func(key, value string) manifest {
		return manifest{"key": key, "operator": "In", "values": []string{value}}
	}
	return []any{
		manifest{"apiVersion": group + "/v1alpha1", "kind": class, "metadata": manifest{"name": "default"}},
		manifest{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": manifest{"name": "default"},
			"spec": manifest{
				"template": manifest{"spec": manifest{
					"nodeClassRef": manifest{"group": group, "kind": class, "name": "default"},
					"requirements": []any{
						in("kubernetes.io/os", "linux"), in("kubernetes.io/arch", "amd64"), in("karpenter.sh/capacity-type", "on-demand"),
					},
				}},
				"disruption": manifest{
					"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": consolidateAfter,
					"budgets": []any{manifest{"nodes": "100%"}},
				},
			},
		},
	}
}
