package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// kubectl rejects manifests that are invalid by themselves, and the error names the field.
func TestWrongManifestsAreRefused(t *testing.T) {
	t.Parallel()
	const class, pool = "nodeclass.yaml", "nodepool.yaml"
	for _, c := range []struct{ name, file, old, new, say string }{
		{"unknown field", pool, "  weight: 10", "  wieght: 10", `unknown field "spec.wieght"`},
		{"two identities", class, "  role:", "  instanceProfile: mine\n  role:", "instanceProfile"},
		{"two bounds", pool, `values: ["5"]`, `values: ["5", "6"]`, "requirements"},
		{"impossible budget", pool, "nodes: 100%", "nodes: 101%", "spec.disruption.budgets[0].nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			good, err := os.ReadFile(filepath.Join("../../examples/quickstart", c.file))
			if err != nil {
				t.Fatal(err)
			}
			name := "wrong-" + strings.ReplaceAll(c.name, " ", "-")
			bad := strings.Replace(string(good), "name: default", "name: "+name, 1)
			if !strings.Contains(bad, c.old) {
				t.Fatalf("%s does not say %q", c.file, c.old)
			}
			bad = strings.Replace(bad, c.old, c.new, 1)
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := shared.Run(t, "kubectl", "apply", "--validate=strict", "-f", file)
			if err == nil || !strings.Contains(out, c.say) {
				t.Errorf("kubectl apply: %v, %q; want an error with %q", err, out, c.say)
			}
			kind := map[string]string{class: "ec2nodeclass", pool: "nodepool"}[c.file]
			if out, err := shared.Run(t, "kubectl", "get", kind, name); err == nil {
				t.Errorf("%s was stored:\n%s", name, out)
			}
		})
	}
}

// A mistake that can be detected only with the account or the catalogue is reported on the object. The controller does not
// crash.
func TestImpossibleObjectsSayWhy(t *testing.T) {
	t.Parallel()
	pid := controllerPID(t)
	s := newScene(t, "impossible")
	s.class()
	s.pool("impossible", needs{family("m7i"), in("karpenter.k8s.aws/instance-cpu", "3")})
	s.deploy("web", 1, "1")
	s.awaitEvent(about{kind: "NodePool", prefix: "impossible", reason: "NoCompatibleInstanceTypes"},
		"spec.template.spec.requirements", "karpenter.k8s.aws/instance-cpu")

	for name, c := range map[string]struct {
		change    func(*awsv1.EC2NodeClass)
		condition string
		say       string
	}{
		"impossible-subnets": {func(c *awsv1.EC2NodeClass) {
			c.Spec.SubnetSelectorTerms[0].Tags = map[string]string{"no": "such"}
		}, awsv1.ConditionTypeSubnetsReady, "spec.subnetSelectorTerms"},
		"impossible-groups": {func(c *awsv1.EC2NodeClass) {
			c.Spec.SecurityGroupSelectorTerms[0].Tags = map[string]string{"no": "such"}
		}, awsv1.ConditionTypeSecurityGroupsReady, "spec.securityGroupSelectorTerms"},
		"impossible-image": {func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms[0].Alias = "al2023@v19990101"
		}, awsv1.ConditionTypeAMIsReady, "spec.amiSelectorTerms"},
	} {
		class := nodeClass(name)
		c.change(class)
		shared.Make(t, class)
		s.wantNot(class, c.condition, c.say)
	}

	// The pool's status names the fault of its class.
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "impossible-class"}}
	pool.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{
		Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "impossible-subnets",
	}
	pool.Spec.Template.Spec.Requirements = needs{in(corev1.LabelArchStable, "amd64")}
	shared.Make(t, pool)
	var pools apiv1.NodePoolList
	s.await(&pools, func() string {
		said := "no pool"
		for _, p := range pools.Items {
			said = conditions(p.Status.Conditions)
			for _, now := range p.Status.Conditions {
				if now.Type == apiv1.ConditionTypeNodeClassReady && now.Status == metav1.ConditionFalse &&
					strings.Contains(now.Message, awsv1.ConditionTypeSubnetsReady) {
					return ""
				}
			}
		}
		return "the pool does not say that its class is not ready: " + said
	}, client.MatchingFields{"metadata.name": pool.Name})

	if now := controllerPID(t); now != pid {
		t.Errorf("the controller is process %d, it was %d: it has crashed", now, pid)
	}
	log, err := os.ReadFile(shared.Cluster.Dir().Log(cluster.ControllerName))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(strings.ToLower(line), "panic") {
			t.Errorf("the controller's log says: %s", line)
		}
	}
}

// wantNot waits until a condition of a node class is False with a message that names the field.
func (s *scene) wantNot(class *awsv1.EC2NodeClass, condition, field string) {
	s.t.Helper()
	var classes awsv1.EC2NodeClassList
	s.await(&classes, func() string {
		said := "no class"
		for _, c := range classes.Items {
			said = conditions(c.Status.Conditions)
			for _, now := range c.Status.Conditions {
				if now.Type == condition && now.Status == metav1.ConditionFalse && strings.Contains(now.Message, field) {
					return ""
				}
			}
		}
		return "class " + class.Name + " does not blame " + field + ": " + said
	}, client.MatchingFields{"metadata.name": class.Name})
}

// controllerPID returns the process ID of the running controller.
func controllerPID(t *testing.T) int {
	t.Helper()
	status, err := shared.Cluster.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range status.Parts {
		if part.Name == cluster.ControllerName && part.Running {
			return part.PID
		}
	}
	t.Fatalf("the controller is not running: %+v", status)
	return 0
}
