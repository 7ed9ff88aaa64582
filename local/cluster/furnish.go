package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/crds"
	"github.com/karpenter-go/karpenter/local/clusterapi"
	"github.com/karpenter-go/karpenter/local/objects"
	"github.com/karpenter-go/karpenter/local/watching"
)

// furnish creates the objects that Karpenter expects in a cluster.
func (c *Cluster) furnish(ctx context.Context) error {
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := createDNS(ctx, typed); err != nil {
		return err
	}
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := installCRDs(ctx, watcher); err != nil {
		return err
	}
	c.step("CRDs installed")
	if !c.hasMachines() {
		return nil
	}
	return c.furnishClusterAPI(ctx, watcher)
}

// scheme has the kinds of the objects that furnish creates.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}()

// installCRDs applies the CRDs of Karpenter and returns when the API server serves all of them.
func installCRDs(ctx context.Context, c client.WithWatch) error {
	definitions, err := crds.All()
	if err != nil {
		return err
	}
	return serve(ctx, c, definitions)
}

// serve applies CRDs and returns when the API server serves all of them.
func serve(ctx context.Context, c client.WithWatch, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	for _, crd := range definitions {
		if err := objects.Apply(ctx, c, crd); err != nil {
			return err
		}
	}
	var list apiextensionsv1.CustomResourceDefinitionList
	return watching.Until(ctx, c, &list, func() bool { return established(definitions, list.Items) })
}

// furnishClusterAPI installs the CRDs of Cluster API, and creates the Cluster object for this cluster.
func (c *Cluster) furnishClusterAPI(ctx context.Context, w client.WithWatch) error {
	definitions, err := clusterapi.Definitions(c.options.ClusterAPI)
	if err != nil {
		return err
	}
	if err := serve(ctx, w, definitions); err != nil {
		return err
	}
	path := cmp.Or(c.options.Workload, c.dir.KubeconfigOf("clusterapi"))
	kubeconfig, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read kubeconfig of Cluster API: %w", err)
	}
	joined, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return fmt.Errorf("read kubeconfig of Cluster API: %w", err)
	}
	if err := clusterapi.Furnish(ctx, w, Name, joined.Host, kubeconfig); err != nil {
		return err
	}
	c.step("Cluster API furnished")
	return nil
}

// established reports whether the API server serves each of wanted. have are the CRDs in the cluster.
func established(wanted []*apiextensionsv1.CustomResourceDefinition,
	have []apiextensionsv1.CustomResourceDefinition,
) bool {
	served := map[string]bool{}
	for _, crd := range have {
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established {
				served[crd.Name] = condition.Status == apiextensionsv1.ConditionTrue
			}
		}
	}
	for _, crd := range wanted {
		if !served[crd.Name] {
			return false
		}
	}
	return true
}

// createDNS creates the service kube-dns, whose address is in the user data of nodes. The service has no endpoints,
// because no container runs.
func createDNS(ctx context.Context, client kubernetes.Interface) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kube-dns", Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{"k8s-app": "kube-dns"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: DNSAddress,
			Selector:  map[string]string{"k8s-app": "kube-dns"},
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
				{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP},
			},
		},
	}
	services := client.CoreV1().Services(service.Namespace)
	// Checked first, because creating it twice fails with an error about the address.
	_, err := services.Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = services.Create(ctx, service, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("create service kube-dns: %w", err)
	}
	return nil
}
