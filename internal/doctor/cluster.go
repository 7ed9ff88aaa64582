package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/finding"
)

// Discovery returns the version and the resources of an API server.
type Discovery interface {
	ServerVersion() (*version.Info, error)
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// A Cluster has the clients and settings for the checks of one cluster. It collects the findings, so Check is called once.
type Cluster struct {
	Discovery Discovery
	// Client reads the cluster. Its scheme has the kinds of Karpenter and of Kubernetes.
	Client client.Client
	// Namespace and Deployment are where the controller runs.
	Namespace, Deployment string
	Now                   time.Time
	// JoinTimes returns the ages at which the controller deletes NodeClaims whose node has not joined, by kind of node class, as
	// far as they differ from usualJoinTime. Its argument returns a setting of the controller by flag and environment variable,
	// or the last argument if the Deployment does not have it. May be nil.
	JoinTimes func(ctx context.Context, setting func(flag, env, otherwise string) string) (map[schema.GroupKind]time.Duration, error)

	findings []finding.Finding
	// user is the name of the user whose permissions the client has, empty if it is not known. deployment is the
	// Deployment of the controller, nil if it was not found.
	user       string
	deployment *appsv1.Deployment
}

// Check makes all checks. It returns an error if the version of the API server cannot be read.
func (c *Cluster) Check(ctx context.Context) ([]finding.Finding, error) {
	if err := c.server(); err != nil {
		return nil, err
	}
	c.whoAmI(ctx)
	for _, check := range []func(context.Context){
		c.controller, c.crds, c.storedVersions, c.fields, c.rbac, c.leader, c.pools, c.gates, c.claims, c.budgets, c.autoscalers, c.pending,
	} {
		check(ctx)
	}
	return c.findings, nil
}

func (c *Cluster) found(check string, level finding.Level, fix, format string, args ...any) {
	c.findings = append(c.findings, finding.Finding{Check: check, Level: level, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// whoAmI sets user to the name of the client's user, which the API server returns.
func (c *Cluster) whoAmI(ctx context.Context) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Client.Create(ctx, review); err == nil { // otherwise findings say "the caller"
		c.user = review.Status.UserInfo.Username
	}
}

// caller names the user whose permissions are checked.
func (c *Cluster) caller() string { return cmp.Or(c.user, "the caller") }

// unread reports that a check was skipped because its objects could not be read.
func (c *Cluster) unread(check string, err error) {
	if apierrors.IsForbidden(err) {
		c.found(check, finding.Note, "run it as a user who is allowed to read these objects", "check skipped: %v", err)
		return
	}
	c.found(check, finding.Warning, "run it again; if the error persists, check the API server", "check skipped: %v", err)
}

// oldest and newest are the first and the last supported minor version of Kubernetes 1.
const oldest, newest = 29, 37

// server checks the version of the API server.
func (c *Cluster) server() error {
	v, err := c.Discovery.ServerVersion()
	if err != nil {
		return fmt.Errorf("get the version of the API server: %w", err)
	}
	var minor int
	if _, err := fmt.Sscanf(strings.TrimRight(v.Minor, "+"), "%d", &minor); err != nil {
		c.found("kubernetes", finding.Warning, fmt.Sprintf("check that it is in the range 1.%d to 1.%d", oldest, newest),
			"version %s is not of the form v1.MINOR", v.GitVersion)
		return nil
	}
	switch {
	case minor < oldest:
		c.found("kubernetes", finding.Error, fmt.Sprintf("upgrade the cluster to 1.%d or newer", oldest), "version %s is not supported", v.GitVersion)
	case minor > newest:
		c.found("kubernetes", finding.Warning, "check whether a newer version of Karpenter supports it",
			"version %s is newer than the newest supported version, 1.%d", v.GitVersion, newest)
	default:
		c.found("kubernetes", finding.OK, "", "version %s", v.GitVersion)
	}
	return nil
}

// A kind is a resource of the API. level is that of the finding if the API server does not serve it.
type kind struct {
	groupVersion, resource string
	level                  finding.Level
}

// needed are the kinds that the API server should serve, beside the node classes of the providers. A missing kind is reported
// at the given level: Error if the controller requires it, a lower one if only an optional feature does.
var needed = []kind{
	{"karpenter.sh/v1", "nodepools", finding.Error},
	{"karpenter.sh/v1", "nodeclaims", finding.Error},
	{"karpenter.sh/v1alpha1", "nodeoverlays", finding.Note},
	{"autoscaling.x-k8s.io/v1beta1", "capacitybuffers", finding.Note},
}

// crds checks that the API server serves the kinds in needed and the node classes of the configured providers, and no versions
// that Karpenter no longer supports.
func (c *Cluster) crds(context.Context) {
	missing, all := 0, slices.Clone(needed)
	for _, class := range c.nodeClasses() {
		all = append(all, kind{class.Group + "/" + class.Version, class.Resource, finding.Error})
	}
	for _, n := range all {
		list, err := c.Discovery.ServerResourcesForGroupVersion(n.groupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			c.unread("crds", err)
			continue
		}
		if list == nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == n.resource }) {
			missing++
			c.found("crds", n.level, "install the chart karpenter-crd, or kubectl apply -f charts/karpenter/crds",
				"the API server does not serve %s of %s", n.resource, n.groupVersion)
		}
	}
	if missing == 0 {
		c.found("crds", finding.OK, "", "all kinds are served")
	}
	for _, old := range []string{"karpenter.sh/v1beta1", "karpenter.sh/v1alpha5", "karpenter.k8s.aws/v1beta1", "karpenter.k8s.aws/v1alpha1"} {
		if list, err := c.Discovery.ServerResourcesForGroupVersion(old); err == nil && len(list.APIResources) > 0 {
			c.found("crds", finding.Warning, "store all objects as v1, then upgrade the CRDs: docs/migration.md#old-crds",
				"the API server still serves %s, which Karpenter does not read", old)
		}
	}
}

// storedVersions checks status.storedVersions of the CRDs, and that no CRD uses a conversion webhook. A CRD can be upgraded
// only if the new CRD has all versions in status.storedVersions.
func (c *Cluster) storedVersions(ctx context.Context) {
	for _, name := range []string{"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Client.Get(ctx, client.ObjectKey{Name: name}, crd)
		if apierrors.IsNotFound(err) {
			continue // reported by crds
		}
		if err != nil {
			c.unread("stored-versions", err)
			return
		}
		for _, v := range crd.Status.StoredVersions {
			if v != "v1" {
				c.found("stored-versions", finding.Warning, "store every object again (kubectl get "+name+" -o yaml | kubectl replace -f -), then"+
					" remove "+v+" from status.storedVersions: docs/migration.md#old-crds",
					"CustomResourceDefinition %s: status.storedVersions lists %s", name, v)
			}
		}
		if crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
			c.found("stored-versions", finding.Warning, "upgrade the CRDs with the chart karpenter-crd: docs/migration.md#old-crds",
				"CustomResourceDefinition %s: spec.conversion uses a webhook that Karpenter no longer has", name)
		}
	}
}

