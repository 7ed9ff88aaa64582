package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/rights"
)

// account is the user name of the controller in the API server.
const account = "system:serviceaccount:" + cluster.Namespace + ":" + cluster.ControllerName

// unusedRights are the rights of the default chart that no test of this package needs, with the reason for each.
var unusedRights = map[string]string{
	"get configmaps/aws-auth":                       "read when a node does not join, in clusters whose nodes are authorized by this ConfigMap",
	"get deployments.apps/karpenter":                "for the helm test, which local/e2e/helm runs",
	"list resourceclaims.resource.k8s.io":           dashboardOnly,
	"list resourceclaimtemplates.resource.k8s.io":   dashboardOnly,
	"list resourceslices.resource.k8s.io":           bySetting,
	"watch resourceslices.resource.k8s.io":          bySetting,
	"get nodes":                                     onConflict,
	"get nodepools.karpenter.sh":                    onConflict,
	"update configmaps/karpenter-discovered-memory": "written at most once a minute, so a short run only creates it; provider/aws/learned tests the update",
	"patch events":                                  "the second of equal events within minutes patches the first",
	"list nodepools.karpenter.sh":                   fallback,
	"list nodes":                                    fallback,
	"list daemonsets.apps":                          fallback,
	"list limitranges":                              fallback,
	"list namespaces":                               fallback,
	"list persistentvolumeclaims":                   fallback,
	"list persistentvolumes":                        fallback,
	"list poddisruptionbudgets.policy":              fallback,
	"list csinodes.storage.k8s.io":                  fallback,
	"list storageclasses.storage.k8s.io":            fallback,
	"list volumeattachments.storage.k8s.io":         fallback,
	"list pods":                                     fallback,
	"list nodeclaims.karpenter.sh":                  fallback,
	"list ec2nodeclasses.karpenter.k8s.aws":         fallback,
}

const dashboardOnly = "the dashboard lists claims while a page is open and pods have ResourceClaims; no test of this package has such pods"

const bySetting = "read with IGNORE_DRA_REQUESTS=false, which no test of this package sets; the chart grants it always"

const onConflict = "the object is read again after a write of it met a conflict, which does not happen in each run"

const fallback = "caches list where the API server cannot stream the first list over the watch"

// An audit is the audit log of the controller's requests to the API server.
type audit struct{ policy, log string }

// audited returns the rig with an audit log of the controller, in a directory that the caller removes.
func audited(r rig.Rig) (rig.Rig, audit, error) {
	dir, err := os.MkdirTemp("", "karpenter-audit-")
	if err != nil {
		return r, audit{}, err
	}
	a := audit{policy: filepath.Join(dir, "policy.yaml"), log: filepath.Join(dir, "audit.log")}
	if err := os.WriteFile(a.policy, rights.AuditPolicy(account), 0o600); err != nil {
		return r, audit{}, err
	}
	r.Arguments = map[string][]string{"kube-apiserver": {
		"--audit-policy-file=" + a.policy, "--audit-log-path=" + a.log, "--audit-log-mode=blocking",
	}}
	return r, a, nil
}

// check returns an error that lists the rights of the controller that no request needed, and its requests without the necessary
// right. The log has the requests of all tests of this package.
func (a audit) check(ctx context.Context, e *Env) error {
	file, err := os.Open(a.log)
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	defer file.Close()
	log, err := rights.ReadAudit(file)
	if err != nil {
		return err
	}
	rules, err := grantedRules(ctx, e)
	if err != nil {
		return err
	}
	var errs []error
	granted := rights.Granted(rules)
	for _, r := range log.Unused(granted) {
		if unusedRights[r.String()] == "" {
			errs = append(errs, fmt.Errorf("granted and never used: %s", r))
		}
	}
	// A request may be denied for a short time after its right was granted.
	for _, r := range log.Denied {
		ofAll := r
		ofAll.Name = ""
		if !slices.Contains(granted, r) && !slices.Contains(granted, ofAll) {
			errs = append(errs, fmt.Errorf("tried without the right to: %s", r))
		}
	}
	fmt.Printf("the controller used %d of %d rights, %d are exceptions\n", len(granted)-len(log.Unused(granted)), len(granted), len(unusedRights))
	return errors.Join(errs...)
}

// grantedRules returns the rules of the roles that are bound to the controller.
func grantedRules(ctx context.Context, e *Env) (rules []rbacv1.PolicyRule, err error) {
	isOurs := func(subjects []rbacv1.Subject) bool {
		for _, s := range subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == cluster.Namespace && s.Name == cluster.ControllerName {
				return true
			}
		}
		return false
	}
	var all rbacv1.ClusterRoleBindingList
	var some rbacv1.RoleBindingList
	if err := errors.Join(e.List(ctx, &all), e.List(ctx, &some)); err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	for _, b := range all.Items {
		if isOurs(b.Subjects) {
			var role rbacv1.ClusterRole
			err = errors.Join(err, e.Get(ctx, client.ObjectKey{Name: b.RoleRef.Name}, &role))
			rules = append(rules, role.Rules...)
		}
	}
	for _, b := range some.Items {
		if isOurs(b.Subjects) {
			var role rbacv1.Role
			err = errors.Join(err, e.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.RoleRef.Name}, &role))
			rules = append(rules, role.Rules...)
		}
	}
	return rules, err
}
