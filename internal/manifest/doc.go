// Package manifest reads Kubernetes manifests in all common forms: YAML or JSON, many documents in a file, lists of any
// kind, JSON arrays of objects, files, directories and standard input.
//
// It has three guarantees. Every error names the file, the document, the line and the field, as far as they are known, and
// all errors of one step (splitting, conversion, decoding) are returned at once. Objects of Karpenter's kinds are validated
// and defaulted as by the API server; those of Kubernetes are decoded leniently, since their server has validated them. Large
// input is fast: JSON is split into objects without decoding, objects of Kubernetes are decoded once, directly into their
// types, on all cores, and pods in JSON whose containers have equal text share these containers.
//
// Objects of kinds without effect on the callers' results are counted and skipped.
package manifest
