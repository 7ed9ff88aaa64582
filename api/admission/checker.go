package admission

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/karpenter-go/karpenter/api/crds"
)

// A Checker has the schemas of all kinds of Karpenter. It is safe for
// concurrent use.
type Checker struct {
	kinds map[schema.GroupVersionKind]*kind
}

// kind is the compiled schema of one kind and version.
type kind struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
	// status is the schema of the status alone, nil if the kind has no status, or if a rule of the object as a whole may read it.
	status *kind
}

// New compiles the schemas of all kinds of Karpenter. Each schema takes a few
// milliseconds.
func New() (*Checker, error) {
	list, err := crds.All()
	if err != nil {
		return nil, err
	}
	c := &Checker{kinds: map[schema.GroupVersionKind]*kind{}}
	for _, crd := range list {
		for _, version := range crd.Spec.Versions {
			k, err := compile(version.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, fmt.Errorf("compile schema of %s: %w", crd.Name, err)
			}
			c.kinds[schema.GroupVersionKind{
				Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind,
			}] = k
		}
	}
	return c, nil
}

func compile(props *apiextensionsv1.JSONSchemaProps) (*kind, error) {
	internal := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil)
	if err != nil {
		return nil, fmt.Errorf("convert schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("make schema structural: %w", err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, fmt.Errorf("make validator: %w", err)
	}
	k := &kind{
		structural: structural,
		schema:     validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
	if status, ok := props.Properties["status"]; ok && len(props.XValidations) == 0 {
		if k.status, err = compile(&status); err != nil {
			return nil, fmt.Errorf("compile status: %w", err)
		}
	}
	return k, nil
}

// Knows reports whether objects of this kind and version can be checked.
func (c *Checker) Knows(gvk schema.GroupVersionKind) bool {
	return c.kinds[gvk] != nil
}

// Kinds returns the kinds and versions that can be checked, in no particular order.
func (c *Checker) Kinds() []schema.GroupVersionKind {
	return slices.Collect(maps.Keys(c.kinds))
}

// Create checks a new object. It returns the object as the server would store it, with defaults, and the errors. CEL rules
// are checked only if the object has no other mistakes. The given object is not changed. If the kind is unknown, Create
// returns no object and an error at the field kind.
func (c *Checker) Create(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, field.ErrorList) {
	return c.check(ctx, object, nil)
}

// Update checks an object that replaces old, as Create does. Unlike the server,
// it also checks the fields that did not change.
func (c *Checker) Update(ctx context.Context, object, old *unstructured.Unstructured) (*unstructured.Unstructured, field.ErrorList) {
	if k := c.kinds[object.GroupVersionKind()]; k != nil && old != nil {
		old, _ = k.decode(old)
	}
	return c.check(ctx, object, old)
}

// UpdateStored checks an object that replaces stored, as Update does. Stored must be the spec and status that Create, Update or
// UpdateStored returned, and any metadata. If the spec is equal, it is not checked again, and the result shares that of stored.
func (c *Checker) UpdateStored(ctx context.Context, object, stored *unstructured.Unstructured) (*unstructured.Unstructured, field.ErrorList) {
	k := c.kinds[object.GroupVersionKind()]
	if k == nil || k.status == nil || !reflect.DeepEqual(object.Object["spec"], stored.Object["spec"]) {
		return c.check(ctx, object, stored)
	}
	status, ok := object.Object["status"].(map[string]any)
	before, had := stored.Object["status"].(map[string]any)
	if !ok || !had {
		return c.check(ctx, object, stored)
	}
	if out, ok := k.checkStatus(ctx, object, status, before); ok {
		out.Object["spec"] = stored.Object["spec"]
		return out, nil
	}
	return c.check(ctx, object, stored) // for its errors
}

// checkStatus checks the metadata and the status of an object, which had another status before. It returns the object without its
// spec as the server would store it, and whether there are no errors.
func (k *kind) checkStatus(
	ctx context.Context, object *unstructured.Unstructured, status, before map[string]any,
) (*unstructured.Unstructured, bool) {
	out, errs := k.decode(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": object.Object["apiVersion"], "kind": object.Object["kind"], "metadata": object.Object["metadata"], "status": status,
	}})
	decoded, isMap := out.Object["status"].(map[string]any)
	if !isMap || len(errs) > 0 || len(notText(out.Object)) > 0 ||
		len(validation.ValidateCustomResourceUpdate(nil, decoded, before, k.status.schema)) > 0 ||
		len(listtype.ValidateListSetsAndMaps(nil, k.status.structural, decoded)) > 0 {
		return nil, false
	}
	found, _ := k.status.rules.Validate(ctx, nil, k.status.structural, decoded, before, celconfig.RuntimeCELCostBudget)
	return out, len(found) == 0
}

