package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/finding"
)

// Discovery is what an API server says about itself.
type Discovery interface {
	ServerVersion() (*version.Info, error)
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// A Cluster is what is looked at.
type Cluster struct {
	Discovery Discovery
	// Client reads; its scheme knows our kinds and Kubernetes' own.
	Client client.Client
	// Namespace and Deployment are where the controller runs.
	Namespace, Deployment string
	Now                   time.Time

	findings []finding.Finding
}

// Check makes all checks. The error is that the cluster cannot be reached.
func (c *Cluster) Check(ctx context.Context) ([]finding.Finding, error) {
	if err := c.server(); err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context){
		c.kinds, c.stored, c.rights, c.controller, c.pools, c.claims, c.budgets, c.autoscalers, c.pending,
	} {
		check(ctx)
	}
	return c.findings, nil
}

func (c *Cluster) found(check string, level finding.Level, fix, format string, args ...any) {
	c.findings = append(c.findings, finding.Finding{Check: check, Level: level, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// unread notes what could not be read, unless it is just not there.
func (c *Cluster) unread(check string, err error) {
	if apierrors.IsForbidden(err) {
		c.found(check, finding.Note, "run it as an administrator to see more", "not looked at: %v", err)
		return
	}
	c.found(check, finding.Warning, "try again; if it stays, look at the API server", "not looked at: %v", err)
}

// oldest and newest are the minor versions of Kubernetes 1 that are supported.
const oldest, newest = 29, 36

// server looks at the API server's version.
func (c *Cluster) server() error {
	v, err := c.Discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
	}
	var minor int
	if _, err := fmt.Sscanf(strings.TrimRight(v.Minor, "+"), "%d", &minor); err != nil {
		c.found("kubernetes", finding.Warning, "", "version %s cannot be read", v.GitVersion)
		return nil
	}
	switch {
	case minor < oldest:
		c.found("kubernetes", finding.Error, fmt.Sprintf("upgrade the cluster to 1.%d or newer", oldest), "version %s is too old", v.GitVersion)
	case minor > newest:
		c.found("kubernetes", finding.Warning, "look whether there is a newer version of Karpenter",
			"version %s is newer than what is tested, 1.%d", v.GitVersion, newest)
	default:
		c.found("kubernetes", finding.OK, "", "version %s", v.GitVersion)
	}
	return nil
}

// needed are the kinds that the controller cannot do without, and those that only some features need.
var needed = []struct {
	groupVersion, resource string
	level                  finding.Level
}{
	{"karpenter.sh/v1", "nodepools", finding.Error},
	{"karpenter.sh/v1", "nodeclaims", finding.Error},
	{"karpenter.k8s.aws/v1", "ec2nodeclasses", finding.Error},
	{"karpenter.sh/v1alpha1", "nodeoverlays", finding.Note},
	{"autoscaling.x-k8s.io/v1beta1", "capacitybuffers", finding.Note},
}

// kinds looks for the kinds that the server has, and for old versions that it still has.
func (c *Cluster) kinds(context.Context) {
	missing := 0
	for _, n := range needed {
		list, err := c.Discovery.ServerResourcesForGroupVersion(n.groupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			c.unread("kinds", err)
			continue
		}
		if list == nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == n.resource }) {
			missing++
			c.found("kinds", n.level, "install the chart karpenter-crd, or kubectl apply the files of charts/karpenter/crds",
				"the server has no %s of %s", n.resource, n.groupVersion)
		}
	}
	if missing == 0 {
		c.found("kinds", finding.OK, "", "the server has all kinds")
	}
	for _, old := range []string{"karpenter.sh/v1beta1", "karpenter.sh/v1alpha5", "karpenter.k8s.aws/v1beta1", "karpenter.k8s.aws/v1alpha1"} {
		if list, err := c.Discovery.ServerResourcesForGroupVersion(old); err == nil && len(list.APIResources) > 0 {
			c.found("kinds", finding.Warning, "store all objects as v1, then upgrade the CRDs: docs/migration.md#old-crds",
				"the server still has %s, which nothing here reads", old)
		}
	}
}

// stored looks at what the definitions of the kinds say about old versions: they decide whether CRDs can be upgraded.
func (c *Cluster) stored(ctx context.Context) {
	for _, name := range []string{"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Client.Get(ctx, client.ObjectKey{Name: name}, crd)
		if apierrors.IsNotFound(err) {
			continue // reported by kinds
		}
		if err != nil {
			c.unread("stored", err)
			return
		}
		for _, v := range crd.Status.StoredVersions {
			if v != "v1" {
				c.found("stored", finding.Warning, "write every object again (kubectl get ... -o yaml | kubectl replace -f -), then take "+v+
					" from status.storedVersions: docs/migration.md#old-crds", "%s may still hold objects stored as %s", name, v)
			}
		}
		if crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
			c.found("stored", finding.Warning, "upgrade the CRDs with the chart karpenter-crd; docs/migration.md#old-crds",
				"%s asks a webhook to convert, which is not there any more", name)
		}
	}
}

