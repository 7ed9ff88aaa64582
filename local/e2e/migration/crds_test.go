package migration

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/crds"
	"github.com/karpenter-go/karpenter/local/objects"
)

// A cluster that once had v1beta1 has CRDs with that stored version and a conversion webhook that no longer exists. The doctor
// reports it, the API server rejects the new CRDs, and the commands of docs/migration.md fix it.
func TestOldDefinitions(t *testing.T) {
	p := here
	const name = "nodepools.karpenter.sh"
	pool := upstreamPool("from-before")
	p.put(t, pool)
	t.Cleanup(func() { p.forget(t, name) })
	p.ageDefinition(t, name)

	if out, err := p.Program(t, "", "karpenter", "doctor", "cluster"); !strings.Contains(out, name) || !strings.Contains(out, "v1beta1") {
		t.Errorf("doctor does not tell of %s (%v):\n%s", name, err, out)
	}
	ours := p.crd(t, name)
	if err := objects.Apply(t.Context(), p, ours); err == nil || !strings.Contains(err.Error(), "storedVersions") {
		t.Errorf("the API server says %v to new definitions, want a word on storedVersions", err)
	}

	p.documented(t)
	p.installCRDs(t)
	var now apiextensionsv1.CustomResourceDefinition
	if err := p.Get(t.Context(), client.ObjectKey{Name: name}, &now); err != nil {
		t.Fatal(err)
	}
	if len(now.Spec.Versions) != 1 || now.Spec.Versions[0].Name != "v1" || len(now.Status.StoredVersions) != 1 {
		t.Errorf("versions %v, stored %v; want v1 alone", now.Spec.Versions, now.Status.StoredVersions)
	}
	if s := now.Spec.Conversion; s == nil || s.Strategy != apiextensionsv1.NoneConverter || s.Webhook != nil {
		t.Errorf("conversion is %v, want none", s)
	}
	before := pool.UID
	if err := p.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil || pool.UID != before {
		t.Errorf("the pool of before is another one, or gone: %v", err)
	}
}

// crd returns one of this project's CRDs.
func (p *place) crd(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if crd.Name == name {
			return crd
		}
	}
	t.Fatalf("no CRD %s", name)
	return nil
}

func (p *place) installCRDs(t *testing.T) {
	t.Helper()
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if err := objects.Apply(context.WithoutCancel(t.Context()), p, crd); err != nil {
			t.Fatal(err)
		}
	}
}

// forget restores this project's CRD, even if the test has failed.
func (p *place) forget(t *testing.T, name string) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = name
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"storedVersions":["v1"]}}`))
	if err := p.Status().Patch(context.WithoutCancel(t.Context()), crd, patch); err != nil {
		t.Fatal(err)
	}
	p.installCRDs(t)
}

// ageDefinition changes a CRD to the state after an upgrade from v1beta1: that version was stored, and a webhook converts.
func (p *place) ageDefinition(t *testing.T, name string) {
	t.Helper()
	change := func(edit func(*apiextensionsv1.CustomResourceDefinition)) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := p.Get(t.Context(), client.ObjectKey{Name: name}, &crd); err != nil {
			t.Fatal(err)
		}
		edit(&crd)
		if err := p.Update(t.Context(), &crd); err != nil {
			t.Fatal(err)
		}
	}
	change(func(crd *apiextensionsv1.CustomResourceDefinition) {
		old := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1beta1", Served: true, Storage: true}
		old.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", XPreserveUnknownFields: ptr.To(true),
		}}
		crd.Spec.Versions[0].Storage = false
		crd.Spec.Versions = append(crd.Spec.Versions, old)
	})
	p.Poll(t, func(context.Context) string {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := p.Get(t.Context(), client.ObjectKey{Name: name}, &crd); err != nil {
			return err.Error()
		}
		if len(crd.Status.StoredVersions) < 2 {
			return "v1beta1 is not a stored version yet"
		}
		return ""
	})
	change(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Storage, crd.Spec.Versions[1].Storage = true, false
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
					Namespace: "kube-system", Name: "karpenter", Path: ptr.To("/conversion/karpenter.sh"), Port: ptr.To[int32](8443),
				}},
			},
		}
	})
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("karpenter.sh/v1")
	list.SetKind("NodePoolList")
	p.Poll(t, func(context.Context) string {
		if err := p.List(t.Context(), list); err != nil {
			return err.Error()
		}
		return ""
	})
}

// block matches the commands in the manual that fix old CRDs.
var block = regexp.MustCompile("(?s)### Old CRDs.*?```console[^\n]*\n(.*?)```")

// documented runs these commands with the embedded kubectl.
func (p *place) documented(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	match := block.FindSubmatch(page)
	if match == nil {
		t.Fatal("docs/migration.md has no commands for old CRDs")
	}
	kubectl := `kubectl() { "$KARPENTER_LOCAL" --dir "$CLUSTER" kubectl "$@"; }` + "\n"
	commands := strings.ReplaceAll(strings.TrimPrefix(string(match[1]), "$ "), "\n> ", "\n")
	if out, err := p.shell(t, kubectl+commands); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
}
