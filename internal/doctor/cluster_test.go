package doctor

import (
	"context"
	"errors"
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
	cluster := &Cluster{Discovery: s, Client: c, Namespace: "kube-system", Deployment: "karpenter", Now: now}
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
		"no condition": {objects: []client.Object{&awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}}, want: []string{"EC2NodeClass c has no Ready condition yet"}},
		"limit":        {objects: []client.Object{late}, want: []string{"NodePool late has reached spec.limits.cpu: 10 of 10 used"}},
		"auto mode":    {objects: []client.Object{auto}, want: []string{"ok       pools            NodePool general-purpose belongs to EKS Auto Mode"}},
		"claims": {objects: []client.Object{dying, &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "lost", CreationTimestamp: ago(20 * time.Minute)}}},
			want: []string{"NodeClaim dying has been terminating since 2026-06-01T10:00:00Z", "NodeClaim lost is 20m old"}},
		"budget": {objects: []client.Object{&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0))}}}, want: []string{"PodDisruptionBudget a/b blocks every eviction"}},
		"autoscaler": {objects: []client.Object{&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler"}}},
			want: []string{"Cluster Autoscaler runs as Deployment kube-system/cluster-autoscaler"}},
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

func TestUnreachable(t *testing.T) {
	if _, err := (&Cluster{Discovery: server{}}).Check(t.Context()); err == nil {
		t.Error("no error")
	}
}
