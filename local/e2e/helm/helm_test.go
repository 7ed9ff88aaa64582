package helm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const namespace = "karpenter"

// The usual operations on a release work, in this order.
func TestRelease(t *testing.T) {
	e := newEnv(t)
	e.furnish(t)
	install := []string{"upgrade", "--install", "karpenter", filepath.Join(e.charts, "karpenter-0.2.0.tgz"), "--namespace", namespace,
		"--values", e.values(t)}

	// The CRDs exist already, as in a cluster with upstream's chart. Helm installs its own only with --take-ownership.
	definitions := []string{"upgrade", "--install", "karpenter-crd", filepath.Join(e.charts, "karpenter-crd-0.2.0.tgz"), "--namespace", namespace}
	if out, err := e.try(t, definitions...); err == nil || !strings.Contains(out, "invalid ownership metadata") {
		t.Errorf("definitions of others are taken: %v\n%s", err, out)
	}
	e.helm(t, append(definitions, "--take-ownership")...)
	if out, err := e.try(t, append(install, "--set", "replica=3")...); err == nil || !strings.Contains(out, "replica") {
		t.Errorf("a typo is installed: %v\n%s", err, out)
	}
	if out := e.helm(t, append(install, "--wait", "--timeout", "4m")...); !strings.Contains(out, "helm test karpenter -n karpenter") {
		t.Errorf("the notes do not say what is next:\n%s", out)
	}
	e.wantAvailable(t, 2)

	t.Run("the controller leads with the rights of the chart", e.controllerLeads)
	t.Run("helm test", e.helmTest)
	t.Run("GitOps sees no difference", e.gitOps)
	t.Run("upgrade and rollback", e.upgrade)
	t.Run("below another chart", e.umbrella)
	t.Run("helm test fails without a controller", e.helmTestFails)
	t.Run("uninstall", e.uninstall)
}

// values writes a file with values for upstream's chart, in which settings of the local cluster replace those of EKS.
func (e *env) values(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../chart/testdata/eks.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed := string(text)
	for was, is := range map[string]string{
		"clusterName: demo": "clusterName: local", "clusterEndpoint: https://ABC.gr7.us-east-1.eks.amazonaws.com": "clusterEndpoint: " + e.Cluster.Endpoint(),
		"  interruptionQueue: demo\n": "",
	} {
		if !strings.Contains(changed, was) {
			t.Fatalf("the values have no %q", was)
		}
		changed = strings.ReplaceAll(changed, was, is)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// gitOps renders the installed chart again. The API server must report no difference to the cluster, both before and after the
// rendered manifests are applied.
func (e *env) gitOps(t *testing.T) {
	rendered := e.helm(t, "template", "karpenter", filepath.Join(e.charts, "karpenter-0.2.0.tgz"), "--namespace", namespace,
		"--values", e.values(t), "--no-hooks", "--kube-version", "v1.36.3")
	for _, when := range []string{"after helm", "after the tool"} {
		out, err := e.kubectl(t, rendered, "diff", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", "-")
		if err != nil {
			t.Errorf("%s it differs: %v\n%s", when, err, out)
		}
		if out, err := e.kubectl(t, rendered, "apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", "-"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if d := e.deployment(t); d.Generation != 1 {
		t.Errorf("the Deployment was written anew: generation %d", d.Generation)
	}
}

// upgrade upgrades to the next version from a registry, with a network policy and a default pool, and rolls back.
func (e *env) upgrade(t *testing.T) {
	for _, name := range []string{"karpenter", "karpenter-crd"} {
		e.helm(t, "push", filepath.Join(e.charts, name+"-0.3.0.tgz"), e.registry, "--plain-http")
	}
	e.helm(t, "upgrade", "karpenter-crd", e.registry+"/karpenter-crd", "--version", "0.3.0", "--plain-http", "--namespace", namespace)
	e.helm(t, "upgrade", "karpenter", e.registry+"/karpenter", "--version", "0.3.0", "--plain-http", "--namespace", namespace,
		"--reuse-values", "--force-conflicts", "--set", "replicas=1,networkPolicy.enabled=true,defaultNodePool.enabled=true,defaultNodeClass.enabled=true",
		"--wait", "--timeout", "4m")
	e.wantAvailable(t, 1)
	if got := e.deployment(t).Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(got, ":0.3.0") {
		t.Errorf("the image is %s", got)
	}
	var policy networkingv1.NetworkPolicy
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "karpenter"}, &policy); err != nil {
		t.Fatal(err)
	}
	for _, rule := range policy.Spec.Egress {
		if len(rule.Ports) == 0 {
			t.Errorf("the controller may talk to anything: %+v", rule)
		}
	}
	if selected := policy.Spec.PodSelector.MatchLabels; len(policy.Spec.PolicyTypes) != 2 || len(selected) == 0 ||
		selected["app.kubernetes.io/name"] != e.deployment(t).Spec.Template.Labels["app.kubernetes.io/name"] {
		t.Errorf("the policy is %+v", policy.Spec)
	}
	e.helm(t, "rollback", "karpenter", "1", "--namespace", namespace, "--force-conflicts", "--wait", "--timeout", "4m")
	e.wantAvailable(t, 2)
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(&policy), &policy); !apierrors.IsNotFound(err) {
		t.Errorf("after going back the policy is still there: %v", err)
	}
}

// umbrella installs the chart as a dependency of another chart, in its own namespace.
func (e *env) umbrella(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "platform")
	text := "apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n" +
		"- {name: karpenter, version: 0.3.0, condition: karpenter.enabled, repository: \"" + e.registry + "\"}\n"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e.helm(t, "dependency", "update", dir, "--plain-http")
	e.helm(t, "install", "platform", dir, "--namespace", "platform", "--create-namespace", "--skip-crds",
		"--set", "global.team=platform,karpenter.enabled=true,karpenter.settings.clusterName=local")
	var d appsv1.Deployment
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: "platform", Name: "platform-karpenter"}, &d); err != nil {
		t.Error(err)
	}
	e.helm(t, "upgrade", "platform", dir, "--namespace", "platform", "--set", "karpenter.enabled=false")
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(&d), &d); !apierrors.IsNotFound(err) {
		t.Errorf("switched off it is still there: %v", err)
	}
	e.helm(t, "uninstall", "platform", "--namespace", "platform")
}

