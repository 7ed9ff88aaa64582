package lint

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karpenter-go/karpenter/api/admission"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/legacy"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Options are the facts that Check compares manifests with.
type Options struct {
	// Types returns the instance types of a region, as nodes of a node class have them. The result is empty for an
	// unknown region. class is nil if the files do not contain it. Rules about types are skipped if Types is nil or its
	// result is empty.
	Types func(region string, class *awsv1.EC2NodeClass) ([]*model.InstanceType, error)
	// AsOf is the date of the data that Types returns, for messages. Names are the names of all instance types of AWS,
	// including those that Types does not return.
	AsOf  string
	Names []string
	// Judge returns the reason why the controller rejects a node class that the API server accepts, or "" if it does
	// not reject it. If Judge is nil, there is no such check.
	Judge func(*awsv1.EC2NodeClass) string
	// Region is the region of pools whose requirements name no zone. Default: us-east-1.
	Region string
}

// linter is the state of one call of Check.
type linter struct {
	options  Options
	checker  *admission.Checker
	rules    apiv1.LabelRules
	objects  []*object
	pools    []*pool
	findings []Finding
	nodes    map[string]*awsv1.EC2NodeClass   // the node classes, by name
	names    map[string]map[string]bool       // of objects, by kind
	regions  map[string][]*model.InstanceType // by region and class
	have     map[string]map[string]bool       // values of the types of options.Region, by key; nil until first used
}

// schemas are compiled once, when first needed.
var schemas = sync.OnceValues(admission.New)

