package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/live"
)

func captureCommand() *cobra.Command {
	var file string
	follow := false
	c := &cobra.Command{
		Use:   "capture",
		Short: "Write the cluster to a file, without secrets, for simulate and explain",
		Long: "Write all objects that decisions depend on to a file, as a List in JSON. Karpenter's commands read it with -f. The\n" +
			"settings, pauses and rate limits of the controller are in it too, and count in these commands.\n\n" +
			"Removed are: commands, arguments, environment and images of containers, annotations except Karpenter's and those of\n" +
			"volumes and pods that decisions depend on, managed fields, user data of EC2NodeClasses, and the status of containers.\n" +
			"Names, labels, namespaces and selectors remain, since decisions depend on them: read the file before you share it.\n\n" +
			"CapacityBuffers are written with their pod template and the number of their pods. Deployments and other workloads\n" +
			"except DaemonSets are not written: their pods are, and replicas that have no pod yet are missing.\n\n" +
			"With --follow it writes the creation and the end of each pod as a line, until it is interrupted. backtest replays that.",
		Example: "  karpenter capture -o cluster.json\n" +
			"  karpenter simulate -f cluster.json --consolidate\n" +
			"  karpenter explain node ip-10-0-0-4.ec2.internal -f cluster.json\n" +
			"  timeout 24h karpenter capture --follow -o day.jsonl",
		Args: noArgs,
	}
	c.Flags().StringVarP(&file, "output", "o", "", "File to write (default: standard output)")
	c.Flags().BoolVar(&follow, "follow", false, "Write pods as they are created and end, as JSON lines for backtest, until interrupted")
	once := interruptible(func(cmd *cobra.Command, _ []string) error {
		p := newProgress(cmd.ErrOrStderr())
		defer p.end()
		p.say("reading the cluster")
		there, err := watchingClient(100)
		if err != nil {
			return err
		}
		list, warnings, err := captureOf(cmd.Context(), there)
		if err != nil {
			return coded{exitUnreachable, err}
		}
		p.pause()
		warn(cmd.ErrOrStderr(), warnings)
		out, done, err := captureTo(cmd, file)
		if err != nil {
			return err
		}
		return errors.Join(writeCapture(out, list), done())
	})
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !follow {
			return once(cmd, args)
		}
		there, err := watchingClient(100)
		if err != nil {
			return err
		}
		out, done, err := captureTo(cmd, file)
		if err != nil {
			return err
		}
		f := follower{pods: there, clock: clock.RealClock{}, out: out, alive: map[types.UID]*corev1.Pod{}}
		err = f.follow(cmd.Context(), func(err error) { warn(cmd.ErrOrStderr(), []string{err.Error()}) })
		return errors.Join(err, done())
	}
	return c
}

// captureOf reads the cluster. It returns an error if an object that a snapshot needs cannot be read. Other objects that
// cannot be read are missing in the list, and warnings name them.
func captureOf(ctx context.Context, there client.Client) (list *captured, warnings []string, err error) {
	list = &captured{APIVersion: "v1", Kind: "List", Items: []client.Object{}}
	add := func(o client.Object) error {
		kinds, _, err := there.Scheme().ObjectKinds(o)
		if err != nil {
			return fmt.Errorf("capture %s: %w", api.Kind(o), err)
		}
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
		redact(o)
		list.Items = append(list.Items, o)
		return nil
	}
	if err := live.Each(ctx, there, add); err != nil {
		return nil, nil, err
	}
	controller, warnings := controllerOf(ctx, there, "")
	if controller.known() {
		if err := add(controller.configMap()); err != nil {
			return nil, nil, err
		}
	}
	objects, more := besides(ctx, there, controller.gates().CapacityBuffer)
	for _, o := range objects {
		if err := add(o); err != nil {
			return nil, nil, err
		}
	}
	return list, append(warnings, more...), nil
}

// configMap returns the ConfigMap with the settings of the controller and its unavailable offerings. It first sets the
// pauses and rate limits in c.settings to the current ones, in c.limits.
func (c *controllerState) configMap() *corev1.ConfigMap {
	s, l := c.settings, c.limits
	s.PauseLaunches, s.PauseDisruption, s.MaxLaunchesPerMinute = l.PauseLaunches, l.PauseDisruption, l.MaxLaunches
	s.MaxReplacementsPerMinute, s.MaxDisruptionsPerMinute = l.MaxReplacements, l.MaxDisruptions
	m := &corev1.ConfigMap{Data: map[string]string{decisions.SettingsKey: s.Published()}}
	if len(c.unavailable.Groups) > 0 {
		m.Data[decisions.UnavailableKey] = c.unavailable.Encode()
	}
	m.Namespace, m.Name = metav1.NamespaceDefault, decisions.MapName
	return m
}

// besides lists objects that a snapshot of the cluster does not need, but that decisions for captured manifests do. They are
// LimitRanges, PriorityClasses and RuntimeClasses, which set fields of new pods, node classes of other providers, and
// CapacityBuffers.
func besides(ctx context.Context, there client.Reader, buffers bool) (out []client.Object, warnings []string) {
	for _, list := range []client.ObjectList{
		&corev1.LimitRangeList{}, &schedulingv1.PriorityClassList{}, &nodev1.RuntimeClassList{},
		&kwokv1alpha1.KWOKNodeClassList{}, &clusterapiv1alpha1.ClusterAPINodeClassList{},
	} {
		err := there.List(ctx, list)
		if err != nil && !meta.IsNoMatchError(err) {
			warnings = append(warnings, fmt.Sprintf("objects of kind %s are not captured: %v", api.Kind(list), err))
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error { // the function returns no error
			if object, ok := o.(client.Object); ok {
				out = append(out, object)
			}
			return nil
		})
	}
	if buffers {
		fixed, err := (&capacitybuffer.Buffers{Reader: there, Quotas: true}).Fixed(ctx)
		if err != nil {
			warnings = append(warnings, "not captured: "+err.Error())
		}
		out = append(out, fixed...)
	}
	return out, warnings
}

// captureTo returns where to write: the file, or standard output if it is empty. The caller calls done at the end.
func captureTo(cmd *cobra.Command, file string) (out io.Writer, done func() error, err error) {
	if file == "" {
		return cmd.OutOrStdout(), func() error { return nil }, nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("write the capture: %w", err)
	}
	return f, f.Close, nil
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

// redactMore removes the details of pod templates and the user data of node classes.
func redactMore(o client.Object) {
	switch o := o.(type) {
	case *appsv1.DaemonSet:
		redactPod(&o.Spec.Template.Spec)
		o.Spec.Template.Annotations = nil
	case *corev1.PodTemplate:
		redactPod(&o.Template.Spec)
		o.Template.Annotations = nil
	case *awsv1.EC2NodeClass:
		o.Spec.UserData = nil
	}
}
