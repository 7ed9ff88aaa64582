package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// schemas is the directory of the JSON Schemas for editors. Their names are those that kubeconform and the YAML
// language server expect.
const schemas = "docs/schemas"

// writeSchemas writes a JSON Schema for each version of each CRD. JSON Schema cannot express the CEL rules of CRDs.
// Those are checked by karpenter lint.
func writeSchemas(crds map[string][]byte) error {
	if err := os.RemoveAll(schemas); err != nil {
		return fmt.Errorf("remove old schemas: %w", err)
	}
	for name, text := range crds {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			return fmt.Errorf("decode %s: %w", name, err)
		}
		for _, v := range crd.Spec.Versions {
			out, err := schemaOf(crd, v)
			if err != nil {
				return fmt.Errorf("make schema of %s: %w", name, err)
			}
			dir := filepath.Join(schemas, crd.Spec.Group)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("make directory: %w", err)
			}
			file := fmt.Sprintf("%s_%s.json", strings.ToLower(crd.Spec.Names.Kind), v.Name)
			if err := os.WriteFile(filepath.Join(dir, file), out, 0o644); err != nil {
				return fmt.Errorf("write schema: %w", err)
			}
		}
	}
	return nil
}

// schemaOf converts the schema of one version to a JSON Schema of draft 7.
func schemaOf(crd *apiextensionsv1.CustomResourceDefinition, v apiextensionsv1.CustomResourceDefinitionVersion) ([]byte, error) {
	text, err := json.Marshal(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	strict(s)
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	properties := s["properties"].(map[string]any)
	properties["apiVersion"] = map[string]any{"type": "string", "const": crd.Spec.Group + "/" + v.Name}
	properties["kind"] = map[string]any{"type": "string", "const": crd.Spec.Names.Kind}
	properties["metadata"] = map[string]any{"type": "object"}
	s["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
	out, err := json.MarshalIndent(s, "", "  ")
	return append(out, '\n'), err
}

// strict removes extensions that only API servers support, and forbids unknown fields, so that an editor marks a typo.
func strict(s map[string]any) {
	if s["x-kubernetes-int-or-string"] == true {
		delete(s, "anyOf")
		s["type"] = []string{"integer", "string"}
	}
	open := s["x-kubernetes-preserve-unknown-fields"] == true
	for key := range s {
		if strings.HasPrefix(key, "x-kubernetes-") || key == "nullable" {
			delete(s, key)
		}
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, p := range properties {
			strict(p.(map[string]any))
		}
		if _, given := s["additionalProperties"]; !given && !open {
			s["additionalProperties"] = false
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := s[key].(map[string]any); ok {
			strict(inner)
		}
	}
}
