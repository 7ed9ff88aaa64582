package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// furnish puts the objects in that a cluster is expected to have.
func (c *Cluster) furnish(ctx context.Context, k keys) error {
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	return createDNS(ctx, client)
}

// createDNS makes the service that node bootstrap takes the address of the
// cluster's DNS from. Nothing answers there: no pod really runs.
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
	// Asked first, because creating it twice complains of the address.
	_, err := services.Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = services.Create(ctx, service, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("create service kube-dns: %w", err)
	}
	return nil
}
