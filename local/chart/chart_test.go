package chart

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/api/admission"
)

var update = flag.Bool("update", false, "rewrite the goldens")

const charts = "../../charts/"

func load(t *testing.T, name string) *chartv2.Chart {
	t.Helper()
	c, err := loader.LoadDir(charts + name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// values reads a values file of testdata.
func values(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func release(v map[string]any) Release {
	return Release{Name: "karpenter", Namespace: "kube-system", Values: v, Kubernetes: "v1.36.3",
		APIs: []string{"monitoring.coreos.com/v1/ServiceMonitor"}}
}

// The golden files have the rendered charts, so that every change of a template shows in a review. A second rendering is
// identical. Otherwise a GitOps tool would always find a difference.
func TestGoldens(t *testing.T) {
	for _, name := range []string{"minimal", "eks", "everything"} {
		t.Run(name, func(t *testing.T) {
			files, err := Render(load(t, "karpenter"), release(values(t, name)))
			if err != nil {
				t.Fatal(err)
			}
			again, err := Render(load(t, "karpenter"), release(values(t, name)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(files, again); diff != "" {
				t.Errorf("the second rendering differs:\n%s", diff)
			}
			got := Join(files)
			golden := filepath.Join("testdata", name+".golden.yaml")
			want, err := os.ReadFile(golden)
			if err == nil && string(want) == got {
				return
			}
			if !*update {
				t.Fatalf("(-want +got; go test -update rewrites %s)\n%s", golden, cmp.Diff(string(want), got))
			}
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The chart of the CRDs has all CRDs, with the annotations from the values.
func TestCRDs(t *testing.T) {
	v := map[string]any{"additionalAnnotations": map[string]any{"example.com/a": "b"}}
	files, err := Render(load(t, "karpenter-crd"), release(v))
	if err != nil {
		t.Fatal(err)
	}
	text := Join(files)
	count := strings.Count(text, "\nkind: CustomResourceDefinition\n")
	if annotated := strings.Count(text, "\n    example.com/a: b\n"); count != 7 || annotated != count {
		t.Errorf("%d definitions, %d of them annotated", count, annotated)
	}
	if _, err := Render(load(t, "karpenter-crd"), release(map[string]any{"annotations": v})); err == nil {
		t.Error("a typo is accepted")
	}
}

// Both packed charts can be loaded, and have the requested version.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"karpenter", "karpenter-crd"} {
		file, err := Pack(charts+name, "1.2.3", dir)
		if err != nil {
			t.Fatal(err)
		}
		c, err := loader.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if c.Metadata.Version != "1.2.3" || c.Metadata.AppVersion != "1.2.3" || filepath.Base(file) != name+"-1.2.3.tgz" {
			t.Errorf("packed %s as %s %s in %s", name, c.Metadata.Version, c.Metadata.AppVersion, file)
		}
		if _, err := Render(c, release(map[string]any{})); name == "karpenter" != (err != nil) {
			t.Errorf("%s without values: %v", name, err)
		}
	}
	if _, err := Pack(charts+"karpenter", "latest", dir); err == nil {
		t.Error("packed a version that is none")
	}
}

// Templates use no function whose result depends on the cluster, the time or random numbers. With such a function, every
// synchronisation would find a difference.
func TestTemplatesAreDeterministic(t *testing.T) {
	for _, f := range load(t, "karpenter").Templates {
		for _, word := range []string{"lookup", "randAlpha", "randAscii", "now ", "genCA", "genSigned", "uuidv4", ".Release.Revision", ".Release.IsInstall"} {
			if strings.Contains(string(f.Data), word) {
				t.Errorf("%s uses %s", f.Name, word)
			}
		}
	}
}

// Unknown values are rejected. For values of charts before 1.0, the error names the replacement.
func TestBadValues(t *testing.T) {
	for name, tt := range map[string]struct{ set, want string }{
		"no cluster":             {`{}`, "settings.clusterName must be set"},
		"typo at the top":        {`{replica: 3}`, "replica"},
		"typo in settings":       {`{settings: {clusterNam: a}}`, "clusterNam"},
		"typo of a gate":         {`{settings: {featureGates: {spotToSpot: true}}}`, "spotToSpot"},
		"wrong type":             {`{replicas: two}`, "replicas"},
		"bad level":              {`{logLevel: verbose}`, "logLevel"},
		"queue by URL":           {`{settings: {interruptionQueue: "https://sqs.us-east-1.amazonaws.com/1/q"}}`, "interruptionQueue"},
		"clusterName":            {`{clusterName: demo}`, "clusterName: use settings.clusterName"},
		"default profile":        {`{defaultInstanceProfile: p}`, "defaultInstanceProfile: use spec.instanceProfile"},
		"aws.default profile":    {`{aws: {defaultInstanceProfile: p}}`, "aws.defaultInstanceProfile: use spec.instanceProfile"},
		"settings.aws":           {`{settings: {aws: {clusterName: demo, interruptionQueueName: q}}}`, "settings.aws.interruptionQueueName: use settings.interruptionQueue"},
		"webhook":                {`{webhook: {enabled: false}}`, "webhook: use nothing"},
		"controller.clusterName": {`{controller: {clusterName: demo}}`, "controller.clusterName: use settings.clusterName"},
		"DRA twice":              {`{settings: {clusterName: a, enableDRA: true, ignoreDRARequests: false}}`, "settings.ignoreDRARequests is set together"},
		"DRA gate twice":         {`{settings: {clusterName: a, enableDRA: true, awsFeatureGates: {draEFA: false}}}`, "settings.awsFeatureGates.draEFA is set together"},
		"two ways to repair":     {`{settings: {clusterName: a, legacyNodeRepair: true, featureGates: {terminateFirstRepair: true}}}`, "exclude each other"},
		"drift gate":             {`{settings: {clusterName: a, featureGates: {drift: true}}}`, "drift is always on"},
	} {
		t.Run(name, func(t *testing.T) {
			var v map[string]any
			if err := yaml.Unmarshal([]byte(tt.set), &v); err != nil {
				t.Fatal(err)
			}
			_, err := Render(load(t, "karpenter"), release(v))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// The defaults equal upstream's, except for the image, so that an existing values.yaml has the same effect.
func TestDefaultsAreUpstreams(t *testing.T) {
	have := load(t, "karpenter").Values
	for path, want := range upstreamDefaults(t) {
		var at any = have
		for _, key := range strings.Split(path, ".") {
			m, ok := at.(map[string]any)
			if _, has := m[key]; !ok || !has {
				t.Errorf("%s is missing", path)
				at = nil
				break
			}
			at = m[key]
		}
		if diff := cmp.Diff(normal(t, want), normal(t, at)); diff != "" {
			t.Errorf("%s (-upstream +ours):\n%s", path, diff)
		}
	}
}

// The chart renders with all values of upstream's chart as values of the user.
func TestReusedValuesRender(t *testing.T) {
	v := map[string]any{}
	for path, value := range upstreamDefaults(t) {
		set(v, strings.Split(path, "."), value)
	}
	set(v, []string{"controller", "image"}, map[string]any{"repository": "public.ecr.aws/karpenter/controller", "tag": "1.15.1",
		"digest": "sha256:" + strings.Repeat("0", 64)})
	set(v, []string{"settings", "clusterName"}, "demo")
	if _, err := Render(load(t, "karpenter"), release(v)); err != nil {
		t.Error(err)
	}
	// Charts before 1.15 set this default explicitly.
	set(v, []string{"settings", "ignoreDRARequests"}, true)
	if _, err := Render(load(t, "karpenter"), release(v)); err != nil {
		t.Error(err)
	}
}

// helm upgrade --reuse-values replaces the default values of the chart by those of the installed chart. If that is upstream's, the
// values that upstream does not have are added, and the result is the same as with upstream's values as values of the user.
func TestReuseValuesOfUpstream(t *testing.T) {
	upstreams := map[string]any{}
	for path, value := range upstreamDefaults(t) {
		set(upstreams, strings.Split(path, "."), value)
	}
	set(upstreams, []string{"settings", "clusterName"}, "demo")
	want, err := Render(load(t, "karpenter"), release(upstreams))
	if err != nil {
		t.Fatal(err)
	}
	reused := load(t, "karpenter")
	reused.Values = upstreams
	got, err := Render(reused, release(map[string]any{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rendered otherwise (-as values of the user +reused):\n%s", diff)
	}
}

// Settings that depend on each other are rendered as one consistent environment.
func TestEnvironment(t *testing.T) {
	for name, tt := range map[string]struct {
		set  string
		want []string
	}{
		"defaults": {`{}`, []string{`"NodeClassCEL=false,DRANVIDIAGPU=false,DRAEFA=false,RebootForRepair=false"`,
			"IGNORE_DRA_REQUESTS\n              value: \"true\""}},
		"DRA": {`{enableDRA: true}`, []string{`"NodeClassCEL=false,DRANVIDIAGPU=true,DRAEFA=true,RebootForRepair=false"`,
			"IGNORE_DRA_REQUESTS\n              value: \"false\"", `resources: ["resourceslices"]`}},
		"one DRA gate": {`{awsFeatureGates: {draEFA: true}}`, []string{`"NodeClassCEL=false,DRANVIDIAGPU=false,DRAEFA=true,RebootForRepair=false"`,
			"IGNORE_DRA_REQUESTS\n              value: \"false\"", `resources: ["resourceslices"]`}},
		"DRA pods counted": {`{ignoreDRARequests: false}`, []string{"IGNORE_DRA_REQUESTS\n              value: \"false\"",
			`resources: ["resourceslices"]`}},
		"repair": {`{legacyNodeRepair: true, featureGates: {nodeRepair: true}, awsFeatureGates: {rebootForRepair: true}}`,
			[]string{"LEGACY_NODE_REPAIR\n              value: \"true\"", "NodeRepair=true", "RebootForRepair=true"}},
		"deletion cost": {`{featureGates: {podDeletionCostManagement: true}}`,
			[]string{"PodDeletionCostManagement=true", `verbs: ["delete", "patch"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			var settings map[string]any
			if err := yaml.Unmarshal([]byte(tt.set), &settings); err != nil {
				t.Fatal(err)
			}
			settings["clusterName"] = "demo"
			files, err := Render(load(t, "karpenter"), release(map[string]any{"settings": settings}))
			if err != nil {
				t.Fatal(err)
			}
			text := Join(files)
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("rendered without %s", want)
				}
			}
		})
	}
}

// set sets the value at a path.
func set(m map[string]any, path []string, value any) {
	for ; len(path) > 1; path = path[1:] {
		next, ok := m[path[0]].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[path[0]] = next
		}
		m = next
	}
	m[path[0]] = value
}

func normal(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func upstreamDefaults(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/defaults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.Unmarshal(text, &v); err != nil || len(v) < 60 {
		t.Fatalf("%d defaults, %v", len(v), err)
	}
	return v
}

// The pods, including that of helm test, are admitted at the Pod Security level restricted.
func TestRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	for _, name := range []string{"minimal", "everything"} {
		pods := 0
		for _, o := range objects(t, name) {
			var pod corev1.PodTemplateSpec
			switch o.GetKind() {
			case "Deployment":
				d := &appsv1.Deployment{}
				decode(t, o, d)
				pod = d.Spec.Template
			case "Pod":
				p := &corev1.Pod{}
				decode(t, o, p)
				pod = corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
			default:
				continue
			}
			pods++
			for _, result := range evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					t.Errorf("%s %s: %s: %s", name, o.GetKind(), result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
		}
		if pods != 2 {
			t.Errorf("%s: %d pods, want those of the Deployment and the test", name, pods)
		}
	}
}

func decode(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	text, err := o.MarshalJSON()
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Fatalf("decode %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// objects renders a values file and returns all objects.
func objects(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	files, err := Render(load(t, "karpenter"), release(values(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	var list []*unstructured.Unstructured
	for file, text := range files {
		if !strings.HasSuffix(file, ".yaml") {
			continue
		}
		for _, document := range strings.Split("\n"+text, "\n---") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if len(o.Object) > 0 {
				list = append(list, o)
			}
		}
	}
	return list
}

// The API server accepts the default pool and class.
func TestDefaultPoolIsAccepted(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, o := range objects(t, "everything") {
		if !checker.Knows(o.GroupVersionKind()) {
			continue
		}
		found[o.GetKind()] = true
		if _, errs := checker.Create(context.Background(), o); len(errs) > 0 {
			t.Errorf("%s: %v", o.GetKind(), errs.ToAggregate())
		}
	}
	if !found["NodePool"] || !found["EC2NodeClass"] {
		t.Errorf("found %v", found)
	}
}

// The chart works as a dependency of another chart, with a condition and with global values.
func TestUmbrella(t *testing.T) {
	parent := &chartv2.Chart{Metadata: &chartv2.Metadata{APIVersion: "v2", Name: "platform", Version: "1.0.0",
		Dependencies: []*chartv2.Dependency{{Name: "karpenter", Version: "*", Condition: "karpenter.enabled"}}}}
	parent.AddDependency(load(t, "karpenter"))
	r := release(map[string]any{
		"global":    map[string]any{"team": "platform"},
		"karpenter": map[string]any{"enabled": true, "settings": map[string]any{"clusterName": "demo"}},
	})
	files, err := Render(parent, r)
	if err != nil {
		t.Fatal(err)
	}
	if files["platform/charts/karpenter/templates/deployment.yaml"] == "" {
		t.Errorf("no Deployment among %d files", len(files))
	}
}

// The values of the example can be rendered, and the service account has the role.
func TestExampleValues(t *testing.T) {
	text, err := os.ReadFile("../../examples/helm/eks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	files, err := Render(load(t, "karpenter"), release(v))
	if err != nil {
		t.Fatal(err)
	}
	if all := Join(files); !strings.Contains(all, "eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/KarpenterControllerRole-demo") ||
		!strings.Contains(all, "kind: NodePool") {
		t.Errorf("rendered\n%s", all)
	}
}

// The schemas for editors accept what the API server accepts, and reject misspelled fields.
func TestEditorSchemas(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile("../../docs/schemas/karpenter.sh/nodepool_v1.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../examples/quickstart/nodepool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var pool map[string]any
	if err := yaml.Unmarshal(text, &pool); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(normal(t, pool)); err != nil {
		t.Errorf("the quickstart's pool is refused: %v", err)
	}
	pool["spec"].(map[string]any)["disruptions"] = map[string]any{}
	if err := schema.Validate(normal(t, pool)); err == nil {
		t.Error("a typo is accepted")
	}
}

// With several providers the controller has the rights of each, and may read the node classes of those in other processes.
func TestSeveralProviders(t *testing.T) {
	v := map[string]any{"settings": map[string]any{
		"provider": "kwok,remote", "providerAddress": "unix:///run/toy.sock",
		"providerNodeClasses": []any{map[string]any{"group": "toy.example.com", "resource": "toynodeclasses"}},
	}}
	files, err := Render(load(t, "karpenter"), release(v))
	if err != nil {
		t.Fatal(err)
	}
	text := Join(files)
	for _, want := range []string{"kwoknodeclasses/status", `"toynodeclasses/status"`, "karpenter-providers", "name: PROVIDER_ADDRESS", `value: "kwok,remote"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the chart has no %s", want)
		}
	}
	if strings.Contains(text, "ec2nodeclasses/status") {
		t.Error("the chart has rights of a provider that is not used")
	}
}

// With Cluster API the controller may create Machines, unless they are in another cluster. It needs no settings of AWS.
func TestClusterAPI(t *testing.T) {
	for kubeconfig, inHere := range map[string]bool{"": true, "/etc/management/kubeconfig": false} {
		v := map[string]any{"settings": map[string]any{"provider": "clusterapi", "managementKubeconfig": kubeconfig}}
		files, err := Render(load(t, "karpenter"), release(v))
		if err != nil {
			t.Fatal(err)
		}
		text := Join(files)
		if got := strings.Contains(text, `resources: ["machines"]`); got != inHere {
			t.Errorf("kubeconfig %q: rights to Machines in the cluster of the nodes: %t, want %t", kubeconfig, got, inHere)
		}
		if got := strings.Contains(text, "name: MANAGEMENT_KUBECONFIG"); got == inHere {
			t.Errorf("kubeconfig %q: the variable is set: %t", kubeconfig, got)
		}
		if !strings.Contains(text, "clusterapinodeclasses/status") || strings.Contains(text, "ec2nodeclasses/status") {
			t.Errorf("kubeconfig %q: the rights are not those of the provider", kubeconfig)
		}
	}
}
