package clusterapi

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/local/objects"
)

// Namespace is the namespace of the Cluster and its Machines.
const Namespace = metav1.NamespaceDefault

// Zones are the failure domains of the Cluster.
var Zones = []string{"zone-a", "zone-b", "zone-c"}

// Definitions returns the CRDs of Cluster API in dir and those of the hollow providers, which simulate
// infrastructure and bootstrap (see the package comment). Only the stored version of each kind is served, because no conversion
// webhook runs here.
func Definitions(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "cluster.x-k8s.io_*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list CRDs of Cluster API: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("find CRDs of Cluster API: there are none in %s: run make build", dir)
	}
	out := definitions()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read CRD of Cluster API: %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("decode %s: %w", path, err)
		}
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Served = crd.Spec.Versions[i].Storage
		}
		out = append(out, crd)
	}
	return out, nil
}

// Furnish creates the Cluster object of Cluster API for the cluster that the nodes join, and the objects to which it refers.
// cluster is its name, and endpoint the URL of the API server. Cluster API uses kubeconfig to connect to this API server.
func Furnish(ctx context.Context, c client.Client, cluster, endpoint string, kubeconfig []byte) error {
	at, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("parse endpoint: %w", err)
	}
	port, err := strconv.ParseInt(at.Port(), 10, 32)
	if err != nil {
		return fmt.Errorf("parse port of endpoint: %w", err)
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: cluster + "-kubeconfig", Labels: map[string]string{"cluster.x-k8s.io/cluster-name": cluster}},
		Type:       "cluster.x-k8s.io/secret", Data: map[string][]byte{"value": kubeconfig},
	}
	var domains []any
	for _, zone := range Zones {
		domains = append(domains, map[string]any{"name": zone, "controlPlane": true})
	}
	ref := func(kind schema.GroupVersionKind) map[string]any {
		return map[string]any{"apiGroup": kind.Group, "kind": kind.Kind, "name": cluster}
	}
	all := []client.Object{
		secret,
		made(hollowCluster, cluster, map[string]any{"controlPlaneEndpoint": map[string]any{"host": at.Hostname(), "port": port}}),
		made(hollowControlPlane, cluster, map[string]any{}),
		made(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}, cluster, map[string]any{
			"infrastructureRef": ref(hollowCluster), "controlPlaneRef": ref(hollowControlPlane),
		}),
	}
	for _, o := range all {
		if err := objects.Apply(ctx, c, o); err != nil {
			return err
		}
	}
	for kind, status := range map[schema.GroupVersionKind]map[string]any{
		hollowCluster: {"initialization": map[string]any{"provisioned": true}, "failureDomains": domains},
		hollowControlPlane: {
			"initialization": map[string]any{"controlPlaneInitialized": true}, "externalManagedControlPlane": true,
		},
	} {
		u := made(kind, cluster, nil)
		before := u.DeepCopy()
		u.Object["status"] = status
		if err := c.Status().Patch(ctx, u, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("write status of %s: %w", kind.Kind, err)
		}
	}
	return nil
}

func made(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	u := empty(kind)
	u.SetNamespace(Namespace)
	u.SetName(name)
	if spec != nil {
		u.Object["spec"] = spec
	}
	return u
}
