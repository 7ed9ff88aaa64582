package clusterapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// capacityPrefix is the prefix of the annotations that describe a node that does not exist yet. Cluster Autoscaler reads the
// same annotations.
const capacityPrefix = "capacity.cluster-autoscaler.kubernetes.io/"

// defaultPods is the maximum number of pods of a node if no source states it. It is the default of the kubelet.
const defaultPods = "110"

// A template has the values from which the Machines of one instance type are created.
type template struct {
	name string
	// spec is the spec of the Machines, with references to the templates of bootstrap and infrastructure.
	spec machineSpec
	// raw has fields of the MachineDeployment's template that are copied unchanged, such as readinessGates.
	raw map[string]any
	// machineLabels and machineAnnotations are the labels and annotations of the Machines.
	machineLabels, machineAnnotations map[string]string
	// bootstrap and infrastructure are the templates to which spec refers. bootstrap is nil if spec refers to a Secret
	// with bootstrap data instead.
	bootstrap, infrastructure *unstructured.Unstructured
	// capacity, labels and taints are those of the nodes.
	capacity corev1.ResourceList
	labels   map[string]string
	taints   []corev1.Taint
	// price and priceTime are the texts of annotations about the price.
	price, priceTime string
}

// A made describes the template from which a Machine was created. Drift is detected by comparing it with the current
// template.
type made struct {
	Template string `json:"template"`
	// Spec is a hash of the contents of the templates of bootstrap and infrastructure,
	// and of the name of the Secret with bootstrap data.
	Spec    string `json:"spec"`
	Version string `json:"version,omitempty"`
	// Labels is a hash of the labels and taints of the nodes.
	Labels        string `json:"labels"`
	FailureDomain string `json:"failureDomain,omitempty"`
}

