package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/bench/workload"
)

// An App is a deployment of equal pods.
type App struct {
	Name     string
	Replicas int
	// Pod is one of the equal pods.
	Pod *corev1.Pod
}

// Apps returns the deployments of n pods of the profile, sorted by name.
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

// Quarter returns the apps with a quarter of their pods each, at least one.
func Quarter(apps []App) []App {
	out := slices.Clone(apps)
	for i := range out {
		out[i].Replicas = max(1, out[i].Replicas/4)
	}
	return out
}

// Pods returns all pods of the apps, as pending pods.
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

// deployment returns the app as a Deployment whose pods have no grace period.
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

// make creates the deployments.
func (a *API) make(ctx context.Context, apps []App) error {
	objects := make([]sent, len(apps))
	for i, app := range apps {
		objects[i] = sent{deploymentsPath, app.deployment()}
	}
	return a.each(ctx, http.MethodPost, "application/json", objects)
}

// scale sets the replicas of the deployments to those of the apps.
func (a *API) scale(ctx context.Context, apps []App) error {
	objects := make([]sent, len(apps))
	for i, app := range apps {
		objects[i] = sent{deploymentsPath + "/" + app.Name, manifest{"spec": manifest{"replicas": app.Replicas}}}
	}
	return a.each(ctx, http.MethodPatch, "application/merge-patch+json", objects)
}

// coresLabel is the label with the number of cores of an instance type.
const coresLabel = "karpenter.kwok.sh/instance-cpu"

// pool returns a node class and a NodePool for Linux on amd64, on-demand, with the given consolidateAfter. Its budget
// allows all nodes to be disrupted at the same time. Nodes have at most maxCPU cores, any number if maxCPU is 0. boot is
// the time from the launch of a node until it joins.
func pool(consolidateAfter string, maxCPU int, boot time.Duration) []any {
	const group, class = "karpenter.kwok.sh", "KWOKNodeClass"
	is := func(key, operator, value string) manifest {
		return manifest{"key": key, "operator": operator, "values": []string{value}}
	}
	requirements := []any{
		is("kubernetes.io/os", "In", "linux"), is("kubernetes.io/arch", "In", "amd64"), is("karpenter.sh/capacity-type", "In", "on-demand"),
	}
	if maxCPU > 0 {
		requirements = append(requirements, is(coresLabel, "Lt", strconv.Itoa(maxCPU+1)))
	}
	spec := manifest{}
	if boot > 0 {
		spec["nodeRegistrationDelay"] = boot.String()
	}
	return []any{
		manifest{"apiVersion": group + "/v1alpha1", "kind": class, "metadata": manifest{"name": "default"}, "spec": spec},
		manifest{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": manifest{"name": "default"},
			"spec": manifest{
				"template": manifest{"spec": manifest{
					"nodeClassRef": manifest{"group": group, "kind": class, "name": "default"},
					"requirements": requirements,
				}},
				"disruption": manifest{
					"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": consolidateAfter,
					"budgets": []any{manifest{"nodes": "100%"}},
				},
			},
		},
	}
}

// ready creates more nodes than the pods need, each with 64 cores and eight GiB per core. This simulates an autoscaler
// that takes no time and ignores prices.
func (a *API) ready(ctx context.Context, all []*corev1.Pod) error {
	const cores, perNode = 64, 250
	var need int64
	for _, p := range all {
		for _, c := range p.Spec.Containers {
			need += max(c.Resources.Requests.Cpu().MilliValue(), c.Resources.Requests.Memory().Value()*1000/(8<<30))
		}
	}
	n := max(int(need/(cores*1000)), len(all)/perNode) + 1
	size := manifest{"cpu": strconv.Itoa(cores), "memory": strconv.Itoa(cores*8) + "Gi", "pods": strconv.Itoa(2 * perNode)}
	objects := make([]sent, n+n/4)
	for i := range objects {
		name := fmt.Sprintf("ready-%d", i)
		objects[i] = sent{"/api/v1/nodes", manifest{
			"apiVersion": "v1", "kind": "Node", "metadata": manifest{
				"name": name, "annotations": manifest{"kwok.x-k8s.io/node": "fake"},
				"labels": manifest{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
			},
			"status": manifest{"capacity": size, "allocatable": size},
		}}
	}
	return a.each(ctx, http.MethodPost, "application/json", objects)
}
