package helm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// furnish makes the namespace, which admits restricted pods only, and two nodes of two zones for the controller.
func (e *env) furnish(t *testing.T) {
	t.Helper()
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
	}}}}
	for _, zone := range []string{"us-east-1a", "us-east-1b"} {
		size := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("20")}
		objects = append(objects, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: "own-" + zone, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
				Labels: map[string]string{corev1.LabelTopologyZone: zone, corev1.LabelOSStable: "linux", corev1.LabelHostname: "own-" + zone},
			},
			Status: corev1.NodeStatus{Capacity: size, Allocatable: size},
		})
	}
	for _, o := range objects {
		if err := e.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func (e *env) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "karpenter"}, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// wantAvailable waits until the Deployment has its replicas: they were admitted, scheduled and run.
func (e *env) wantAvailable(t *testing.T, replicas int32) {
	t.Helper()
	var list appsv1.DeploymentList
	e.Await(t, &list, func() string {
		for _, d := range list.Items {
			if s := d.Status; *d.Spec.Replicas == replicas && s.AvailableReplicas == replicas && s.ObservedGeneration == d.Generation {
				return ""
			}
		}
		return fmt.Sprintf("the Deployment has not %d replicas available: %+v", replicas, list.Items)
	}, client.InNamespace(namespace))
}

// container prepares the program of a container: its arguments and its environment, the rights of its ServiceAccount, and the
// emulated AWS.
func (e *env) container(t *testing.T, pod *corev1.PodSpec) *exec.Cmd {
	t.Helper()
	c := pod.Containers[0]
	args := c.Args
	if len(args) == 0 {
		args = []string{"controller"} // the image's own
	}
	cmd := e.command(t, filepath.Join(*binaries, "karpenter"), args...)
	cmd.Env = []string{"KUBECONFIG=" + e.kubeconfigOf(t, pod.ServiceAccountName), "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	aws, err := os.ReadFile(e.Cluster.Dir().AWSEnv())
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, strings.Fields(string(aws))...)
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			value = map[string]string{"metadata.namespace": namespace}[v.ValueFrom.FieldRef.FieldPath]
		}
		if value == "" || strings.HasSuffix(v.Name, "_PORT") {
			continue // what the kubelet fills in, and ports of a pod's own address
		}
		cmd.Env = append(cmd.Env, v.Name+"="+value)
	}
	// A pod reads its namespace from a file of its ServiceAccount.
	cmd.Env = append(cmd.Env, "METRICS_PORT=0", "HEALTH_PROBE_PORT=0", "LEADER_ELECTION_NAMESPACE="+namespace)
	return cmd
}

// kubeconfigOf writes a kubeconfig with a token of a ServiceAccount.
func (e *env) kubeconfigOf(t *testing.T, account string) string {
	t.Helper()
	token := &authenticationv1.TokenRequest{}
	who := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := e.SubResource("token").Create(t.Context(), who, token); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(e.Cluster.Dir().Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	user := config.Contexts[config.CurrentContext].AuthInfo
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// controllerLeads runs the controller as its pod would until it holds the lease. Nothing that it asks for is forbidden.
func (e *env) controllerLeads(t *testing.T) {
	cmd := e.container(t, &e.deployment(t).Spec.Template.Spec)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()
		if said, err := os.ReadFile(log.Name()); err != nil || strings.Contains(string(said), "orbidden") || t.Failed() {
			t.Errorf("nobody leads, or the chart's rights are not enough: %v\n%s", err, said)
		}
	}()
	var leases coordinationv1.LeaseList
	e.Await(t, &leases, func() string {
		for _, l := range leases.Items {
			if l.Name == "karpenter-leader-election" && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
				return ""
			}
		}
		return "nobody leads"
	}, client.InNamespace(namespace))
}

// helmTest runs helm test, and in its pod's place what the pod would run.
func (e *env) helmTest(t *testing.T) {
	cmd := e.command(t, filepath.Join(e.bin, "helm"), "test", "karpenter", "--namespace", namespace, "--timeout", "4m")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	e.Await(t, &pods, func() string {
		for i := range pods.Items {
			if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.Status.ContainerStatuses != nil {
				return ""
			}
		}
		return "the pod of helm test does not run"
	}, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "karpenter-doctor"})
	pod := &pods.Items[0]
	said, err := e.container(t, &pod.Spec).CombinedOutput()
	t.Logf("the doctor says\n%s", said)
	if err != nil {
		t.Errorf("the doctor finds errors: %v", err)
	}
	for _, want := range []string{"ok       rights", "ok       controller    2 replicas of karpenter are ready"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("the doctor does not say %q", want)
		}
	}
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodSucceeded
	if err := e.Status().Patch(t.Context(), pod, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "Phase:          Succeeded") {
		t.Errorf("helm test: %v\n%s", err, out.String())
	}
}
