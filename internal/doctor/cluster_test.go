package doctor

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/version"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/finding"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// server is what the API server reports about itself: its minor version, and its resources by group and version.
type server struct {
	minor string
	has   map[string][]string
}

func (s server) ServerVersion() (*version.Info, error) {
	if s.minor == "" {
		return nil, errors.New("connection refused")
	}
	return &version.Info{Major: "1", Minor: s.minor, GitVersion: "v1." + s.minor + ".0"}, nil
}

func (s server) ServerResourcesForGroupVersion(gv string) (*metav1.APIResourceList, error) {
	names, ok := s.has[gv]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: gv}, "")
	}
	list := &metav1.APIResourceList{}
	for _, n := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: n})
	}
	return list, nil
}

var today = map[string][]string{
	"karpenter.sh/v1": {"nodepools", "nodeclaims"}, "karpenter.k8s.aws/v1": {"ec2nodeclasses"},
	"karpenter.sh/v1alpha1": {"nodeoverlays"}, "autoscaling.x-k8s.io/v1beta1": {"capacitybuffers"},
}

// look checks a cluster with the objects, in which the user lacks the given permission.
func look(t *testing.T, s server, missing string, objects ...client.Object) string {
	t.Helper()
	scheme := api.Scheme()
	for _, add := range []func() error{
		func() error { return clientscheme.AddToScheme(scheme) }, func() error { return apiextensionsv1.AddToScheme(scheme) },
	} {
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if who, ok := o.(*authenticationv1.SelfSubjectReview); ok {
				who.Status.UserInfo.Username = "jane"
				return nil
			}
			r := o.(*authorizationv1.SelfSubjectAccessReview)
			r.Status.Allowed = r.Spec.ResourceAttributes.Resource+"/"+r.Spec.ResourceAttributes.Subresource != missing
			return nil
		},
	}).Build()
	cluster := &Cluster{Discovery: s, Client: c, Namespace: "kube-system", Deployment: "karpenter", Now: now, JoinTimes: joinTimes}
	findings, err := cluster.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range findings {
		text.WriteString(f.String() + "\n")
		if (f.Level == finding.Error || f.Level == finding.Warning) && f.Fix == "" {
			t.Errorf("without a fix: %s", f)
		}
	}
	return text.String()
}

// joinTimes are those of a provider with a setting of the controller.
func joinTimes(_ context.Context, setting func(flag, env, otherwise string) string) (map[schema.GroupKind]time.Duration, error) {
	d, err := time.ParseDuration(setting("slow-timeout", "SLOW_TIMEOUT", "10m"))
	return map[schema.GroupKind]time.Duration{{Group: "slow", Kind: "SlowNodeClass"}: d + 10*time.Minute}, err
}

// Claims count as stuck when the controller should have deleted them: ten minutes after the launch timeout of their provider.
func TestStuckAfterTheTimeoutsOfTheProvider(t *testing.T) {
	claim := func(name string, age time.Duration, class *apiv1.NodeClassReference) *apiv1.NodeClaim {
		c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: ago(age)}}
		c.Spec.NodeClassRef = class
		return c
	}
	slow, usual := &apiv1.NodeClassReference{Group: "slow", Kind: "SlowNodeClass"}, &apiv1.NodeClassReference{Group: "a", Kind: "B"}
	claims := []client.Object{
		claim("usual-14", 14*time.Minute, usual), claim("usual-16", 16*time.Minute, usual), claim("slow-19", 19*time.Minute, slow),
		claim("slow-21", 21*time.Minute, slow), claim("slow-41", 41*time.Minute, slow), claim("no-class", 16*time.Minute, nil),
	}
	text := look(t, server{"36", today}, "", append(running(), claims...)...)
	for name, stuck := range map[string]bool{
		"usual-14": false, "usual-16": true, "slow-19": false, "slow-21": true, "slow-41": true, "no-class": true,
	} {
		if got := strings.Contains(text, "NodeClaim "+name+" is"); got != stuck {
			t.Errorf("%s is reported: %t, want %t in\n%s", name, got, stuck, text)
		}
	}
	with := running()
	with[0].(*appsv1.Deployment).Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "SLOW_TIMEOUT", Value: "30m"}}}}
	text = look(t, server{"36", today}, "", append(with, claims...)...)
	if strings.Contains(text, "slow-21") || !strings.Contains(text, "NodeClaim slow-41 is 41m old, but its node has not joined the cluster; the controller deletes such a NodeClaim after 40m") {
		t.Errorf("with a launch timeout of 30m:\n%s", text)
	}
}

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func ready(status metav1.ConditionStatus) []metav1.Condition {
	return []metav1.Condition{{Type: "Ready", Status: status}, {Type: "SubnetsReady", Status: status, Reason: "SubnetsNotFound", Message: "no subnet has the tag"}}
}

func pool(name string) *apiv1.NodePool {
	p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
	p.Status.Conditions = ready(metav1.ConditionTrue)
	return p
}

func machinePool() client.Object {
	p := pool("machines")
	p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: clusterapiv1alpha1.Group, Kind: clusterapiv1alpha1.Kind, Name: "m"}
	return p
}

