package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Mass is the header of the table of MassResult.Row.
const Mass = `| Controller | Nodes | All replaced after drift | All deleted together | Writes to nodes and claims in the deletion | Conflicts |
|---|---|---|---|---|---|
`

// A MassResult is the result of a mass drift and a mass deletion.
type MassResult struct {
	// Name is the name of the controller. Nodes is the number of nodes.
	Name  string
	Nodes int
	// Drift is the time from the change of the NodePool until all nodes are new and all pods run on them. Deletion is the time
	// from the deletion of all nodes, claims and pods until no node and no claim exists. Drift is zero if it was not measured.
	Drift, Deletion time.Duration
	// Writes is the number of writes of all clients to nodes and claims during the deletion. Conflicts is the number
	// of those with the response Conflict.
	Writes, Conflicts int
}

// Row returns the result as a row of the table.
func (r MassResult) Row() string {
	drift := "–"
	if r.Drift > 0 {
		drift = seconds(r.Drift)
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %d | %d |\n", r.Name, r.Nodes, drift, seconds(r.Deletion), r.Writes, r.Conflicts)
}

// massApp is the deployment of a mass run.
const massApp = "mass"

// generationLabel is the label of the NodePool's template whose change makes nodes drift.
const generationLabel = "bench.example.com/generation"

// RunMass creates n nodes with one pod each, and makes all of them drift, unless o.DeletionOnly is set. Then it deletes all
// nodes, claims and pods together. It repeats the deletion every two seconds, as some users do. The NodePool allows all
// nodes to be disrupted at the same time.
func RunMass(ctx context.Context, o Options, n int) (r MassResult, err error) {
	r.Name, r.Nodes = o.Name, n
	if _, err := os.Lstat(o.Logs); err == nil {
		return r, fmt.Errorf("keep logs in %s: it is there already; name another directory", o.Logs)
	}
	c := &Cluster{Bin: o.Bin, Dir: o.Dir, Controller: o.Controller}
	defer func() { err = errors.Join(err, c.keepLogs(o.Logs), c.Down(ctx)) }()
	if err := c.Up(ctx); err != nil {
		return r, err
	}
	api, err := c.API(ctx)
	if err != nil {
		return r, err
	}
	watching, stop := context.WithCancel(ctx)
	seen, wait := Watch(watching, api)
	defer wait()
	defer stop()
	// A pod requests three cores and a node has four, so each node gets one pod.
	const cores, request = 4, "3"
	if err := c.Apply(ctx, generation(pool("Never", cores, o.Boot), "1")...); err != nil {
		return r, err
	}
	fmt.Fprintf(o.Log, "%s: making %d nodes\n", r.Name, n)
	if err := api.send(ctx, http.MethodPost, "application/json", sent{deploymentsPath, massDeployment(n, request)}); err != nil {
		return r, err
	}
	if err := seen.settled(ctx, n, "1", o.UpLimit); err != nil {
		return r, fmt.Errorf("make %d nodes: %w", n, err)
	}
	if !o.DeletionOnly {
		if err := r.drift(ctx, c, seen, o, cores); err != nil {
			return r, fmt.Errorf("drift of %d nodes: %w", n, err)
		}
	}
	if err := r.deletion(ctx, api, seen, o); err != nil {
		return r, fmt.Errorf("deletion of %d nodes: %w", n, err)
	}
	return r, nil
}

// drift changes the NodePool and waits until all nodes are new.
func (r *MassResult) drift(ctx context.Context, c *Cluster, seen *Seen, o Options, cores int) error {
	begun := time.Now()
	if err := c.Apply(ctx, generation(pool("Never", cores, o.Boot), "2")...); err != nil {
		return err
	}
	err := seen.settled(ctx, r.Nodes, "2", o.DownLimit)
	r.Drift = time.Since(begun)
	fmt.Fprintf(o.Log, "%d nodes replaced after %.1fs\n", r.Nodes, r.Drift.Seconds())
	return err
}

// deletion sets the replicas of the deployment to 0, and deletes all pods, nodes and claims every two seconds until no node
// and no claim is left.
func (r *MassResult) deletion(ctx context.Context, a *API, seen *Seen, o Options) error {
	before, err := a.counts(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := a.scale(ctx, []App{{Name: massApp}}); err != nil {
		return err
	}
	var last time.Time
	var failed error
	err = eventually(ctx, o.DownLimit, func() (bool, string) {
		left, again := len(seen.names(nodes))+len(seen.names(claims)), time.Since(last) >= 2*time.Second
		if again {
			last = time.Now()
			for k, path := range paths {
				failed = errors.Join(failed, a.deleteAll(ctx, path, seen.names(kind(k))))
			}
		}
		return left == 0 || failed != nil, fmt.Sprintf("%d nodes and claims are left", left)
	})
	r.Deletion = time.Since(begun)
	after, countErr := a.counts(ctx)
	during := after.since(before)
	r.Writes, r.Conflicts = during.writes, during.conflicts
	fmt.Fprintf(o.Log, "%d nodes deleted after %.1fs: %d writes to nodes and claims, %d conflicts (%s)\n",
		r.Nodes, r.Deletion.Seconds(), r.Writes, r.Conflicts, mostFrequent(during.conflicting))
	return errors.Join(err, failed, countErr)
}

// deleteAll deletes the named objects at path. Missing objects are not an error.
func (a *API) deleteAll(ctx context.Context, path string, names []string) error {
	objects := make([]sent, len(names))
	for i, name := range names {
		objects[i] = sent{path + "/" + name, manifest{"apiVersion": "v1", "kind": "DeleteOptions"}}
	}
	return a.each(ctx, http.MethodDelete, "application/json", objects)
}

// generation sets the label of the NodePool's template whose change makes nodes drift.
func generation(objects []any, value string) []any {
	for _, o := range objects {
		m, _ := o.(manifest)
		if m["kind"] != "NodePool" {
			continue
		}
		spec, _ := m["spec"].(manifest)
		template, _ := spec["template"].(manifest)
		template["metadata"] = manifest{"labels": manifest{generationLabel: value}}
	}
	return objects
}

// massDeployment returns a deployment of n pods that request the given number of cores and have no grace period.
func massDeployment(n int, cores string) any {
	labels := manifest{"app": massApp}
	return manifest{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": manifest{"name": massApp, "namespace": "default"},
		"spec": manifest{
			"replicas": n, "selector": manifest{"matchLabels": labels},
			"template": manifest{
				"metadata": manifest{"labels": labels},
				"spec": manifest{
					"terminationGracePeriodSeconds": 0,
					"containers": []any{manifest{
						"name": "app", "image": "app", "resources": manifest{"requests": manifest{"cpu": cores}},
					}},
				},
			},
		},
	}
}