// Check applies all rules to the files together, since objects refer to other objects. The findings are sorted by file and
// line.
func Check(ctx context.Context, files []File, o Options) ([]Finding, error) {
	checker, err := schemas()
	if err != nil {
		return nil, err
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	l := &linter{options: o, checker: checker, rules: apiv1.CoreLabels().With(awsv1.Labels()),
		nodes: map[string]*awsv1.EC2NodeClass{}, names: map[string]map[string]bool{}, regions: map[string][]*model.InstanceType{}}
	for _, f := range files {
		l.read(f)
	}
	l.nothing(files)
	l.known()
	l.duplicates()
	for _, object := range l.objects {
		if err := l.object(ctx, object); err != nil {
			return nil, err
		}
	}
	l.overlaps()
	return sorted(l.findings), nil
}

// nothing reports a finding if the files together contain no object that has rules. Otherwise the user could take the
// lack of findings for a success.
func (l *linter) nothing(files []File) {
	if len(l.objects) > 0 || len(l.findings) > 0 || len(files) == 0 {
		return
	}
	where := "the file"
	if len(files) > 1 {
		where = fmt.Sprintf("any of the %d files", len(files))
	}
	l.found(Finding{Rule: "nothing-to-check", File: files[0].Name, Line: 1, Message: "no Kubernetes manifest in " + where + ": nothing was checked",
		Fix: "pass files whose objects have apiVersion and kind; render Helm charts and Kustomize overlays first"})
}

// known stores the names of all objects, for the rules about references.
func (l *linter) known() {
	for _, o := range l.objects {
		kind := o.content.GetKind()
		if l.names[kind] == nil {
			l.names[kind] = map[string]bool{}
		}
		l.names[kind][o.content.GetName()] = true
		class := &awsv1.EC2NodeClass{}
		if o.content.GetKind() == "EC2NodeClass" &&
			runtime.DefaultUnstructuredConverter.FromUnstructured(o.content.Object, class) == nil {
			l.nodes[class.Name] = class
		}
	}
}

// found adds a finding.
func (l *linter) found(f Finding) {
	f.Severity = severity(f.Rule)
	l.findings = append(l.findings, f)
}

// at adds a finding about a field of an object.
func (l *linter) at(o *object, rule, field, fix, format string, args ...any) {
	l.found(Finding{Rule: rule, File: o.file, Line: o.line(field), Object: o.label(), Field: field,
		Message: fmt.Sprintf(format, args...), Fix: fix})
}

// object applies the rules for single objects.
func (l *linter) object(ctx context.Context, o *object) error {
	gvk := o.content.GroupVersionKind()
	if legacy.FormOf(gvk.GroupVersion().String(), gvk.Kind) != legacy.Foreign {
		l.at(o, "legacy-kind", "apiVersion", "convert it: karpenter convert -f "+o.file,
			"%s of %s is no longer served", gvk.Kind, gvk.GroupVersion())
		return nil
	}
	l.oldLabels(o)
	if !l.checker.Knows(gvk) {
		if l.strange(o) {
			return nil
		}
		return l.workload(o)
	}
	stripped := o.content.DeepCopy()
	delete(stripped.Object, "status")
	stored, errs := l.checker.Create(ctx, stripped)
	if len(errs) > 0 {
		// An API server returns only the errors of the first validation step that fails. The invalid fields are
		// removed, so that one run finds the others as well.
		remove(stripped.Object, errs)
		var more field.ErrorList
		stored, more = l.checker.Create(ctx, stripped)
		for _, e := range append(errs, others(more, errs)...) {
			l.at(o, "invalid-manifest", e.Field, l.fix(o, e), "%s", problem(e))
		}
		if len(more) > 0 {
			l.checkRest(o, stripped, append(errs, more...))
			return nil
		}
	}
	switch gvk.Kind {
	case "NodePool":
		p := &apiv1.NodePool{}
		if l.decode(o, stored, p) {
			return l.pool(o, p)
		}
	case "EC2NodeClass":
		c := &awsv1.EC2NodeClass{}
		if l.decode(o, stored, c) {
			l.class(o, c)
		}
	case "NodeOverlay":
		l.decode(o, stored, &overlayv1alpha1.NodeOverlay{})
		l.quantities(o, "capacity", "the NodeOverlay is not valid and changes nothing")
	case "NodeClaim":
		l.decode(o, stored, &apiv1.NodeClaim{})
	}
	return nil
}

// decode reads an object that the API server accepts, as the controller does. It reports whether the controller can read it.
func (l *linter) decode(o *object, stored *unstructured.Unstructured, into any) bool {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, into)
	if err == nil {
		return true
	}
	// The error does not name the field. So each field is removed on trial. The culprit is a field without which the
	// object can be read.
	culprit := "spec"
	walk(o.content.Object, "", func(path, _ string) {
		without := stored.DeepCopy()
		remove(without.Object, field.ErrorList{{Field: path}})
		if runtime.DefaultUnstructuredConverter.FromUnstructured(without.Object, into) == nil {
			culprit = path
		}
	})
	l.at(o, "invalid-manifest", culprit, "change the value: while such an object exists, the controller can read no "+o.content.GetKind(),
		"the API server accepts the value, and the controller cannot read it: %v", err)
	return false
}

// duplicates finds objects with the same kind, namespace and name in one directory. The one that is applied last would
// replace the others. Objects in different directories are not compared, because directories are often alternatives,
// such as the overlays of environments.
func (l *linter) duplicates() {
	first := map[string]*object{}
	for _, o := range l.objects {
		name := o.content.GetName()
		if name == "" {
			continue
		}
		key := fmt.Sprintf("%s %s %s/%s", filepath.Dir(o.file), o.content.GroupVersionKind().GroupKind(), o.content.GetNamespace(), name)
		if other := first[key]; other != nil {
			l.at(o, "duplicate-object", "metadata.name", "rename one of the two objects, or remove it",
				"duplicate of the object in %s, line %d: the one applied last replaces the other", other.file, other.node.Line)
			continue
		}
		first[key] = o
	}
}

// oldLabels reports labels and annotations that were renamed, anywhere in an object.
func (l *linter) oldLabels(o *object) {
	walk(o.content.Object, "", func(path, key string) {
		if now, ok := legacy.Renamed[key]; ok {
			l.at(o, "legacy-label", path, "use "+now, "%s was renamed and has no effect", key)
		}
	})
}

// walk calls visit for every key of a tree, and for every string that may be a label key.
func walk(v any, path string, visit func(path, key string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			visit(at, key)
			walk(v[key], at, visit)
		}
	case []any:
		for i, item := range v {
			walk(item, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case string:
		visit(path, v)
	}
}
