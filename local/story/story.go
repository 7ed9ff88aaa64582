package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/objects"
	"github.com/karpenter-go/karpenter/local/watching"
)

// A Story is one run of an example on a cluster.
type Story struct {
	Client  client.WithWatch // its scheme must have the kinds of Karpenter and Kubernetes
	Cloud   control.Client
	Log     string // the controller's log, JSON lines
	Example string // directory of manifests, one Deployment among them
	Pods    int    // how many the Deployment is scaled to
	Out     io.Writer
	Clock   clock.PassiveClock

	begun time.Time
}

// Tell applies the example, scales it, and prints the events until every pod runs. If the example runs already, Tell
// only prints a summary.
func (s *Story) Tell(ctx context.Context) error {
	s.begun = s.Clock.Now()
	deployment, err := s.apply(ctx)
	if err != nil {
		return err
	}
	t := newTeller(s.Pods, s.say)
	if running(deployment) == s.Pods {
		s.say(fmt.Sprintf("%s runs already: %d of %d", deployment.Name, s.Pods, s.Pods))
	} else if err := s.follow(ctx, t, deployment); err != nil {
		return err
	}
	return s.summarize(ctx, t.plans, deployment)
}

func (s *Story) say(line string) {
	fmt.Fprintf(s.Out, "%6.1fs  %s\n", s.Clock.Since(s.begun).Seconds(), line)
}

// apply applies the example and returns its Deployment. An existing Deployment keeps its number of replicas, so that no
// pods are deleted.
func (s *Story) apply(ctx context.Context) (*appsv1.Deployment, error) {
	manifests, err := objects.ReadDir(s.Example)
	if err != nil {
		return nil, err
	}
	var found *appsv1.Deployment
	for _, manifest := range manifests {
		if manifest.GetKind() == "Deployment" {
			if found, err = s.keepSize(ctx, manifest); err != nil {
				return nil, err
			}
		}
		if err := objects.Apply(ctx, s.Client, manifest); err != nil {
			return nil, err
		}
		s.say(fmt.Sprintf("applied %s %s", manifest.GetKind(), manifest.GetName()))
	}
	if found == nil {
		return nil, fmt.Errorf("find workload: there is no Deployment in %s", s.Example)
	}
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(found), found); err != nil {
		return nil, fmt.Errorf("read workload: %w", err)
	}
	return found, nil
}

// keepSize sets the replicas in the manifest to those of the existing Deployment, if there is one. It returns a
// Deployment with the name in the manifest.
func (s *Story) keepSize(ctx context.Context, manifest *unstructured.Unstructured) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	deployment.Name = manifest.GetName()
	deployment.Namespace = manifest.GetNamespace()
	if deployment.Namespace == "" {
		deployment.Namespace = corev1.NamespaceDefault
		manifest.SetNamespace(deployment.Namespace)
	}
	err := s.Client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read workload: %w", err)
	}
	if err != nil || deployment.Spec.Replicas == nil {
		return deployment, nil
	}
	size := int64(*deployment.Spec.Replicas)
	if err := unstructured.SetNestedField(manifest.Object, size, "spec", "replicas"); err != nil {
		return nil, fmt.Errorf("read workload: %w", err)
	}
	return deployment, nil
}

// running returns the number of ready pods of a Deployment if all its replicas are ready, otherwise -1.
func running(d *appsv1.Deployment) int {
	if d.Spec.Replicas == nil || *d.Spec.Replicas != d.Status.ReadyReplicas ||
		d.Status.Replicas != d.Status.ReadyReplicas {
		return -1
	}
	return int(d.Status.ReadyReplicas)
}

// lookEvery is the interval at which the log and the emulated cloud are read, because neither can be watched.
const lookEvery = 100 * time.Millisecond

// follow scales the workload and prints what happens.
func (s *Story) follow(ctx context.Context, t *teller, d *appsv1.Deployment) error {
	r := &records{story: s, teller: t}
	if err := r.skip(ctx); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.Pods)
	if err := s.Client.Patch(ctx, d, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("scale %s: %w", d.Name, err)
	}
	s.begun = s.Clock.Now()
	s.say(fmt.Sprintf("scaled %s to %d", d.Name, s.Pods))

	watches, stop := context.WithCancel(ctx)
	defer stop()
	sources, watches := errgroup.WithContext(watches)
	news := make(chan func())
	tell := func(f func()) {
		select {
		case news <- f:
		case <-watches.Done():
		}
	}
	sources.Go(func() error { return s.followPods(watches, d, t, tell) })
	sources.Go(func() error { return s.followClaims(watches, t, tell) })
	err := s.listen(watches, t, r, news)
	stop()
	if err = errors.Join(err, sources.Wait()); err != nil {
		return fmt.Errorf("scale %s: %d of %d Running: %w", d.Name, t.running, t.want, err)
	}
	return nil
}

// listen calls the functions from news, which pass changes to t, until every pod runs. It reads the records before
// each call, so that causes are printed before effects.
func (s *Story) listen(ctx context.Context, t *teller, r *records, news <-chan func()) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for !t.done() {
		var f func()
		select {
		case f = <-news:
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := r.read(ctx); err != nil {
			return err
		}
		if f != nil {
			f()
		}
	}
	return nil
}

// records has the positions up to which the controller's log and the calls of the emulated cloud have been read.
type records struct {
	story  *Story
	teller *teller
	offset int64 // in the controller's log
	call   int64 // number of the cloud's last call
}

// skip sets the positions in the controller's log and in the calls of the cloud to their ends, so that read returns
// only what the story causes.
func (r *records) skip(ctx context.Context) (err error) {
	if _, r.offset, err = newPlans(r.story.Log, 0); err != nil {
		return err
	}
	_, r.call, err = newFleets(ctx, r.story.Cloud, 0)
	return err
}

// read passes the new records to the teller.
func (r *records) read(ctx context.Context) error {
	plans, offset, err := newPlans(r.story.Log, r.offset)
	if err != nil {
		return err
	}
	fleets, call, err := newFleets(ctx, r.story.Cloud, r.call)
	if err != nil {
		return err
	}
	r.offset, r.call = offset, call
	for _, p := range plans {
		r.teller.sawPlan(p)
	}
	for _, f := range fleets {
		r.teller.sawFleet(f)
	}
	return nil
}

func (s *Story) followPods(ctx context.Context, d *appsv1.Deployment, t *teller, tell func(func())) error {
	var pods corev1.PodList
	return s.followList(ctx, &pods, func() {
		seen := pods.DeepCopy().Items
		tell(func() { t.sawPods(seen) })
	}, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels))
}

func (s *Story) followClaims(ctx context.Context, t *teller, tell func(func())) error {
	var claims apiv1.NodeClaimList
	return s.followList(ctx, &claims, func() {
		seen := claims.DeepCopy().Items
		tell(func() { t.sawClaims(seen) })
	})
}

// followList calls look whenever list has changed, until ctx is done.
func (s *Story) followList(ctx context.Context, list client.ObjectList, look func(), opts ...client.ListOption) error {
	err := watching.Until(ctx, s.Client, list, func() bool { look(); return false }, opts...)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