// made returns the description to record for a Machine that is created from t in the failure domain.
func (t *template) made(failureDomain string) made {
	contents := []any{innerSpec(t.infrastructure), deref(t.spec.Bootstrap.DataSecretName)}
	if t.bootstrap != nil {
		contents = append(contents, innerSpec(t.bootstrap))
	}
	return made{
		Template: t.name, Spec: digest(contents), Version: t.spec.Version, Labels: digest([]any{t.labels, t.taints}),
		FailureDomain: failureDomain,
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// innerSpec returns the field spec.template.spec.
func innerSpec(u *unstructured.Unstructured) any {
	spec, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "template", "spec") // nil if absent, which is valid
	return spec
}

// digest returns a short hash of v. Maps are encoded in order of their keys.
func digest(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // it came from JSON
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// A templateSource reads templates from the management cluster.
type templateSource struct {
	reader client.Reader
	// kinds returns the preferred version of a kind.
	kinds func(schema.GroupKind) (schema.GroupVersionKind, error)
}

// cluster returns the Cluster of the class.
func (s templateSource) cluster(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) (*clusterObject, error) {
	u := empty(gvk("Cluster"))
	key := client.ObjectKey{Namespace: class.Spec.Namespace, Name: class.Spec.ClusterName}
	if err := s.reader.Get(ctx, key, u); err != nil {
		return nil, fmt.Errorf("get Cluster %s: %w", key, err)
	}
	return decode[clusterObject](u)
}

// templates returns the templates of the class in name order. unusable has an error for each template that cannot be
// used. If the management cluster cannot be read, err is set and both lists are empty.
func (s templateSource) templates(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) (usable []*template, unusable []error, err error) {
	drafts, unusable, err := s.drafts(ctx, class)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range drafts {
		err := s.complete(ctx, class.Spec.Namespace, d)
		var bad *templateError
		switch {
		case errors.As(err, &bad):
			unusable = append(unusable, fmt.Errorf("%s: %w", d.name, bad.err))
		case err != nil:
			return nil, nil, err
		default:
			usable = append(usable, d.template)
		}
	}
	slices.SortFunc(usable, func(a, b *template) int { return cmp.Compare(a.name, b.name) })
	return usable, unusable, nil
}

// A templateError is a mistake in a template. Other errors are failures to read it.
type templateError struct{ err error }

func (e *templateError) Error() string { return e.err.Error() }

// A draft is a template whose references are not resolved yet.
type draft struct {
	*template
	annotations map[string]string // annotations that describe the nodes
}

// drafts returns the templates of the class, from MachineDeployments or from the class itself. The list of errors has
// mistakes in single MachineDeployments or in the selector. The last result is the error if MachineDeployments cannot
// be read.
func (s templateSource) drafts(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) ([]draft, []error, error) {
	if class.Spec.MachineDeploymentSelector == nil {
		out := make([]draft, 0, len(class.Spec.Templates))
		for i := range class.Spec.Templates {
			out = append(out, listedTemplate(&class.Spec.Templates[i]))
		}
		return out, nil, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(class.Spec.MachineDeploymentSelector)
	if err != nil {
		return nil, []error{fmt.Errorf("machineDeploymentSelector: %w", err)}, nil
	}
	list := emptyList(gvk("MachineDeployment"))
	err = s.reader.List(ctx, list, client.InNamespace(class.Spec.Namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, nil, fmt.Errorf("list MachineDeployments: %w", err)
	}
	var out []draft
	var bad []error
	for i := range list.Items {
		u := &list.Items[i]
		d, err := decode[deployment](u)
		switch {
		case err != nil:
			bad = append(bad, err)
		case d.Spec.ClusterName != class.Spec.ClusterName || d.Metadata.DeletionTimestamp != nil:
		default:
			out = append(out, deployedTemplate(u, d))
		}
	}
	return out, bad, nil
}

// listedTemplate returns the draft of a template in a class.
func listedTemplate(t *clusterapiv1alpha1.MachineTemplate) draft {
	out := &template{name: t.Name, machineLabels: t.Labels, price: t.Annotations[clusterapiv1alpha1.PriceAnnotationKey],
		priceTime: t.Annotations[clusterapiv1alpha1.PriceTimeAnnotationKey]}
	out.spec.Version, out.spec.FailureDomain = t.Version, t.FailureDomain
	out.spec.InfrastructureRef = reference(t.InfrastructureRef)
	out.spec.Bootstrap.DataSecretName = t.Bootstrap.DataSecretName
	if ref := t.Bootstrap.ConfigRef; ref != nil {
		out.spec.Bootstrap.ConfigRef = reference(*ref)
	}
	return draft{out, t.Annotations}
}

// deployedTemplate returns the draft of a MachineDeployment.
func deployedTemplate(u *unstructured.Unstructured, d *deployment) draft {
	t := &d.Spec.Template
	raw, _, _ := unstructured.NestedMap(u.Object, "spec", "template", "spec") // decoded before, so it is a map
	out := &template{name: d.Metadata.Name, spec: t.Spec, raw: raw, machineLabels: map[string]string{},
		machineAnnotations: t.Metadata.Annotations, price: d.Metadata.Annotations[clusterapiv1alpha1.PriceAnnotationKey],
		priceTime: d.Metadata.Annotations[clusterapiv1alpha1.PriceTimeAnnotationKey]}
	for k, v := range t.Metadata.Labels {
		if !selects(&d.Spec.Selector, k) {
			out.machineLabels[k] = v
		}
	}
	return draft{out, d.Metadata.Annotations}
}

// selects reports whether a Machine with the label could be taken over by a MachineDeployment. That is so if the selector has the
// label key, or if the key is one of Cluster API's own labels for the Machines of a MachineDeployment.
func selects(s *metav1.LabelSelector, key string) bool {
	if _, ok := s.MatchLabels[key]; ok {
		return true
	}
	if key == coreGroup+"/deployment-name" || key == coreGroup+"/set-name" || strings.HasPrefix(key, "topology."+coreGroup+"/") {
		return true
	}
	return slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
}

// complete reads the templates to which the draft refers, and sets the capacity, labels, taints and price of its nodes.
func (s templateSource) complete(ctx context.Context, namespace string, d draft) (err error) {
	if d.infrastructure, err = s.referred(ctx, namespace, d.spec.InfrastructureRef); err != nil {
		return err
	}
	if ref := d.spec.Bootstrap.ConfigRef; ref.set() {
		if d.bootstrap, err = s.referred(ctx, namespace, ref); err != nil {
			return err
		}
	} else if d.spec.Bootstrap.DataSecretName == nil {
		return &templateError{errors.New("it has neither a bootstrap template nor a Secret with bootstrap data")}
	}
	infra, err := decode[infraTemplate](d.infrastructure)
	if err != nil {
		return &templateError{err}
	}
	if d.price == "" {
		d.price = infra.Metadata.Annotations[clusterapiv1alpha1.PriceAnnotationKey]
		d.priceTime = infra.Metadata.Annotations[clusterapiv1alpha1.PriceTimeAnnotationKey]
	}
	if err := describe(d, infra); err != nil {
		return &templateError{err}
	}
	return nil
}

// referred returns the template to which ref refers. If the version of its kind cannot be
// determined, or the template does not exist, the error is a templateError.
func (s templateSource) referred(ctx context.Context, namespace string, ref reference) (*unstructured.Unstructured, error) {
	kind, err := s.kinds(ref.groupKind())
	if err != nil {
		return nil, &templateError{fmt.Errorf("kind %s of %s is not served: %w", ref.Kind, ref.APIGroup, err)}
	}
	u := empty(kind)
	err = s.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, u)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	}
	if err != nil {
		return nil, &templateError{fmt.Errorf("there is no %s %s in namespace %s", ref.Kind, ref.Name, namespace)}
	}
	return u, nil
}

// describe sets capacity, labels and taints of the template's nodes. Annotations take precedence over the status of the
// infrastructure template. This status takes precedence over labels of the Machine.
func describe(d draft, infra *infraTemplate) error {
	var errs []error
	d.capacity = corev1.ResourceList{}
	for name, v := range infra.Status.Capacity {
		q, err := resource.ParseQuantity(fmt.Sprint(v))
		if err != nil {
			errs = append(errs, fmt.Errorf("status.capacity.%s is %v: %w", name, v, err))
			continue
		}
		d.capacity[corev1.ResourceName(name)] = q
	}
	errs = append(errs, annotatedCapacity(d))
	if _, ok := d.capacity[corev1.ResourcePods]; !ok {
		d.capacity[corev1.ResourcePods] = resource.MustParse(defaultPods)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q := d.capacity[name]; q.Sign() <= 0 {
			errs = append(errs, fmt.Errorf("its %s is not known: set the annotation %s%s, or status.capacity of the infrastructure template",
				name, capacityPrefix, name))
		}
	}
	d.labels = map[string]string{}
	for k, v := range d.machineLabels {
		if propagated(k) {
			d.labels[k] = v
		}
	}
	d.labels[corev1.LabelArchStable] = cmp.Or(infra.Status.NodeInfo.Architecture, apiv1.ArchitectureAmd64)
	d.labels[corev1.LabelOSStable] = cmp.Or(infra.Status.NodeInfo.OperatingSystem, string(corev1.Linux))
	told, err := labels.ConvertSelectorToLabelsMap(d.annotations[capacityPrefix+"labels"])
	if err != nil {
		errs = append(errs, fmt.Errorf("annotation %slabels: %w", capacityPrefix, err))
	}
	for k, v := range told {
		d.labels[k] = v
	}
	delete(d.labels, corev1.LabelInstanceTypeStable) // the instance type is the name of the template
	for _, t := range d.spec.Taints {
		d.taints = append(d.taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	taints, err := parseTaints(d.annotations[capacityPrefix+"taints"])
	for _, t := range taints {
		if !slices.Contains(d.taints, t) {
			d.taints = append(d.taints, t)
		}
	}
	d.taints = slices.DeleteFunc(d.taints, func(t corev1.Taint) bool {
		return t.Key == apiv1.UnregisteredTaintKey || t.Key == uninitializedTaintKey
	})
	slices.SortFunc(d.taints, func(a, b corev1.Taint) int { return cmp.Compare(a.ToString(), b.ToString()) })
	return errors.Join(append(errs, err)...)
}

// annotatedCapacity sets the resources that annotations state. The error joins all annotations that are not amounts.
func annotatedCapacity(d draft) error {
	var errs []error
	for suffix, name := range map[string]corev1.ResourceName{
		"cpu": corev1.ResourceCPU, "memory": corev1.ResourceMemory, "ephemeral-disk": corev1.ResourceEphemeralStorage,
		"maxPods": corev1.ResourcePods,
	} {
		text, ok := d.annotations[capacityPrefix+suffix]
		if !ok {
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() < 0 {
			errs = append(errs, fmt.Errorf("annotation %s%s is %q, want a quantity such as 4 or 16Gi", capacityPrefix, suffix, text))
			continue
		}
		d.capacity[name] = q
	}
	if text, ok := d.annotations[capacityPrefix+"gpu-count"]; ok {
		count, err := strconv.ParseInt(text, 10, 64)
		if err != nil || count < 0 {
			errs = append(errs, fmt.Errorf("annotation %sgpu-count is %q, want a number", capacityPrefix, text))
		}
		kind := cmp.Or(d.annotations[capacityPrefix+"gpu-type"], "nvidia.com/gpu")
		if count > 0 {
			d.capacity[corev1.ResourceName(kind)] = *resource.NewQuantity(count, resource.DecimalSI)
		}
	}
	return errors.Join(errs...)
}

// propagated reports whether Cluster API copies the label from the Machine to its node.
func propagated(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	for _, d := range []string{"node.cluster.x-k8s.io", "node-restriction.kubernetes.io"} {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return true
		}
	}
	return domain == "node-role.kubernetes.io"
}

// parseTaints parses key=value:Effect or key:Effect, separated by commas.
func parseTaints(text string) ([]corev1.Taint, error) {
	var out []corev1.Taint
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		at := strings.LastIndexByte(part, ':')
		if at < 0 {
			return out, fmt.Errorf("annotation %staints has %q, want key=value:Effect", capacityPrefix, part)
		}
		effect := corev1.TaintEffect(part[at+1:])
		if !slices.Contains([]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}, effect) {
			return out, fmt.Errorf("annotation %staints has the effect %q", capacityPrefix, effect)
		}
		key, value, _ := strings.Cut(part[:at], "=")
		out = append(out, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
	return out, nil
}
