package management

import (
	"context"
	"fmt"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/local/clusterapi"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
)

// newScene opens a scene whose templates are in the class.
func newScene(t *testing.T, name string) *machines.Scene {
	t.Helper()
	s := &machines.Scene{
		T: t, Name: name, Workload: workload, Manager: manager, Listed: true, Sizes: map[string]int64{"large": 32, "small": 4},
	}
	s.Open()
	return s
}

// account is the name of the controller's account in the management cluster, and of its role.
const account = "karpenter-of-workload"

// role has the rights that docs/clusterapi.md lists for the management cluster.
func role() *rbacv1.ClusterRole {
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: []rbacv1.PolicyRule{
		rule(machines.MachineKind.Group, []string{"clusters", "machinedeployments"}, "get", "list", "watch"),
		rule(machines.MachineKind.Group, []string{"machines"}, "get", "list", "watch", "create", "patch", "delete"),
		rule(clusterapi.InfrastructureGroup, []string{"hollowmachinetemplates"}, "get", "list", "watch"),
		rule(clusterapi.BootstrapGroup, []string{"hollowconfigtemplates"}, "get", "list", "watch"),
		rule(clusterapi.InfrastructureGroup, []string{"hollowmachines"}, "get", "list", "create", "delete"),
		rule(clusterapi.BootstrapGroup, []string{"hollowconfigs"}, "get", "list", "create", "delete"),
	}}
}

// grant gives the controller its rights in the management cluster, and writes its kubeconfig to path.
func grant(ctx context.Context, path string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: account}},
	}
	for _, o := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: account}}, role(), binding,
	} {
		if err := manager.Create(ctx, o); err != nil {
			return fmt.Errorf("grant rights: %w", err)
		}
	}
	config, err := manager.Cluster.RESTConfig()
	if err != nil {
		return err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	year := int64(365 * 24 * 60 * 60)
	token, err := typed.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &year}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("issue token: %w", err)
	}
	file, err := clientcmd.LoadFromFile(manager.Cluster.Dir().Kubeconfig())
	if err != nil {
		return err
	}
	for name := range file.AuthInfos {
		file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	return clientcmd.WriteToFile(*file, path)
}

// allow sets which verbs the controller has for an API group of the management cluster, besides reading.
func allow(s *machines.Scene, group string, verbs ...string) {
	s.T.Helper()
	now := role()
	for i := range now.Rules {
		if now.Rules[i].APIGroups[0] == group && slices.Contains(now.Rules[i].Verbs, "create") {
			now.Rules[i].Verbs = append([]string{"get", "list", "watch"}, verbs...)
		}
	}
	if err := manager.Update(context.WithoutCancel(s.T.Context()), now); err != nil {
		s.T.Fatal(err)
	}
}
