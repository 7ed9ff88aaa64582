package clusterapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/timeout"
	"github.com/karpenter-go/karpenter/provider/classwrite"
)

const (
	// statusEvery is the interval at which a class is read again: templates, failure domains and prices may change.
	statusEvery = 15 * time.Second
	// statusWorkers is how many classes are reconciled at the same time.
	statusWorkers = 4
)

// A Status is the controller that writes the status of node classes and finishes their deletion.
type Status struct {
	provider *Provider
	outage   outage
}

// Status returns the controller of node classes.
func (p *Provider) Status() *Status { return &Status{provider: p} }

// Name is the controller's name.
func (s *Status) Name() string { return "nodeclass.clusterapi" }

// Register adds the controller to mgr.
func (s *Status) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named(s.Name()).For(&clusterapiv1alpha1.ClusterAPINodeClass{}).
		Watches(&apiv1.NodeClaim{}, handler.Funcs{DeleteFunc: handler.EnqueueRequestsFromMapFunc(classOf).Delete}).
		WithOptions(controller.Options{MaxConcurrentReconciles: statusWorkers}).Complete(s)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", s.Name(), err)
	}
	return nil
}

// classOf maps a claim to its class.
func classOf(_ context.Context, o client.Object) []reconcile.Request {
	claim, ok := o.(*apiv1.NodeClaim)
	if !ok || !Facts().Manages(claim.Spec.NodeClassRef) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}}}
}

// Reconcile resolves the class and writes its status, or finishes its deletion.
func (s *Status) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	kube := s.provider.config.Client
	var class clusterapiv1alpha1.ClusterAPINodeClass
	if err := kube.Get(ctx, req.NamespacedName, &class); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !class.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, s.finish(ctx, &class)
	}
	before := class.DeepCopy()
	if controllerutil.AddFinalizer(&class, clusterapiv1alpha1.TerminationFinalizer) {
		if err := kube.Patch(ctx, &class, classwrite.Locked(before)); err != nil {
			return classwrite.Failed(err, "add finalizer to node class", class.Name)
		}
		before = class.DeepCopy()
	}
	s.resolve(ctx, &class)
	if !equality.Semantic.DeepEqual(before.Status, class.Status) {
		if err := kube.Status().Patch(ctx, &class, classwrite.Locked(before)); err != nil {
			return classwrite.Failed(err, "patch status of node class", class.Name)
		}
	}
	return ctrl.Result{RequeueAfter: statusEvery}, nil
}

// resolve sets the status of the class.
func (s *Status) resolve(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) {
	p, now := s.provider, s.provider.config.Clock.Now()
	condition.Initialize(class, now)
	cluster, err := s.probe(ctx, class)
	if err != nil {
		s.unread(ctx, class, clusterapiv1alpha1.ConditionTypeClusterReady, clusterapiv1alpha1.ReasonClusterNotFound, err)
		return
	}
	key := class.Spec.Namespace + "/" + class.Spec.ClusterName
	_, annotated := cluster.Metadata.Annotations[pausedAnnotation]
	ready := clusterapiv1alpha1.ConditionTypeClusterReady
	switch {
	case cluster.Metadata.DeletionTimestamp != nil:
		condition.SetFalse(class, ready, clusterapiv1alpha1.ReasonClusterDeleting, "Cluster "+key+" is being deleted", now)
	case annotated || cluster.Spec.Paused:
		condition.SetFalse(class, ready, clusterapiv1alpha1.ReasonClusterPaused, "Cluster "+key+" is paused", now)
	default:
		condition.SetTrue(class, ready, now)
	}
	templates, unusable, err := p.source.templates(ctx, class)
	if err != nil {
		s.unread(ctx, class, clusterapiv1alpha1.ConditionTypeTemplatesReady, clusterapiv1alpha1.ReasonNoTemplates, err)
		return
	}
	s.outage.note(nil, now)
	book, bookErr := p.prices.of(ctx, class)
	s.describe(class, cluster, templates, book)
	s.templatesReady(class, append(unusable, checkPatterns(class)...))
	s.pricesKnown(class, bookErr)
}

// probe reads the Cluster of the class without a cache, which shows whether the management cluster answers.
func (s *Status) probe(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) (*clusterObject, error) {
	ctx, cancel := timeout.Context(ctx, s.provider.config.Clock, probeTime)
	defer cancel()
	return templateSource{reader: s.provider.config.Management.Live}.cluster(ctx, class)
}

// unread sets a condition to a failure of the management cluster: False if the object does not exist, else Unknown. A class that
// was ready stays ready for outageGrace.
func (s *Status) unread(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass, kind, missing string, err error) {
	now := s.provider.config.Clock.Now()
	if apierrors.IsNotFound(err) {
		condition.SetFalse(class, kind, missing, err.Error(), now)
		return
	}
	ctrl.LoggerFrom(ctx).Error(err, "failed to read the management cluster, retrying")
	if s.outage.note(err, now) >= outageGrace || !condition.Ready(class) {
		condition.SetUnknown(class, kind, clusterapiv1alpha1.ReasonNotReachable, telemetry.Cut("The management cluster does not answer: "+err.Error()), now)
	}
}

