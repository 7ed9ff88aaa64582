package helm

import (
	"context"
	"errors"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// furnish creates the namespace, which admits restricted pods only, and two nodes in two zones for the controller.
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

// wantAvailable waits until all replicas of the Deployment are admitted, scheduled and running.
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

// container returns the program of a pod's container as a command, with its arguments and environment, the rights of its
// ServiceAccount, and the emulated AWS.
func (e *env) container(t *testing.T, in string, pod *corev1.PodSpec) (*exec.Cmd, error) {
	t.Helper()
	c := pod.Containers[0]
	args := c.Args
	if len(args) == 0 {
		args = []string{"controller"} // the default of the image
	}
	kubeconfig, err := e.kubeconfigOf(t, in, pod.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	aws, err := os.ReadFile(e.Cluster.Dir().AWSEnv())
	if err != nil {
		return nil, err
	}
	cmd := e.command(t, filepath.Join(*binaries, "karpenter"), args...)
	cmd.Env = append([]string{"KUBECONFIG=" + kubeconfig, "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, strings.Fields(string(aws))...)
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			value = map[string]string{"metadata.namespace": in}[v.ValueFrom.FieldRef.FieldPath]
		}
		if value == "" || strings.HasSuffix(v.Name, "_PORT") {
			continue // values from the kubelet, and ports, which a pod has on its own address
		}
		cmd.Env = append(cmd.Env, v.Name+"="+value)
	}
	// A pod reads its namespace from a file of its ServiceAccount.
	cmd.Env = append(cmd.Env, "METRICS_PORT=0", "HEALTH_PROBE_PORT=0", "LEADER_ELECTION_NAMESPACE="+in)
	return cmd, nil
}

// kubeconfigOf writes a kubeconfig with a token of a ServiceAccount.
func (e *env) kubeconfigOf(t *testing.T, in, account string) (string, error) {
	t.Helper()
	token := &authenticationv1.TokenRequest{}
	who := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: account}}
	if err := e.SubResource("token").Create(t.Context(), who, token); err != nil {
		return "", err
	}
	config, err := clientcmd.LoadFromFile(e.Cluster.Dir().Kubeconfig())
	if err != nil {
		return "", err
	}
	user := config.Contexts[config.CurrentContext].AuthInfo
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// controllerLeads runs the program of the controller's pod until it holds the lease. None of its API calls may be forbidden.
func (e *env) controllerLeads(t *testing.T) {
	cmd, err := e.container(t, namespace, &e.deployment(t).Spec.Template.Spec)
	if err != nil {
		t.Fatal(err)
	}
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
			t.Errorf("there is no leader, or the chart's rights are not enough: %v\n%s", err, said)
		}
	}()
	var leases coordinationv1.LeaseList
	e.Await(t, &leases, func() string {
		for _, l := range leases.Items {
			if l.Name == "karpenter-leader-election" && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
				return ""
			}
		}
		return "there is no leader"
	}, client.InNamespace(namespace))
}

// helmTest runs helm test, whose output must be that of karpenter doctor.
func (e *env) helmTest(t *testing.T) {
	said := e.node(t)
	if out := e.helm(t, "test", "karpenter", "--namespace", namespace, "--timeout", "4m"); !strings.Contains(out, "Phase:          Succeeded") {
		t.Errorf("helm test:\n%s", out)
	}
	words := <-said
	for _, want := range []string{"ok       rbac", "ok       controller       2 replicas of Deployment " + namespace + "/karpenter ready"} {
		if !strings.Contains(words, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, words)
		}
	}
}

// helmTestFails runs helm test without a running controller, which must fail.
func (e *env) helmTestFails(t *testing.T) {
	said := e.node(t)
	if out, err := e.kubectl(t, "", "scale", "deployment", "karpenter", "--namespace", namespace, "--replicas", "0"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list appsv1.DeploymentList
	e.Await(t, &list, func() string {
		for _, d := range list.Items {
			if d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == 0 {
				return ""
			}
		}
		return "the Deployment has replicas"
	}, client.InNamespace(namespace))
	if out, err := e.try(t, "test", "karpenter", "--namespace", namespace, "--timeout", "4m"); err == nil {
		t.Errorf("helm test finds nothing:\n%s", out)
	}
	if words := <-said; !strings.Contains(words, "no replica of Deployment karpenter/karpenter is ready") {
		t.Errorf("the doctor says\n%s", words)
	}
	// The failed pod remains, so that its log can be read, until the next test. So the test deletes it.
	if err := e.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "karpenter-doctor"}}); err != nil {
		t.Error(err)
	}
}

// node runs the container of each pod with restart policy Never, which the local nodes do not do, and sets the phase in which
// the pod ended. The channel gets the output of the last container.
func (e *env) node(t *testing.T) chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	pods, err := e.Watch(ctx, &corev1.PodList{})
	if err != nil {
		t.Fatal(err)
	}
	said, done := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(done)
		ended := map[types.UID]corev1.PodPhase{}
		for event := range pods.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || pod.Spec.RestartPolicy != corev1.RestartPolicyNever || pod.Status.Phase != corev1.PodRunning ||
				pod.Status.ContainerStatuses == nil {
				continue
			}
			if phase, ran := ended[pod.UID]; ran { // kwok set Running again, from an older version of the pod
				if err := e.end(t, pod, phase); err != nil && ctx.Err() == nil {
					t.Errorf("pod %s: %v", pod.Name, err)
				}
				continue
			}
			words, phase, err := e.runOnce(t, pod)
			if err != nil {
				t.Errorf("pod %s: %v", pod.Name, err)
			}
			ended[pod.UID] = phase
			select {
			case <-said:
			default:
			}
			said <- words
		}
	}()
	t.Cleanup(func() { cancel(); pods.Stop(); <-done })
	return said
}

// runOnce runs a pod's container and ends the pod. It returns the output of the container and the final phase of the pod.
func (e *env) runOnce(t *testing.T, pod *corev1.Pod) (string, corev1.PodPhase, error) {
	cmd, err := e.container(t, pod.Namespace, &pod.Spec)
	if err != nil {
		return "", corev1.PodFailed, err
	}
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", corev1.PodFailed, err
	}
	t.Logf("pod %s printed, and ended with %d:\n%s", pod.Name, cmd.ProcessState.ExitCode(), said)
	phase := corev1.PodSucceeded
	if exit != nil {
		phase = corev1.PodFailed
	}
	return string(said), phase, e.end(t, pod, phase)
}

// end sets the final phase of a pod. A deleted pod is not an error.
func (e *env) end(t *testing.T, pod *corev1.Pod, phase corev1.PodPhase) error {
	before := pod.DeepCopy()
	pod.Status.Phase = phase
	return client.IgnoreNotFound(e.Status().Patch(t.Context(), pod, client.MergeFrom(before)))
}
