package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/internal/live"
)

func captureCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "capture",
		Short: "Write the cluster to a file, without secrets, for simulate and explain",
		Long: "Write all objects that decisions depend on to a file, as a List in JSON. Karpenter's commands read it with -f.\n\n" +
			"Removed are: commands, arguments, environment and images of containers, annotations except Karpenter's and those of\n" +
			"volumes and pods that decisions depend on, managed fields, user data of EC2NodeClasses, and the status of containers.\n" +
			"Names, labels, namespaces and selectors remain, since decisions depend on them: read the file before you share it.",
		Example: "  karpenter capture -o cluster.json\n" +
			"  karpenter simulate -f cluster.json --consolidate\n" +
			"  karpenter explain node ip-10-0-0-4.ec2.internal -f cluster.json",
		Args: noArgs,
	}
	c.Flags().StringVarP(&file, "output", "o", "", "File to write (default: standard output)")
	c.RunE = interruptible(func(cmd *cobra.Command, _ []string) error {
		p := newProgress(cmd.ErrOrStderr())
		defer p.end()
		p.say("reading the cluster")
		there, err := watchingClient(100)
		if err != nil {
			return err
		}
		list := &captured{APIVersion: "v1", Kind: "List", Items: []client.Object{}}
		err = live.Each(cmd.Context(), there, func(o client.Object) error {
			kinds, _, err := there.Scheme().ObjectKinds(o)
			if err != nil {
				return fmt.Errorf("capture %T: %w", o, err)
			}
			o.GetObjectKind().SetGroupVersionKind(kinds[0])
			redact(o)
			list.Items = append(list.Items, o)
			return nil
		})
		if err != nil {
			return coded{exitUnreachable, err}
		}
		p.pause()
		out := cmd.OutOrStdout()
		if file != "" {
			f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return fmt.Errorf("write the capture: %w", err)
			}
			defer f.Close()
			out = f
		}
		return writeCapture(out, list)
	})
	return c
}

// captured is a List of Kubernetes.
type captured struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Items      []client.Object `json:"items"`
}

func writeCapture(out io.Writer, list *captured) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(list); err != nil {
		return fmt.Errorf("write the capture: %w", err)
	}
	return nil
}

// keptAnnotations are the prefixes of annotations on which decisions depend.
var keptAnnotations = [...]string{
	"karpenter.sh/", "ext.karpenter.sh/", "karpenter.k8s.aws/", "compatibility.karpenter.sh/", "pv.kubernetes.io/",
	"volume.kubernetes.io/", "volume.beta.kubernetes.io/", "storageclass.kubernetes.io/", "controller.kubernetes.io/",
	"cluster-autoscaler.kubernetes.io/", "scheduling.", "kubernetes.io/config.mirror", "kubernetes.io/config.source",
}

// redact removes the parts of an object that no decision depends on, or that may be confidential.
func redact(o client.Object) {
	o.SetManagedFields(nil)
	annotations := map[string]string{}
	for k, v := range o.GetAnnotations() {
		for _, prefix := range keptAnnotations {
			if strings.HasPrefix(k, prefix) {
				annotations[k] = v
			}
		}
	}
	o.SetAnnotations(annotations)
	if pod, ok := o.(*corev1.Pod); ok {
		redactPod(&pod.Spec)
		pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses = nil, nil, nil
		pod.Status.PodIP, pod.Status.PodIPs, pod.Status.HostIP, pod.Status.HostIPs = "", nil, "", nil
	}
	if node, ok := o.(*corev1.Node); ok {
		node.Status.Images = nil
		node.Status.NodeInfo = corev1.NodeSystemInfo{}
	}
	redactMore(o)
}

func redactPod(spec *corev1.PodSpec) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			c := &list[i]
			*c = corev1.Container{Name: c.Name, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
		}
	}
	spec.EphemeralContainers, spec.ImagePullSecrets, spec.HostAliases = nil, nil, nil
	var volumes []corev1.Volume
	for _, v := range spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil { // only these bind a pod to a zone
			volumes = append(volumes, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: v.PersistentVolumeClaim, Ephemeral: v.Ephemeral,
			}})
		}
	}
	spec.Volumes = volumes
}

// redactMore removes the pod templates of DaemonSets and the user data of node classes.
func redactMore(o client.Object) {
	switch o := o.(type) {
	case *appsv1.DaemonSet:
		redactPod(&o.Spec.Template.Spec)
		o.Spec.Template.Annotations = nil
	case *awsv1.EC2NodeClass:
		o.Spec.UserData = nil
	}
}