func machineClass(conditions ...metav1.Condition) client.Object {
	return &clusterapiv1alpha1.ClusterAPINodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: clusterapiv1alpha1.ClusterAPINodeClassStatus{Conditions: conditions},
	}
}

func running() []client.Object {
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter"}, Status: appsv1.DeploymentStatus{ReadyReplicas: 2}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter-leader-election"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("karpenter-abc"), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-time.Second)))}},
		pool("default"),
	}
}

// In a healthy cluster, no finding has a fix.
func TestHealthy(t *testing.T) {
	text := look(t, server{"36", today}, "", running()...)
	if strings.Contains(text, "fix:") || strings.Count(text, "ok ") < 7 {
		t.Error(text)
	}
}

// Each fault is found and reported with its level.
func TestFindings(t *testing.T) {
	late := pool("late")
	late.Spec.Limits = apiv1.Limits{corev1.ResourceCPU: resource.MustParse("10")}
	late.Status.Resources = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10")}
	auto := pool("general-purpose")
	auto.Spec.Template.Spec.NodeClassRef.Group = "eks.amazonaws.com"
	auto.Status.Conditions = nil
	dying := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "dying", Finalizers: []string{"x/y"}, DeletionTimestamp: ptr.To(ago(2 * time.Hour))}}
	for name, tt := range map[string]struct {
		server  server
		missing string
		objects []client.Object
		want    []string
	}{
		"old server": {server: server{"27", today}, want: []string{"error    kubernetes"}},
		"new server": {server: server{"40", today}, want: []string{"warning  kubernetes"}},
		"no kinds":   {server: server{"36", nil}, want: []string{"error    crds             the API server does not serve nodepools", "note     crds             the API server does not serve nodeoverlays"}},
		"old kinds": {server: server{"36", map[string][]string{"karpenter.sh/v1beta1": {"nodepools"}}},
			want: []string{"the API server still serves karpenter.sh/v1beta1"}},
		"stored": {objects: []client.Object{&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "nodepools.karpenter.sh"},
			Spec:   apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1beta1", "v1"}}}},
			want: []string{"warning  stored-versions  CustomResourceDefinition nodepools.karpenter.sh: status.storedVersions lists v1beta1", "uses a webhook"}},
		"permissions": {missing: "pods/eviction", objects: running(), want: []string{"error    rbac             jane is not allowed to create pods/eviction",
			"fix: check the permissions of the controller with --as system:serviceaccount:kube-system:default"}},
		"node class": {missing: "ec2nodeclasses/status", objects: running(), want: []string{"jane is not allowed to patch ec2nodeclasses.karpenter.k8s.aws/status"}},
		"node class of another provider": {missing: "ec2nodeclasses/status", want: []string{"ok       rbac             all 11 permissions are granted to jane"},
			objects: []client.Object{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter"}, Spec: appsv1.DeploymentSpec{
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "KARPENTER_PROVIDER", Value: "kwok"}}}}}}}}}},
		"throttle":      {missing: "configmaps/", want: []string{"warning  rbac             jane is not allowed to get ConfigMap kube-system/karpenter-throttle"}},
		"no controller": {want: []string{"Deployment kube-system/karpenter not found"}},
		"not ready":     {objects: []client.Object{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter"}}}, want: []string{"no replica of Deployment kube-system/karpenter is ready"}},
		"stale lease": {objects: []client.Object{&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter-leader-election"}}},
			want: []string{"no leader: Lease kube-system/karpenter-leader-election was never renewed"}},
		"lease of another name": {objects: []client.Object{
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter"}, Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "LEADER_ELECTION_NAME", Value: "a"}}, Args: []string{"--leader-election-name=b"}}}}}}},
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "b"},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("x"), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-7 * time.Minute)))}}},
			want: []string{"error    controller       no leader: Lease kube-system/b was last renewed 7m0s ago"}},
		"given back": {objects: []client.Object{&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter-leader-election"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(""), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-time.Second)))}}},
			want: []string{"warning  controller       no leader: the last leader stopped and released Lease kube-system/karpenter-leader-election"}},
		"no pool": {want: []string{"no NodePool exists"}},
		"class": {objects: []client.Object{&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Status: awsv1.EC2NodeClassStatus{Conditions: ready(metav1.ConditionFalse)}}},
			want: []string{"error    pools            EC2NodeClass c is not ready: SubnetsReady: SubnetsNotFound: no subnet has the tag\n",
				"fix: correct spec.subnetSelectorTerms, or tag the subnets: aws ec2 create-tags"}},
		"class of Cluster API": {objects: []client.Object{machinePool(), machineClass(
			metav1.Condition{Type: "Ready", Status: metav1.ConditionUnknown},
			metav1.Condition{Type: "ClusterReady", Status: metav1.ConditionUnknown, Reason: "ManagementClusterNotReachable", Message: "connection refused"})},
			want: []string{"error    pools            ClusterAPINodeClass m is not ready: ClusterReady: ManagementClusterNotReachable: connection refused",
				"fix: check the management cluster, its kubeconfig and the network"}},
		"templates of Cluster API": {objects: []client.Object{machinePool(), machineClass(
			metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue},
			metav1.Condition{Type: "TemplatesReady", Status: metav1.ConditionTrue, Reason: "InvalidTemplates", Message: "Not used: large: there is no template"},
			metav1.Condition{Type: "PricesKnown", Status: metav1.ConditionFalse, Reason: "UnknownPrices", Message: "Not launched: small"})},
			want: []string{"ok       pools            ClusterAPINodeClass m is ready",
				"warning  pools            ClusterAPINodeClass m: InvalidTemplates: Not used: large: there is no template",
				"warning  pools            ClusterAPINodeClass m: UnknownPrices: Not launched: small", "fix: give the templates a price"}},
		"no condition": {objects: []client.Object{&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}}, want: []string{"EC2NodeClass c has no Ready condition yet"}},
		"limit":        {objects: []client.Object{late}, want: []string{"NodePool late has reached spec.limits.cpu: 10 of 10 used"}},
		"auto mode":    {objects: []client.Object{auto}, want: []string{"ok       pools            NodePool general-purpose belongs to EKS Auto Mode"}},
		"claims": {objects: []client.Object{dying, &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "lost", CreationTimestamp: ago(20 * time.Minute)}}},
			want: []string{"NodeClaim dying has been terminating since 2026-06-01T10:00:00Z", "NodeClaim lost is 20m old"}},
		"budget": {objects: []client.Object{&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0))}}}, want: []string{"PodDisruptionBudget a/b blocks every eviction"}},
		"autoscaler": {objects: []client.Object{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler"}}},
			want: []string{"Cluster Autoscaler runs as Deployment kube-system/cluster-autoscaler"}},
		"karpenter in another namespace": {objects: append(running(), another("karpenter", "karpenter", "")),
			want: []string{"error    autoscalers      Deployment karpenter/karpenter is a second Karpenter and does not share the Lease kube-system/karpenter-leader-election",
				"fix: kubectl scale deployment karpenter -n karpenter --replicas=0"}},
		"karpenter with another lease": {objects: append(running(), another("kube-system", "karpenter-old", "old")),
			want: []string{"error    autoscalers      Deployment kube-system/karpenter-old is a second Karpenter"}},
		"karpenter with the same lease": {objects: append(running(), another("kube-system", "karpenter-old", "")),
			want: []string{"note     autoscalers      Deployment kube-system/karpenter-old may be a second Karpenter: only the holder of the Lease acts"}},
		"not certainly karpenter": {objects: append(running(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "karpenter-report"}}),
			want: []string{"note     autoscalers      Deployment a/karpenter-report may be a second Karpenter that does not share the Lease"}},
		"karpenter elsewhere": {objects: []client.Object{another("karpenter", "karpenter", "")},
			want: []string{"note     autoscalers      Deployment karpenter/karpenter may be Karpenter", "fix: if it is the controller, pass --namespace karpenter --deployment karpenter"}},
		"node class of Cluster API is not served": {objects: []client.Object{provided("aws, clusterapi")},
			want: []string{"error    crds             the API server does not serve clusterapinodeclasses of clusterapi.ext.karpenter.sh/v1alpha1"}},
		"node class of KWOK is not served": {objects: []client.Object{provided("kwok")},
			want: []string{"error    crds             the API server does not serve kwoknodeclasses of karpenter.kwok.sh/v1alpha1"}},
		"pods": {objects: []client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", CreationTimestamp: ago(time.Hour)}, Status: corev1.PodStatus{Phase: corev1.PodPending}}},
			want: []string{"1 pod pending for more than 5m, for example a/p", "fix: karpenter explain pod p -n a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.server
			if s.minor == "" {
				s = server{"36", today}
			}
			text := look(t, s, tt.missing, tt.objects...)
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
}

// another returns a Deployment with the label of Karpenter. It uses the Lease with the given name, or that of the default.
func another(namespace, name, lease string) client.Object {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": "karpenter"},
	}}
	if lease != "" {
		d.Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "LEADER_ELECTION_NAME", Value: lease}}}}
	}
	return d
}

// provided returns the Deployment of a controller with the given providers.
func provided(providers string) client.Object {
	d := running()[0].(*appsv1.Deployment)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "KARPENTER_PROVIDER", Value: providers}}}}
	return d
}

// A controller with another provider than AWS does not need EC2NodeClasses.
func TestKindsOfOtherProviders(t *testing.T) {
	served := maps.Clone(today)
	delete(served, "karpenter.k8s.aws/v1")
	served["karpenter.kwok.sh/v1alpha1"] = []string{"kwoknodeclasses"}
	if text := look(t, server{"36", served}, "", provided("kwok")); !strings.Contains(text, "all kinds are served") {
		t.Error(text)
	}
}

func TestUnreachable(t *testing.T) {
	if _, err := (&Cluster{Discovery: server{}}).Check(t.Context()); err == nil {
		t.Error("no error")
	}
}