// wanted are permissions without which the controller cannot work.
var wanted = []authorizationv1.ResourceAttributes{
	{Group: "karpenter.sh", Resource: "nodepools", Verb: "watch"},
	{Group: "karpenter.sh", Resource: "nodeclaims", Verb: "create"},
	{Group: "karpenter.sh", Resource: "nodeclaims", Subresource: "status", Verb: "patch"},
	{Resource: "pods", Verb: "watch"},
	{Resource: "nodes", Verb: "patch"},
	{Resource: "nodes", Verb: "delete"},
	{Resource: "pods", Subresource: "eviction", Verb: "create"},
	{Group: "policy", Resource: "poddisruptionbudgets", Verb: "watch"},
	{Group: "storage.k8s.io", Resource: "volumeattachments", Verb: "watch"},
	{Resource: "events", Verb: "create"},
}

// classes has, by the name of each provider of this project, the permission to patch the status of its node class.
var classes = map[string]authorizationv1.ResourceAttributes{
	"aws":        {Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses", Subresource: "status", Verb: "patch"},
	"clusterapi": {Group: "clusterapi.ext.karpenter.sh", Version: "v1alpha1", Resource: "clusterapinodeclasses", Subresource: "status", Verb: "patch"},
	"kwok":       {Group: "karpenter.kwok.sh", Version: "v1alpha1", Resource: "kwoknodeclasses", Subresource: "status", Verb: "patch"},
}

// nodeClasses returns the entries of classes for the providers of the controller.
func (c *Cluster) nodeClasses() []authorizationv1.ResourceAttributes {
	var out []authorizationv1.ResourceAttributes
	for _, name := range strings.Split(c.Setting("provider", "KARPENTER_PROVIDER", "aws"), ",") {
		if class, ok := classes[strings.TrimSpace(name)]; ok {
			out = append(out, class)
		}
	}
	return out
}

// rbac checks the permissions of the client's user. The controller has the same permissions only if that user is the
// controller's ServiceAccount.
func (c *Cluster) rbac(ctx context.Context) {
	missing, needed := 0, slices.Concat(wanted, c.nodeClasses())
	for _, w := range needed {
		allowed, err := c.may(ctx, w)
		if err != nil {
			c.unread("rbac", err)
			return
		}
		if !allowed {
			missing++
			resource := schema.GroupResource{Group: w.Group, Resource: w.Resource}.String()
			if w.Subresource != "" {
				resource += "/" + w.Subresource
			}
			c.found("rbac", finding.Error, c.grant("install the ClusterRoles of the chart, or add the permission to them"),
				"%s is not allowed to %s %s", c.caller(), w.Verb, resource)
		}
	}
	if missing == 0 {
		c.found("rbac", finding.OK, "", "all %d permissions are granted to %s", len(needed), c.caller())
	}
	throttle := authorizationv1.ResourceAttributes{Namespace: c.Namespace, Resource: "configmaps", Name: "karpenter-throttle", Verb: "get"}
	if allowed, err := c.may(ctx, throttle); err == nil && !allowed {
		c.found("rbac", finding.Warning, c.grant("set extraPermissions.throttle in the chart: docs/disruption-control.md#the-configmap-karpenter-throttle"),
			"%s is not allowed to get ConfigMap %s/%s: pauses and rate limits in it are not read", c.caller(), throttle.Namespace,
			throttle.Name)
	}
}

// account returns the user name of the controller's ServiceAccount in the API server, "" if the Deployment was not
// found.
func (c *Cluster) account() string {
	if c.deployment == nil {
		return ""
	}
	return "system:serviceaccount:" + c.Namespace + ":" + cmp.Or(c.deployment.Spec.Template.Spec.ServiceAccountName, "default")
}

// grant returns the fix for a missing permission. If the user is not the controller's ServiceAccount, the text first
// says how to check the permissions of that ServiceAccount.
func (c *Cluster) grant(fix string) string {
	switch account := c.account(); {
	case account != "" && c.user == account:
		return fix
	case account != "":
		return "check the permissions of the controller with --as " + account + "; if it lacks this one, " + fix
	}
	return "check the permissions of the controller with --as system:serviceaccount:NAMESPACE:NAME; if it lacks this one, " + fix
}

// may reports whether the client's user has the permission.
func (c *Cluster) may(ctx context.Context, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}
	err := c.Client.Create(ctx, review)
	return review.Status.Allowed, err
}