// wanted are rights without which the controller stands still.
var wanted = []authorizationv1.ResourceAttributes{
	{Group: "karpenter.sh", Resource: "nodepools", Verb: "watch"},
	{Group: "karpenter.sh", Resource: "nodeclaims", Verb: "create"},
	{Group: "karpenter.sh", Resource: "nodeclaims", Subresource: "status", Verb: "patch"},
	{Group: "karpenter.k8s.aws", Resource: "ec2nodeclasses", Subresource: "status", Verb: "patch"},
	{Resource: "pods", Verb: "watch"},
	{Resource: "nodes", Verb: "patch"},
	{Resource: "nodes", Verb: "delete"},
	{Resource: "pods", Subresource: "eviction", Verb: "create"},
	{Group: "policy", Resource: "poddisruptionbudgets", Verb: "watch"},
	{Group: "storage.k8s.io", Resource: "volumeattachments", Verb: "watch"},
	{Resource: "events", Verb: "create"},
}

// rights asks what the caller may do; as the controller's account, that is what the controller may do.
func (c *Cluster) rights(ctx context.Context) {
	missing := 0
	for _, w := range wanted {
		allowed, err := c.may(ctx, w)
		if err != nil {
			c.unread("rights", err)
			return
		}
		if !allowed {
			missing++
			resource := schema.GroupResource{Group: w.Group, Resource: w.Resource}.String()
			if w.Subresource != "" {
				resource += "/" + w.Subresource
			}
			c.found("rights", finding.Error, "install the chart's ClusterRoles, or add the right to them", "may not %s %s", w.Verb, resource)
		}
	}
	if missing == 0 {
		c.found("rights", finding.OK, "", "all %d rights that were asked for", len(wanted))
	}
	throttle := authorizationv1.ResourceAttributes{Namespace: c.Namespace, Resource: "configmaps", Name: "karpenter-throttle", Verb: "get"}
	if allowed, err := c.may(ctx, throttle); err == nil && !allowed {
		c.found("rights", finding.Warning, "set extraPermissions.throttle in the chart: docs/disruption.md#the-throttle",
			"may not get ConfigMap %s/%s: pausing by it has no effect", throttle.Namespace, throttle.Name)
	}
}

// may reports whether the caller has the right.
func (c *Cluster) may(ctx context.Context, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}
	err := c.Client.Create(ctx, review)
	return review.Status.Allowed, err
}

// stale is how long after its last renewal a lease counts as having no leader.
const stale = time.Minute

// controller checks that the controller runs and that a replica is the leader.
func (c *Cluster) controller(ctx context.Context) {
	d := &appsv1.Deployment{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Deployment}, d)
	switch {
	case apierrors.IsNotFound(err):
		c.found("controller", finding.Warning, "install it (docs/getting-started-eks.md), or name it by --namespace and --deployment",
			"there is no Deployment %s in %s", c.Deployment, c.Namespace)
	case err != nil:
		c.unread("controller", err)
	case d.Status.ReadyReplicas == 0:
		c.found("controller", finding.Error, fmt.Sprintf("kubectl -n %s describe pods, and logs, of %s", c.Namespace, c.Deployment),
			"no replica of %s is ready", c.Deployment)
	default:
		c.found("controller", finding.OK, "", "%d replicas of %s are ready", d.Status.ReadyReplicas, c.Deployment)
	}
	lease := &coordinationv1.Lease{}
	err = c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: "karpenter-leader-election"}, lease)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		c.unread("controller", err)
	case lease.Spec.RenewTime == nil || c.Now.Sub(lease.Spec.RenewTime.Time) > stale:
		c.found("controller", finding.Error, "look at the logs of the controller: it lost its lease, or stopped", "nobody leads: the lease is stale")
	case ptr.Deref(lease.Spec.HolderIdentity, "") == "":
		c.found("controller", finding.Warning, "run it again in a moment; if it stays so, look at the logs of the controller",
			"nobody leads: the last leader has stopped and given the lease back")
	default:
		c.found("controller", finding.OK, "", "%s leads", *lease.Spec.HolderIdentity)
	}
}