// check checks an object that replaces old, which is decoded already. Old is nil for a new object.
func (c *Checker) check(ctx context.Context, object, old *unstructured.Unstructured) (*unstructured.Unstructured, field.ErrorList) {
	k := c.kinds[object.GroupVersionKind()]
	if k == nil {
		return nil, field.ErrorList{field.NotFound(field.NewPath("kind"), object.GroupVersionKind().String())}
	}
	stored, errs := k.decode(object)
	var oldContent map[string]any
	var before any // stays an untyped nil on creation, which switches transition rules off
	if old != nil {
		oldContent = old.Object
		before = oldContent
		errs = append(errs, validation.ValidateCustomResourceUpdate(nil, stored.Object, oldContent, k.schema)...)
	} else {
		errs = append(errs, validation.ValidateCustomResource(nil, stored.Object, k.schema)...)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, stored.Object)...)
	errs = append(errs, notText(stored.Object)...)
	locate(errs)
	if len(errs) > 0 {
		// As in the server, CEL rules are evaluated only for objects that meet the schema, because rules may rely on
		// it.
		return stored, errs
	}
	found, _ := k.rules.Validate(ctx, nil, k.structural, stored.Object, before, celconfig.RuntimeCELCostBudget)
	return stored, append(errs, found...)
}

// notText returns an error for each label and annotation that is neither a string nor null, and for
// labels or annotations that are not a map. Schemas of CRDs do not cover metadata, but the server
// cannot decode such an object.
func notText(object map[string]any) field.ErrorList {
	var errs field.ErrorList
	metadata, _ := object["metadata"].(map[string]any)
	for _, name := range []string{"annotations", "labels"} {
		path := field.NewPath("metadata", name)
		switch values := metadata[name].(type) {
		case nil:
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(values)) {
				if _, ok := values[key].(string); !ok && values[key] != nil {
					errs = append(errs, field.Invalid(path.Child(key), values[key], "must be of type string"))
				}
			}
		default:
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "must be an object with strings"))
		}
	}
	return errs
}

// locate sets Field of the errors that name their field only at the end of
// Detail (after " in "), and removes the name from Detail.
func locate(errs field.ErrorList) {
	for _, e := range errs {
		if at := strings.LastIndex(e.Detail, " in "); e.Field == (*field.Path)(nil).String() && at >= 0 {
			e.Field, e.Detail = e.Detail[at+len(" in "):], e.Detail[:at]
		}
	}
}

// decode returns a copy of the object after the steps of the server before validation: unknown fields are removed, null is
// removed from fields that cannot be null, and defaults are set. It returns an error for each unknown field.
func (k *kind) decode(object *unstructured.Unstructured) (*unstructured.Unstructured, field.ErrorList) {
	stored := object.DeepCopy()
	var errs field.ErrorList
	unknown := pruning.PruneWithOptions(stored.Object, k.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, field.Invalid(field.NewPath(path), field.OmitValueType{}, "unknown field"))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(stored.Object, k.structural)
	defaulting.Default(stored.Object, k.structural)
	return stored, errs
}