// stale is the time after the last renewal of a Lease at which the Lease counts as having no leader.
const stale = time.Minute

// controller checks that a replica of the controller is ready. It sets deployment if the Deployment exists.
func (c *Cluster) controller(ctx context.Context) {
	d := &appsv1.Deployment{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Deployment}, d)
	switch {
	case apierrors.IsNotFound(err):
		c.found("controller", finding.Warning, "install it (docs/getting-started-eks.md), or pass --namespace and --deployment",
			"Deployment %s/%s not found", c.Namespace, c.Deployment)
		return
	case err != nil:
		c.unread("controller", err)
		return
	case d.Status.ReadyReplicas == 0:
		c.found("controller", finding.Error, fmt.Sprintf("see kubectl describe and kubectl logs of deployment/%s -n %s", c.Deployment, c.Namespace),
			"no replica of Deployment %s/%s is ready", c.Namespace, c.Deployment)
	default:
		c.found("controller", finding.OK, "", "%s of Deployment %s/%s ready", counted(int(d.Status.ReadyReplicas), "replica"), c.Namespace, c.Deployment)
	}
	c.deployment = d
}

// Setting returns a setting of the controller from its Deployment: from a flag of the form --flag=value or --flag, or else from an
// environment variable. If the Deployment does not have the setting, has it only as a reference (valueFrom), or was not
// found by Check, the argument otherwise is returned.
func (c *Cluster) Setting(flag, env, otherwise string) string {
	if c.deployment == nil {
		return otherwise
	}
	return settingOf(c.deployment, flag, env, otherwise)
}

// settingOf is like Setting, for any Deployment.
func settingOf(d *appsv1.Deployment, flag, env, otherwise string) string {
	value := otherwise
	for _, container := range d.Spec.Template.Spec.Containers {
		i := slices.IndexFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == env && e.Value != "" })
		if i >= 0 {
			value = container.Env[i].Value
		}
		for _, argument := range container.Args {
			if v, ok := strings.CutPrefix(argument, "--"+flag+"="); ok {
				value = v
			} else if argument == "--"+flag { // of a boolean flag
				value = "true"
			}
		}
	}
	return value
}

// leaseOf returns the name of the Lease that the replicas of a Deployment of Karpenter use.
func leaseOf(d *appsv1.Deployment) client.ObjectKey {
	return client.ObjectKey{
		Namespace: settingOf(d, "leader-election-namespace", "LEADER_ELECTION_NAMESPACE", d.Namespace),
		Name:      settingOf(d, "leader-election-name", "LEADER_ELECTION_NAME", "karpenter-leader-election"),
	}
}

// leader checks that a replica of the controller holds the Lease. It reports nothing if there is no Lease.
func (c *Cluster) leader(ctx context.Context) {
	own := cmp.Or(c.deployment, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace}})
	key := leaseOf(own)
	lease := &coordinationv1.Lease{}
	err := c.Client.Get(ctx, key, lease)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		c.unread("controller", err)
	case lease.Spec.RenewTime == nil:
		c.found("controller", finding.Error, "see the logs of the controller", "no leader: Lease %s was never renewed", key)
	case c.Now.Sub(lease.Spec.RenewTime.Time) > stale:
		c.found("controller", finding.Error, "see the logs of the controller for the time at which it lost the Lease or stopped",
			"no leader: Lease %s was last renewed %s ago", key, c.Now.Sub(lease.Spec.RenewTime.Time).Round(time.Second))
	case ptr.Deref(lease.Spec.HolderIdentity, "") == "":
		c.found("controller", finding.Warning, "run it again after 15 s; if no replica holds the Lease then, see the logs of the controller",
			"no leader: the last leader stopped and released Lease %s", key)
	default:
		c.found("controller", finding.OK, "", "leader: %s", *lease.Spec.HolderIdentity)
	}
}