// patiently makes helm wait by polling. With its default, a watch, helm sometimes does not notice that an object is gone, or
// gives up at once (https://github.com/helm/helm/issues/31766).
const patiently = "--wait=legacy"

// await waits up to four minutes until definitions are gone. The API server does not delete one whose storage is being initialized ("could
// not list instances: storage is (re)initializing"), and tries again after delays that grow to minutes. It tries at once when the definition
// is written, so an annotation is written every ten seconds.
func (e *env) await(t *testing.T, definitions []string) (out string, err error) {
	for try := range 24 {
		if out, err = e.kubectl(t, "", append([]string{"wait", "--for=delete", "--timeout=10s"}, definitions...)...); err == nil {
			return out, nil
		}
		for _, d := range definitions {
			_, _ = e.kubectl(t, "", "annotate", "--overwrite", d, fmt.Sprintf("test.karpenter/try=%d", try)) // fails if it is gone
		}
	}
	return out, err
}

// uninstall checks that no object of the release remains. CRDs, and with them the NodePools of users, are deleted only with the
// chart of the CRDs.
func (e *env) uninstall(t *testing.T) {
	e.helm(t, "uninstall", "karpenter", "--namespace", namespace, patiently, "--timeout", "4m")
	out, err := e.kubectl(t, "", "get", "all,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,poddisruptionbudgets,networkpolicies",
		"--all-namespaces", "--selector", "app.kubernetes.io/instance=karpenter", "--output", "name")
	if left := strings.TrimSpace(out); err != nil || left != "" && left != "No resources found" {
		t.Errorf("left behind: %v\n%s", err, out)
	}
	var pools apiv1.NodePoolList
	if err := e.List(t.Context(), &pools); err != nil {
		t.Errorf("the kinds went with the controller: %v", err)
	}
	// kubectl waits for the definitions, and not helm, whose wait once ended after four minutes without a reason.
	e.helm(t, "uninstall", "karpenter-crd", "--namespace", namespace, "--wait=hookOnly")
	out, err = e.kubectl(t, "", "get", "crds", "--output", "name")
	left := slices.DeleteFunc(strings.Fields(out), func(name string) bool { return !strings.Contains(name, "karpenter.sh") })
	if err == nil && len(left) > 0 {
		out, err = e.await(t, left)
	}
	if err != nil {
		why, _ := e.kubectl(t, "", "get", "crds", "--output", "jsonpath={range .items[*]}{.metadata.name} {.status.conditions}{\"\\n\"}{end}")
		t.Errorf("definitions are left: %v\n%s\n%s", err, out, why)
	}
}