// describe writes the templates to the status.
func (s *Status) describe(
	class *clusterapiv1alpha1.ClusterAPINodeClass, cluster *clusterObject, templates []*template, book priceBook,
) {
	class.Status.Templates = nil
	for _, t := range templates {
		status := clusterapiv1alpha1.TemplateStatus{Name: t.name, Version: t.spec.Version, Capacity: t.capacity, Taints: t.taints}
		for _, d := range domains(class, cluster, t) {
			zone := clusterapiv1alpha1.ZoneStatus{Zone: d.zone}
			if price, known := book.of(t, d); known {
				zone.PricePerHour = strconv.FormatFloat(price.dollars, 'f', -1, 64)
				zone.PriceSource, zone.PriceTime = price.source, price.read
			}
			status.Zones = append(status.Zones, zone)
		}
		slices.SortFunc(status.Zones, func(a, b clusterapiv1alpha1.ZoneStatus) int { return cmp.Compare(a.Zone, b.Zone) })
		class.Status.Templates = append(class.Status.Templates, status)
	}
}

// templatesReady sets the condition TemplatesReady. It is True if some template has a zone, and then its message names the
// errors of the others. wrong has the errors about templates and about spec.capacityErrors.
func (s *Status) templatesReady(class *clusterapiv1alpha1.ClusterAPINodeClass, wrong []error) {
	now, kind := s.provider.config.Clock.Now(), clusterapiv1alpha1.ConditionTypeTemplatesReady
	var zoneless []string
	usable := 0
	for _, t := range class.Status.Templates {
		if len(t.Zones) == 0 {
			zoneless = append(zoneless, t.Name)
		} else {
			usable++
		}
	}
	if len(zoneless) > 0 {
		wrong = append(wrong, fmt.Errorf("%s: none of the failure domains of the class is one of the Cluster and of the template", strings.Join(zoneless, ", ")))
	}
	switch {
	case usable > 0 && len(wrong) == 0:
		condition.SetTrue(class, kind, now)
	case usable > 0:
		condition.SetTrueWithReason(class, kind, clusterapiv1alpha1.ReasonInvalidTemplates, telemetry.Cut("Not used: "+inOneLine(wrong)), now)
	case len(wrong) > 0:
		condition.SetFalse(class, kind, clusterapiv1alpha1.ReasonInvalidTemplates, telemetry.Cut(inOneLine(wrong)), now)
	default:
		condition.SetFalse(class, kind, clusterapiv1alpha1.ReasonNoTemplates, fmt.Sprintf(
			"No MachineDeployment of Cluster %s in namespace %s matches the selector", class.Spec.ClusterName, class.Spec.Namespace), now)
	}
}

// pricesKnown sets the condition PricesKnown. If it is False, its message has err or, without err, the templates and
// zones without a price.
func (s *Status) pricesKnown(class *clusterapiv1alpha1.ClusterAPINodeClass, err error) {
	now, kind := s.provider.config.Clock.Now(), clusterapiv1alpha1.ConditionTypePricesKnown
	var unknown []string
	for _, t := range class.Status.Templates {
		for _, z := range t.Zones {
			if z.PricePerHour == "" {
				unknown = append(unknown, t.Name+" in "+z.Zone)
			}
		}
	}
	switch {
	case err != nil:
		condition.SetFalse(class, kind, clusterapiv1alpha1.ReasonPricesNotRead, telemetry.Cut(inOneLine([]error{err})+"; earlier prices are used"), now)
	case len(unknown) > 0:
		condition.SetFalse(class, kind, clusterapiv1alpha1.ReasonUnknownPrices, telemetry.Cut(
			"Not launched, because their price is not known: "+strings.Join(unknown, ", ")), now)
	default:
		condition.SetTrue(class, kind, now)
	}
}

// inOneLine returns the texts of errors in one line.
func inOneLine(errs []error) string {
	return strings.ReplaceAll(errors.Join(errs...).Error(), "\n", "; ")
}

// finish removes the finalizer of the class once no claim uses it.
func (s *Status) finish(ctx context.Context, class *clusterapiv1alpha1.ClusterAPINodeClass) error {
	if !controllerutil.ContainsFinalizer(class, clusterapiv1alpha1.TerminationFinalizer) {
		return nil
	}
	var claims apiv1.NodeClaimList
	if err := s.provider.config.Client.List(ctx, &claims); err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	for i := range claims.Items {
		ref := claims.Items[i].Spec.NodeClassRef
		if Facts().Manages(ref) && ref.Name == class.Name {
			s.provider.config.Events.Publish(telemetry.Event{
				Object: class, Type: corev1.EventTypeNormal, Reason: telemetry.EventWaitingOnNodeClaimTermination,
				Message: "Waiting for deletion of the NodeClaims that use this ClusterAPINodeClass, such as " + claims.Items[i].Name,
			})
			return nil // the deletion of the last claim triggers another reconcile
		}
	}
	before := class.DeepCopy()
	controllerutil.RemoveFinalizer(class, clusterapiv1alpha1.TerminationFinalizer)
	if err := s.provider.config.Client.Patch(ctx, class, classwrite.Locked(before)); err != nil {
		_, err = classwrite.Failed(err, "remove finalizer of node class", class.Name)
		return err
	}
	return nil
}
